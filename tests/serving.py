"""A service to test: a bundle without networks, a locator that tests control, and real sockets."""

from __future__ import annotations

import asyncio
import io
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from PIL import Image

from nadirfix.bundle import References
from nadirfix.bundle.layout import MANIFEST
from nadirfix.geo.texture import Texture
from nadirfix.image.crop import Canonical
from nadirfix.serve.app import create_app
from nadirfix.serve.options import ServeOptions
from nadirfix.serve.server import listen, make_server
from nadirfix.serve.static import PAGE_FOLDER
from nadirfix.serve.uploads.parameters import RequestParameters
from tests.bundles import CAMERA, RECIPE

EPSG = 32633
WEST_M, NORTH_M, SIDE_M = 452_000.0, 5_412_000.0, 500.0
LOCAL = "http://127.0.0.1"
TOKEN = "correct-horse-battery-staple"


def ramp(side_px: int = 500) -> np.ndarray:
    """Red grows to the east and green to the south, blue stays: colours tell where they are from."""
    steps = np.rint(np.linspace(20, 235, side_px)).astype(np.uint8)
    red, green = np.meshgrid(steps, steps)
    return np.dstack([red, green, np.full_like(red, 128)])


def small_bundle(folder: Path, *, pixels: np.ndarray | None = None) -> Any:
    """What the service needs of a bundle, without networks to locate photos with."""
    pixels = ramp() if pixels is None else pixels
    gsd_m = SIDE_M / len(pixels)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).write_text("{}")
    texture = Texture.from_array(pixels, None, affine=(gsd_m, 0, WEST_M, 0, -gsd_m, NORTH_M), epsg=EPSG)
    references = References(
        east_m=WEST_M + np.array([150.0, 250.0, 350.0]),
        north_m=NORTH_M - np.array([150.0, 250.0, 350.0]),
        heading_deg=np.array([0.0, 90.0, 180.0]),
        cell=np.array([[0, 0], [1, 1], [2, 2]]),
        starts=np.array([0, 3]),
        epsg=EPSG,
    )
    manifest = {
        "recipe": {"name": RECIPE.name},
        "networks": {"altitude": {"training": None}, "place": {"training": {}}},
        "counts": {"references": 3},
        "accuracy": {"altitude": None, "place": None},
    }
    return SimpleNamespace(
        path=folder, manifest=manifest, recipe=RECIPE, camera=CAMERA, epsg=EPSG,
        canonical=Canonical(CAMERA, 125.0), texture=texture, references=references,
    )  # fmt: skip


@dataclass
class FakeLocator:
    """Records its requests; waits, fails or answers as ``action`` does."""

    action: Callable[[bytes, RequestParameters], None] = lambda _photo, _parameters: None
    requests: list[tuple[bytes, RequestParameters]] = field(default_factory=list)

    def __call__(self, photo: bytes, parameters: RequestParameters) -> dict[str, Any]:
        self.requests.append((photo, parameters))
        self.action(photo, parameters)
        return {"photo": parameters.name, "status": "fix", "lon": 14.35, "bytes": len(photo)}


class Latch:
    """Blocks a locator until the test opens it."""

    def __init__(self) -> None:
        self.open, self.entered = threading.Event(), threading.Semaphore(0)

    def __call__(self, _photo: bytes, _parameters: RequestParameters) -> None:
        self.entered.release()
        assert self.open.wait(20)


def jpeg(width_px: int = 320, height_px: int = 240, seed: int = 0) -> bytes:
    """A small photo of nothing in particular."""
    pixels = np.random.default_rng(seed).integers(0, 255, (height_px // 8, width_px // 8, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).resize((width_px, height_px)).save(file, format="JPEG")
    return file.getvalue()


def form(*fields: tuple[str, str | None, bytes], boundary: bytes = b"cut") -> tuple[bytes, str]:
    """A form as a browser sends it: (name, file name or None, content) each; body and content type."""
    body = b""
    for name, file_name, content in fields:
        named = "" if file_name is None else f'; filename="{file_name}"'
        head = f'Content-Disposition: form-data; name="{name}"{named}\r\n\r\n'
        body += b"--" + boundary + b"\r\n" + head.encode() + content + b"\r\n"
    return body + b"--" + boundary + b"--\r\n", f"multipart/form-data; boundary={boundary.decode()}"


@contextmanager
def running(
    bundle: Any, options: ServeOptions, locator: Any = None, *, page: Path = PAGE_FOLDER
) -> Iterator[Running]:
    """The service on a real socket, stopped in an orderly way at the end."""
    with listen(ServeOptions(port=0)) as listener:
        server = make_server(create_app(bundle, options, locator=locator, page=page), options)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        service = Running(listener.getsockname()[1], server, thread)
        try:
            yield service
        finally:
            service.stop()
            thread.join(20)
            assert not thread.is_alive()


@dataclass
class Running:
    """A service that listens."""

    port: int
    server: Any
    thread: threading.Thread

    @property
    def url(self) -> str:
        return f"{LOCAL}:{self.port}"

    def stop(self) -> None:
        self.server.should_exit = True

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)


def head(service: Running, length: int, *, path: str = "/v1/locate", kind: str = "image/jpeg") -> bytes:
    """The head of a request with a body of so many bytes."""
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\n"
        f"Content-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


def run_async(scenario: Coroutine[Any, Any, Any]) -> Any:
    """Run it in a thread of its own: where the page was tested before, a loop already runs in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, scenario).result()


def until(condition: Callable[[], bool]) -> None:
    """Wait for it, ten seconds at most."""
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it never came to that")


def read_all(connection: socket.socket) -> bytes:
    """What comes until the other side closes."""
    received = b""
    while piece := connection.recv(65536):
        received += piece
    return received
