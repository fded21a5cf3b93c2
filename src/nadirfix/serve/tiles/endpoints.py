"""Map endpoints: the bundle's description, tiles of its map, its reference views."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.responses import Response

from nadirfix import __version__
from nadirfix.bundle import layout as parts
from nadirfix.errors import ServiceError
from nadirfix.geo.crs import transform
from nadirfix.serve.options import (
    FOREVER,
    PICTURE_QUALITY,
    REFERENCE_WIDTH_PX,
    TILE_CACHE_BYTES,
    TILE_PX,
    TILE_QUEUE,
)
from nadirfix.serve.queue.work_queue import WorkQueue
from nadirfix.serve.tiles import render
from nadirfix.serve.tiles.render import Picture

if TYPE_CHECKING:
    from starlette.requests import Request

    from nadirfix.bundle import Bundle
    from nadirfix.serve.options import ServeOptions

__all__ = ["MapEndpoints"]

#: A token may protect the map: no cache between the service and the browser may keep it.
_IMMUTABLE = f"private, {FOREVER}"
_NO_CACHE = "no-cache"
#: GeoJSON features written at a time.
_CHUNK = 500


class MapEndpoints:
    """Serves the map and the reference views of one bundle."""

    def __init__(self, bundle: Bundle, options: ServeOptions) -> None:
        self._bundle, self._options = bundle, options
        queueing = replace(options.queue_options, deviations=0.0)  # tiles are quick: the queue only counts
        self._queue = WorkQueue(capacity=TILE_QUEUE, noun="picture", options=queueing)
        self._cache = _PictureCache(TILE_CACHE_BYTES)
        self._empty = render.empty_tile()
        self._hash = parts.sha256_of(bundle.path / parts.MANIFEST)[:16]
        self._min_zoom, self._max_zoom = render.zooms(bundle.texture)

    def describe(self) -> dict[str, Any]:
        """The bundle in a few words and numbers."""
        bundle, manifest = self._bundle, self._bundle.manifest
        return {
            "nadirfix": __version__,
            "name": bundle.path.resolve().name.removesuffix(".nadir"),
            "hash": self._hash,
            "epsg": bundle.epsg,
            **_extent(bundle),
            "gsd_m": bundle.texture.gsd_m,
            "camera": bundle.camera.spec,
            "canonical": {
                "altitude_m": bundle.canonical.altitude_m,
                "footprint_m": list(bundle.canonical.footprint_m),
            },
            "altitude_range_m": [bundle.recipe.bins.min_m, bundle.recipe.bins.max_m],
            "recipe": manifest["recipe"]["name"],
            "trained": {name: net["training"] is not None for name, net in manifest["networks"].items()},
            "counts": manifest["counts"],
            "accuracy": manifest["accuracy"],
            "tiles": self._tiles_info(),
            "references": self._references_info(),
            "limits": self._limits(),
            "token_needed": self._options.token is not None,
        }

    async def tile(self, request: Request, z: int, x: int, y: int) -> Response:
        """One tile of the map."""
        if z > self._max_zoom or not (0 <= x < 2**z and 0 <= y < 2**z):
            raise _not_found("tile", f"{z}/{x}/{y}", f"zooms go to {self._max_zoom}")
        return await self._picture(request, f"{z}/{x}/{y}", partial(self._draw_tile, z, x, y))

    async def reference(self, request: Request, row: int) -> Response:
        """One reference view."""
        if not 0 <= row < len(self._bundle.references):
            raise _not_found("reference", str(row), f"rows go to {len(self._bundle.references) - 1}")
        width_px, quality = REFERENCE_WIDTH_PX, PICTURE_QUALITY
        draw = partial(render.draw_reference, self._bundle, row, width_px=width_px, quality=quality)
        return await self._picture(request, f"r/{row}", draw)

    def features(self) -> Iterator[bytes]:
        """All references as GeoJSON, piece by piece."""
        count = len(self._bundle.references)
        yield b'{"type": "FeatureCollection", "features": [\n'
        for start in range(0, count, _CHUNK):
            text = ",\n".join(self._feature_texts(slice(start, min(start + _CHUNK, count))))
            yield (text + (",\n" if start + _CHUNK < count else "\n")).encode()
        yield b"]}\n"

    def not_modified(self, request: Request) -> Response | None:
        """304 where the client's cached copy is still valid."""
        if self._etag() in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=self.headers(request))
        return None

    def headers(self, request: Request) -> dict[str, str]:
        """Cached for good under a versioned address; otherwise revalidated each time."""
        is_versioned = request.query_params.get("v") == self._hash
        return {"ETag": self._etag(), "Cache-Control": _IMMUTABLE if is_versioned else _NO_CACHE}

    def stop(self, within_s: float) -> bool:
        """Finish what is being drawn; False where that takes longer."""
        return self._queue.stop(within_s)

    async def _picture(self, request: Request, key: str, draw: Callable[[], Picture]) -> Response:
        if (not_modified := self.not_modified(request)) is not None:
            return not_modified
        picture = self._cache.get(key)
        if picture is None:
            picture = await self._queue.submit(draw, timeout_s=self._options.photo_s)
            self._cache.put(key, picture)
        return Response(picture.data, 200, self.headers(request), picture.media_type)

    def _draw_tile(self, z: int, x: int, y: int) -> Picture:
        if z < self._min_zoom:
            return self._empty
        drawn = render.draw_tile(self._bundle.texture, z, x, y, quality=PICTURE_QUALITY)
        return drawn or self._empty

    def _etag(self) -> str:
        return f'"{self._hash}-{__version__}"'

    def _tiles_info(self) -> dict[str, Any]:
        url = f"/v1/tiles/{{z}}/{{x}}/{{y}}.jpg?v={self._hash}"
        zooms = {"min_zoom": self._min_zoom, "max_zoom": self._max_zoom}
        return {"url": url, **zooms, "size_px": TILE_PX}

    def _references_info(self) -> dict[str, Any]:
        width_px, height_px = render.reference_size(self._bundle, REFERENCE_WIDTH_PX)
        return {
            "count": len(self._bundle.references),
            "url": f"/v1/references/{{row}}.jpg?v={self._hash}",
            "width_px": width_px,
            "height_px": height_px,
            "geojson": "/v1/references.geojson",
        }

    def _limits(self) -> dict[str, Any]:
        options = self._options
        return {
            "photo_bytes": options.photo_bytes,
            "pixels": options.max_pixels,
            "batch_photos": options.batch_photos,
            "queue": options.queue,
            "photo_s": options.photo_s,
        }

    def _feature_texts(self, rows: slice) -> list[str]:
        references = self._bundle.references
        east_m, north_m = references.east_m[rows], references.north_m[rows]
        lon, lat = transform(f"EPSG:{references.epsg}", "EPSG:4326", east_m, north_m)
        columns = (
            np.arange(len(references))[rows],
            references.heading_deg[rows],
            references.cell[rows],
            east_m,
            north_m,
        )
        return [
            json.dumps({
                "type": "Feature",
                "geometry": {"type": "Point", "coordinates": [float(a), float(b)]},
                "properties": {
                    "row": int(row), "heading_deg": float(heading), "cell": [int(v) for v in cell],
                    "easting_m": float(e), "northing_m": float(n),
                },
            })
            for a, b, row, heading, cell, e, n in zip(lon, lat, *columns, strict=True)
        ]  # fmt: skip


