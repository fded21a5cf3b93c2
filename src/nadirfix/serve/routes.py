"""The paths of the service; what is behind them lives elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from nadirfix.errors import ServiceError
from nadirfix.formats import json_line
from nadirfix.serve.metrics import Metrics
from nadirfix.serve.options import LONGEST_TEXT, ServeOptions
from nadirfix.serve.queue.work_queue import Desk
from nadirfix.serve.schemas import BATCH_BODY, PHOTO_BODY, Bundle, Line, picture, problems
from nadirfix.serve.static import Page
from nadirfix.serve.tiles.endpoints import Atlas
from nadirfix.serve.uploads.handler import Counter
from nadirfix.serve.uploads.json_lines import MEDIA_TYPE, Lines

__all__ = ["Parts", "add_routes"]

Answers = dict[int | str, dict[str, Any]]
Text = Annotated[str | None, Query(max_length=LONGEST_TEXT)]
Zoom = Annotated[int, Path(ge=0, le=30)]
Number = Annotated[int, Path(ge=0, lt=2**31)]

_LINES: Answers = {200: {"description": "A line of JSON for each photo.", "content": {MEDIA_TYPE: {}}}}
_GEOJSON: Answers = {200: {"description": "A point each.", "content": {"application/geo+json": {}}}}
_SAME: Answers = {304: {"description": "The same as before."}}
_TEXT: Answers = {200: {"description": "Prometheus text.", "content": {"text/plain": {}}}}


@dataclass(frozen=True, slots=True)
class Parts:
    """What the paths lead to."""

    counter: Counter
    atlas: Atlas
    metrics: Metrics
    page: Page
    desk: Desk
    options: ServeOptions


def add_routes(app: FastAPI, parts: Parts) -> None:
    """Every path of the service; the page's files come last, they take what is left."""
    _add_photos(app, parts)
    _add_map(app, parts)
    _add_references(app, parts)
    _add_health(app, parts)
    _add_page(app, parts)


def _add_photos(app: FastAPI, parts: Parts) -> None:
    @app.post(
        "/v1/locate",
        response_class=JSONResponse,
        responses={200: {"model": Line}, **problems(400, 408, 413, 415, 422)},
        openapi_extra=PHOTO_BODY,
    )
    async def locate(
        request: Request, name: Text = None, camera: Text = None, altitude: Text = None
    ) -> Response:
        """Where one photo was taken, and from how high.

        Its camera and altitude are fields of the form, or parameters where the body is the photo itself.
        """
        said = {"name": name, "camera": camera, "altitude": altitude}
        record = await parts.counter.one(request, said)
        return Response(json_line(record), media_type="application/json")

    @app.post(
        "/v1/locate/batch",
        response_class=StreamingResponse,
        responses={**_LINES, **problems(400, 408, 413, 415, 422)},
        openapi_extra=BATCH_BODY,
    )
    async def batch(request: Request) -> Response:
        """Where many photos were taken; each line as soon as it is known, in the order of the photos."""
        records = parts.counter.many(request)
        return Lines(await anext(records), records)


def _add_map(app: FastAPI, parts: Parts) -> None:
    @app.get("/v1/bundle", response_model=Bundle, responses=problems())
    async def bundle() -> JSONResponse:
        """What the service knows: map, camera, references, tiles, limits."""
        return JSONResponse(parts.atlas.about())

    async def tile(request: Request, z: Zoom, x: Number, y: Number) -> Response:
        """The map as web-mercator tiles; transparent beyond it."""
        return await parts.atlas.tile(request, z, x, y)

    shown = {**picture("image/jpeg", "image/png"), **problems(404)}
    for path in ("/v1/tiles/{z}/{x}/{y}.jpg", "/v1/tiles/{z}/{x}/{y}"):
        app.get(path, response_class=Response, responses=shown, name=path)(tile)


def _add_references(app: FastAPI, parts: Parts) -> None:
    @app.get(
        "/v1/references.geojson",
        response_class=StreamingResponse,
        responses={**_GEOJSON, **_SAME, **problems()},
    )
    async def references(request: Request) -> Response:
        """Every reference view: where, which heading, which cell."""
        if (same := parts.atlas.same(request)) is not None:
            return same
        headers = parts.atlas.headers(request)
        return StreamingResponse(parts.atlas.features(), 200, headers, "application/geo+json")

    @app.get(
        "/v1/references/{row}.jpg",
        response_class=Response,
        responses={**picture("image/jpeg"), **problems(404)},
    )
    async def reference(request: Request, row: Number) -> Response:
        """What one reference view shows, its top towards its heading."""
        return await parts.atlas.reference(request, row)


def _add_health(app: FastAPI, parts: Parts) -> None:
    @app.get("/healthz", responses=problems())
    async def healthz() -> dict[str, str]:
        """The process lives."""
        return {"status": "alive"}

    @app.get("/readyz", responses=problems())
    async def readyz() -> dict[str, Any]:
        """Photos are taken; not so where every worker has been at one for longer than it may."""
        stuck = parts.desk.stuck
        if parts.desk.able == 0:
            seen = f"{stuck} photos at work for more than {parts.options.photo_s:g} s"
            raise ServiceError("service.timeout", "the service is stuck", seen=seen, do="start it again")
        return {"status": "ready", "waiting": parts.desk.taken, "stuck": stuck}

    @app.get("/metrics", response_class=Response, responses={**_TEXT, **problems()})
    async def metrics() -> Response:
        """Counts and times for Prometheus."""
        return Response(parts.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_page(app: FastAPI, parts: Parts) -> None:
    @app.get("/{path:path}", include_in_schema=False)
    async def page(request: Request, path: str) -> Response:
        """The page and its files."""
        return parts.page.show(request, path)
