"""The page's static files, read once: a client's path is looked up among them, never opened (ADR 20)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.responses import Response

from nadirfix.errors import ServiceError
from nadirfix.serve.options import FOREVER

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["PAGE_FOLDER", "StaticPage"]

#: Where the page is built to; it is not there without Node, and the service runs all the same.
PAGE_FOLDER = Path(__file__).parent / "page"

_WITHOUT_PAGE = b"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>nadirfix</title>
<h1>nadirfix is running</h1>
<p>The interface works. The page has not been built here: that takes
<a href="https://nodejs.org">Node</a> 20.19 or newer, once.</p>
<p>In the repository: install Node, run <code>make setup</code>, and start the service again. Released
packages have the page built in: <code>pip install --upgrade nadirfix</code>.</p>
<p>Without it:</p>
<pre>curl -F photo=@photo.jpg http://127.0.0.1:8000/v1/locate</pre>
<p>What there is: <a href="/v1/bundle">/v1/bundle</a>, <a href="/openapi.json">/openapi.json</a>.</p>
</html>
"""
#: Fixed here, not taken from the machine's own table: browsers refuse scripts of another type.
_MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".webmanifest": "application/manifest+json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".webp": "image/webp",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
}
#: Vite puts a hash of the content into these names.
_HASHED_NAMES = "assets/"


@dataclass(frozen=True, slots=True)
class _File:
    data: bytes
    media_type: str
    etag: str
    cache_control: str


class StaticPage:
    """The files of the page, in memory."""

    def __init__(self, folder: Path) -> None:
        paths = sorted(p for p in folder.rglob("*") if p.is_file()) if folder.is_dir() else []
        names = {p.relative_to(folder).as_posix(): p for p in paths}
        self._files = {name: _file(name, path.read_bytes()) for name, path in names.items()}
        self.is_built = "index.html" in self._files
        if not self.is_built:
            self._files["index.html"] = _file("index.html", _WITHOUT_PAGE)

    def response(self, request: Request, path: str) -> Response:
        """The file under this path."""
        file = self._files.get(path or "index.html")
        if file is None:
            detail = f"/{path[:100]}"
            raise ServiceError("service.not_found", "there is nothing at this path", seen=detail, do="open /")
        headers = {"ETag": file.etag, "Cache-Control": file.cache_control}
        if file.etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(file.data, 200, headers, file.media_type)


def _file(name: str, data: bytes) -> _File:
    media_type = _MEDIA_TYPES.get(Path(name).suffix.lower(), "application/octet-stream")
    cache_control = f"public, {FOREVER}" if name.startswith(_HASHED_NAMES) else "no-cache"
    return _File(data, media_type, f'"{hashlib.sha256(data).hexdigest()[:16]}"', cache_control)
