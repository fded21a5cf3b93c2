"""A stand-in for the service: same interface and content policy, answers made from the truth.

The page is tested against answers that are known, and against what a real service does only now and then: it is
busy, it asks for a token, it refuses a photo. ``python -m tests.browser.screenshots`` uses it too.
"""

from __future__ import annotations

import io
import json
import math
import mimetypes
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from PIL import Image, UnidentifiedImageError

from nadirfix.camera import Camera
from nadirfix.geo.geomap import GeoMap
from nadirfix.manifest import ManifestRow
from nadirfix.types import AltitudeEstimate, Candidates, Fix, Point, View
from tests.browser.tiles import Tiles

CANONICAL_M = 125.0
CAMERA = Camera(2048, 1536, 1200.0, 1200.0)
CENTERS_M = np.arange(125.0, 700.0, 50.0)
RADIUS_M = 14.0
OFF_M = (3.0, -2.0)  # how far the answers lie from the truth, east and north
POLICY = (
    "default-src 'self'; img-src 'self' blob: data:; worker-src 'self' blob:; object-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@dataclass
class FakeService:
    """What the stand-in knows and how it behaves; tests change the behaviour."""

    page: Path
    map_path: Path
    rows: list[ManifestRow]
    token: str | None = None
    busy_for: int = 0  # so many photos are sent away first
    no_fix: frozenset[str] = frozenset()
    slow_s: float = 0.0
    seen: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tiles = Tiles(self.map_path)
        self._lock = threading.Lock()

    def turned_away(self) -> bool:
        with self._lock:
            self.busy_for -= 1
            return self.busy_for >= 0

    def reference_jpeg(self, row: int) -> bytes:
        """Reference ``row`` looks straight down on its photo's place, from the canonical altitude."""
        east, north, heading = reference_place(row, self.rows)
        with self._lock, GeoMap.open(self.map_path) as ground:
            view = View(Point(east, north, self.rows[0].point.epsg), CANONICAL_M, heading)
            pixels = ground.render(view, CAMERA, (256, 192)).pixels
        return jpeg(np.asarray(pixels))

    def bundle(self) -> dict[str, Any]:
        west, south, east, north = self.tiles.bounds_lonlat
        return {
            "nadirfix": "0", "name": "procedural", "camera": CAMERA.spec,
            "bounds_lonlat": [west, south, east, north],
            "outline_lonlat": [[west, north], [west, south], [east, south], [east, north]],
            "canonical": {"altitude_m": CANONICAL_M, "footprint_m": list(CAMERA.footprint_m(CANONICAL_M))},
            "tiles": {"url": "/v1/tiles/{z}/{x}/{y}.jpg?v=1", "min_zoom": 12, "max_zoom": 18, "size_px": 256},
            "references": {"count": 10 * len(self.rows), "url": "/v1/references/{row}.jpg?v=1"},
        }  # fmt: skip

    def answer(self, name: str, size: tuple[int, int]) -> dict[str, Any]:
        """The truth of the photo whose number is in its name, moved a little."""
        which = int(re.sub(r"\D", "", name) or 0) % len(self.rows)
        return answer_for(self.rows[which], which, name, size, self.rows, lost=name in self.no_fix).to_dict()


def answer_for(
    row: ManifestRow, which: int, name: str, size: tuple[int, int], rows: list[ManifestRow], *, lost: bool
) -> Fix:
    altitude_m = row.altitude_m or CANONICAL_M
    camera = CAMERA.resized(*size)
    return Fix(
        photo=name, status="no_fix" if lost else "fix",
        position=None if lost else row.point.moved(*OFF_M),
        altitude=estimate(altitude_m), altitude_m=altitude_m, gsd_m=camera.gsd_m(altitude_m),
        heading_deg=None if lost else row.heading_deg, footprint_m=camera.footprint_m(altitude_m),
        candidates=candidates(which, rows), weights=np.array([0.4, 0.25, 0.2, 0.15, *[0.0] * 6]),
        confidence=0.2 if lost else 0.93, radius95_m=None if lost else RADIUS_M,
        reason="two places fit the photo equally well" if lost else None,
        timings_ms={"decode": 18.2, "altitude": 38.9, "crop": 2.1, "embed": 19.4, "verify": 61.0, "total": 141.2},
    )  # fmt: skip


def estimate(altitude_m: float) -> AltitudeEstimate:
    share = np.exp(-0.5 * ((CENTERS_M - altitude_m) / 28.0) ** 2)
    return AltitudeEstimate(altitude_m, share / share.sum(), CENTERS_M)


def reference_place(row: int, rows: list[ManifestRow]) -> tuple[float, float, float]:
    """Ten references around each photo, further off with their rank."""
    photo, rank = rows[row // 10], row % 10
    angle, away_m = 2.4 * rank, 12.0 + 11.0 * rank
    at = photo.point.moved(away_m * math.sin(angle), away_m * math.cos(angle))
    return at.east_m, at.north_m, (photo.heading_deg or 0.0) + 3.0 * (rank % 3)


def candidates(which: int, rows: list[ManifestRow]) -> Candidates:
    numbers = np.arange(10 * which, 10 * which + 10)
    east, north, heading = np.array([reference_place(int(n), rows) for n in numbers]).T
    cell = np.stack([east // 100, north // 100], 1).astype(np.int64)
    distance = 0.41 + 0.05 * np.arange(10)
    return Candidates(numbers, east, north, heading % 360, distance, cell, rows[0].point.epsg)


def jpeg(pixels: np.ndarray) -> bytes:
    out = io.BytesIO()
    Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(out, "JPEG", quality=85)
    return out.getvalue()


class _Handler(BaseHTTPRequestHandler):
    service: FakeService
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: pytest shows what matters."""

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        self.service.seen.append(path)
        if path.startswith("/v1/") and not self._allowed():
            return self._refuse(401, "service.token", "a token is needed", "send Authorization: Bearer")
        return self._get(path)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not self._allowed():
            return self._refuse(401, "service.token", "a token is needed", "send Authorization: Bearer")
        if self.service.turned_away():
            return self._refuse(429, "service.busy", "the queue is full", "ask again", wait="1")
        time.sleep(self.service.slow_s)
        return self._locate(body)

    def _get(self, path: str) -> None:
        tile = re.fullmatch(r"/v1/tiles/(\d+)/(\d+)/(\d+)\.jpg", path)
        reference = re.fullmatch(r"/v1/references/(\d+)\.jpg", path)
        if path == "/v1/bundle":
            return self._json(200, self.service.bundle())
        if tile:
            return self._send(200, "image/png", self.service.tiles.png(*map(int, tile.groups())))
        if reference:
            return self._send(200, "image/jpeg", self.service.reference_jpeg(int(reference[1])))
        return self._file(path)

    def _file(self, path: str) -> None:
        wanted = (self.service.page / ("index.html" if path == "/" else path.lstrip("/"))).resolve()
        if not (wanted.is_relative_to(self.service.page.resolve()) and wanted.is_file()):
            return self._refuse(404, "service.not_found", "no such path", "look at /openapi.json")
        kind = mimetypes.guess_type(wanted.name)[0] or "application/octet-stream"
        return self._send(200, kind, wanted.read_bytes())

    def _locate(self, body: bytes) -> None:
        photo = _fields(self.headers, body)["photo"]
        name, data = photo.get_filename() or "", photo.get_payload(decode=True)
        try:
            size = Image.open(io.BytesIO(data if isinstance(data, bytes) else b"")).size
        except UnidentifiedImageError:
            message = f"the photo cannot be read: {name} is not a picture"
            return self._refuse(422, "photo.unreadable", message, "give a JPEG, PNG or TIFF file")
        return self._json(200, self.service.answer(name, size))

    def _allowed(self) -> bool:
        wanted = self.service.token
        return wanted is None or self.headers.get("Authorization") == f"Bearer {wanted}"

    def _refuse(self, status: int, code: str, message: str, hint: str, *, wait: str = "") -> None:
        self._json(status, {"error": {"code": code, "message": message, "hint": hint}}, wait=wait)

    def _json(self, status: int, value: object, *, wait: str = "") -> None:
        self._send(status, "application/json", json.dumps(value, allow_nan=False).encode(), wait=wait)

    def _send(self, status: int, kind: str, body: bytes, *, wait: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        if wait:
            self.send_header("Retry-After", wait)
        self.end_headers()
        self.wfile.write(body)


def _fields(headers: Message, body: bytes) -> dict[str, Message]:
    """The parts of a form by their names."""
    whole = message_from_bytes(f"Content-Type: {headers['Content-Type']}\r\n\r\n".encode() + body)
    parts = whole.get_payload()
    assert isinstance(parts, list)
    return {str(p.get_param("name", header="content-disposition")): p for p in parts}  # type: ignore[union-attr]


@contextmanager
def running(service: FakeService) -> Iterator[str]:
    """The address of the stand-in while it runs."""
    handler = type("Handler", (_Handler,), {"service": service})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
