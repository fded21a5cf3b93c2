"""A stand-in for the service: same interface and content policy, answers made from the truth.

The page is tested against answers that are known, and against what a real service does only now and then: it
is busy, it asks for a token, it refuses a photo. ``respond`` is the whole service; ``running`` puts it on a
socket.
"""

from __future__ import annotations

import io
import json
import mimetypes
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from PIL import Image, UnidentifiedImageError

from nadirfix.geo.geomap import GeoMap
from nadirfix.photo_list import PhotoRecord
from nadirfix.serve.middleware import CONTENT_POLICY
from nadirfix.types import Point, View
from tests.browser.fake_answers import CAMERA, CANONICAL_M, answer_for, jpeg, reference_position, verdict
from tests.browser.tiles import Tiles

#: Status, headers, body.
Reply = tuple[int, dict[str, str], bytes]


@dataclass
class FakeService:
    """What the stand-in knows and how it behaves; tests change the behaviour."""

    page: Path
    tiles: Tiles
    rows: list[PhotoRecord]
    token: str | None = None
    busy_for: int = 0  # so many photos are sent away first
    no_fix: frozenset[str] = frozenset()
    slow_s: float = 0.0

    def __post_init__(self) -> None:
        self._lock = threading.Lock()

    def respond(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """The reply to one request; header names are in lower case."""
        path = urlsplit(target).path
        allowed = self.token is None or headers.get("authorization") == f"Bearer {self.token}"
        if path.startswith("/v1/") and not allowed:
            return refusal(401, "service.token", "a token is needed", "send Authorization: Bearer")
        if method == "POST" and self._is_busy():
            return refusal(429, "service.busy", "the queue is full", "ask again", {"Retry-After": "1"})
        return self._locate(headers["content-type"], body) if method == "POST" else self._get(path)

    def _is_busy(self) -> bool:
        with self._lock:
            self.busy_for -= 1
            return self.busy_for >= 0

    def _get(self, path: str) -> Reply:
        tile = re.fullmatch(r"/v1/tiles/(\d+)/(\d+)/(\d+)\.jpg", path)
        reference = re.fullmatch(r"/v1/references/(\d+)\.jpg", path)
        if path == "/v1/bundle":
            return json_reply(200, self._bundle())
        if tile:
            return reply(200, "image/png", self.tiles.png(*map(int, tile.groups())))
        if reference:
            return reply(200, "image/jpeg", self._reference_jpeg(int(reference[1])))
        return self._file(path)

    def _file(self, path: str) -> Reply:
        wanted = (self.page / ("index.html" if path == "/" else path.lstrip("/"))).resolve()
        if not (wanted.is_relative_to(self.page.resolve()) and wanted.is_file()):
            return refusal(404, "service.not_found", "no such path", "look at /openapi.json")
        return reply(
            200, mimetypes.guess_type(wanted.name)[0] or "application/octet-stream", wanted.read_bytes()
        )

    def _locate(self, kind: str, body: bytes) -> Reply:
        time.sleep(self.slow_s)
        photo = form_fields(kind, body)["photo"]
        name, data = photo.get_filename() or "", photo.get_payload(decode=True)
        try:
            size = Image.open(io.BytesIO(data if isinstance(data, bytes) else b"")).size
        except UnidentifiedImageError:
            message = f"the photo cannot be read: {name} is not a picture"
            return refusal(422, "photo.unreadable", message, "give a JPEG, PNG or TIFF file")
        return json_reply(200, self._answer(name, size))

    def _answer(self, name: str, size: tuple[int, int]) -> dict[str, Any]:
        """The truth of the photo whose number is in its name, moved a little."""
        which = int(re.sub(r"\D", "", name) or 0) % len(self.rows)
        lost = name in self.no_fix
        fix = answer_for(self.rows[which], which, name, size, self.rows, lost=lost)
        return {**fix.to_dict(), **verdict(which, self.rows, lost=lost)}

    def _reference_jpeg(self, row: int) -> bytes:
        east, north, heading = reference_position(row, self.rows)
        view = View(Point(east, north, self.rows[0].point.epsg), CANONICAL_M, heading)
        with self._lock, GeoMap.open(self.tiles.path) as ground:
            return jpeg(np.asarray(ground.render(view, CAMERA, (256, 192)).pixels))

    def _bundle(self) -> dict[str, Any]:
        west, south, east, north = self.tiles.bounds_lonlat
        return {
            "nadirfix": "0", "name": "procedural", "camera": CAMERA.spec,
            "bounds_lonlat": [west, south, east, north],
            "outline_lonlat": [[west, north], [west, south], [east, south], [east, north]],
            "canonical": {"altitude_m": CANONICAL_M, "footprint_m": list(CAMERA.footprint_m(CANONICAL_M))},
            "tiles": {"url": "/v1/tiles/{z}/{x}/{y}.jpg?v=1", "min_zoom": 12, "max_zoom": 18, "size_px": 256},
            "references": {"count": 10 * len(self.rows), "url": "/v1/references/{row}.jpg?v=1"},
        }  # fmt: skip


def reply(status: int, kind: str, body: bytes, more: Mapping[str, str] = {}) -> Reply:
    headers = {
        "Content-Type": kind,
        "Content-Security-Policy": CONTENT_POLICY,
        "X-Content-Type-Options": "nosniff",
    }
    return status, {**headers, **more}, body


def json_reply(status: int, value: object, more: Mapping[str, str] = {}) -> Reply:
    return reply(status, "application/json", json.dumps(value, allow_nan=False).encode(), more)


def refusal(status: int, code: str, message: str, hint: str, more: Mapping[str, str] = {}) -> Reply:
    return json_reply(status, {"error": {"code": code, "message": message, "hint": hint}}, more)


def form_fields(kind: str, body: bytes) -> dict[str, Message]:
    """The parts of a form by their names."""
    parts = message_from_bytes(f"Content-Type: {kind}\r\n\r\n".encode() + body).get_payload()
    assert isinstance(parts, list)
    return {str(p.get_param("name", header="content-disposition")): p for p in parts}  # type: ignore[union-attr]


class _Handler(BaseHTTPRequestHandler):
    service: FakeService
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: pytest shows what matters."""

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request_headers = {name.lower(): value for name, value in self.headers.items()}
        status, headers, content = self.service.respond(self.command, self.path, request_headers, body)
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_GET  # noqa: N815


@contextmanager
def running(service: FakeService) -> Iterator[str]:
    """The address of the stand-in while it runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"service": service}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