class _PictureCache:
    """The most recently used pictures, up to a number of bytes."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes, self._held_bytes = limit_bytes, 0
        self._pictures: OrderedDict[str, Picture] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> Picture | None:
        with self._lock:
            if key in self._pictures:
                self._pictures.move_to_end(key)
            return self._pictures.get(key)

    def put(self, key: str, picture: Picture) -> None:
        with self._lock:
            if key not in self._pictures:
                self._pictures[key] = picture
                self._held_bytes += len(picture.data)
            while self._held_bytes > self._limit_bytes:
                self._held_bytes -= len(self._pictures.popitem(last=False)[1].data)


def _extent(bundle: Bundle) -> dict[str, Any]:
    west, south, east, north = (float(v) for v in bundle.texture.bounds)
    outline = np.array([[west, north], [west, south], [east, south], [east, north]])
    lon, lat = transform(f"EPSG:{bundle.epsg}", "EPSG:4326", outline[:, 0], outline[:, 1])
    return {
        "bounds_m": [west, south, east, north],
        "bounds_lonlat": [float(v) for v in (lon.min(), lat.min(), lon.max(), lat.max())],
        "outline_lonlat": [[float(a), float(b)] for a, b in zip(lon, lat, strict=True)],
    }


def _not_found(what: str, detail: str, limit: str) -> ServiceError:
    return ServiceError(
        "service.not_found", f"there is no such {what}", seen=detail, do=f"ask for another: {limit}"
    )
