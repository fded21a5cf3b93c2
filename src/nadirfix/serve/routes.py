"""The paths of the service; what they lead to is in modules of its own."""

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
from nadirfix.serve.queue.work_queue import WorkQueue
from nadirfix.serve.schemas import BATCH_BODY, PHOTO_BODY, Bundle, Line, picture, problems
from nadirfix.serve.static import StaticPage
from nadirfix.serve.tiles.endpoints import MapEndpoints
from nadirfix.serve.uploads.handler import UploadHandler
from nadirfix.serve.uploads.json_lines import MEDIA_TYPE, JsonLines

__all__ = ["Parts", "add_routes"]

Answers = dict[int | str, dict[str, Any]]
Text = Annotated[str | None, Query(max_length=LONGEST_TEXT)]
Zoom = Annotated[int, Path(ge=0, le=30)]
Number = Annotated[int, Path(ge=0, lt=2**31)]

_LINES: Answers = {200: {"description": "A line of JSON for each photo.", "content": {MEDIA_TYPE: {}}}}
_GEOJSON: Answers = {200: {"description": "A point each.", "content": {"application/geo+json": {}}}}
_NOT_MODIFIED: Answers = {304: {"description": "The same as before."}}
_TEXT: Answers = {200: {"description": "Prometheus text.", "content": {"text/plain": {}}}}


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of the service that the paths lead to."""

    uploads: UploadHandler
    map_endpoints: MapEndpoints
    metrics: Metrics
    page: StaticPage
    queue: WorkQueue
    options: ServeOptions


def add_routes(app: FastAPI, parts: Parts) -> None:
    """Every path of the service; the page's files come last, as they match any path."""
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
        request: Request,
        *,
        name: Text = None,
        camera: Text = None,
        altitude: Text = None,
        near: Text = None,
        heading: Text = None,
        gimbal: Text = None,
    ) -> Response:
        """Where one photo was taken, and from how high.

        Its camera and what is known of it (altitude, near, heading, gimbal) are fields of the form, or
        parameters where the body is the photo itself. What is known narrows the search; the map confirms
        the answer.
        """
        known = {"altitude": altitude, "near": near, "heading": heading, "gimbal": gimbal}
        record = await parts.uploads.locate_photo(request, {"name": name, "camera": camera, **known})
        return Response(json_line(record), media_type="application/json")

    @app.post(
        "/v1/locate/batch",
        response_class=StreamingResponse,
        responses={**_LINES, **problems(400, 408, 413, 415, 422)},
        openapi_extra=BATCH_BODY,
    )
    async def batch(request: Request) -> Response:
        """Where many photos were taken; each line as soon as it is known, in the order of the photos."""
        records = parts.uploads.locate_batch(request)
        return JsonLines(await anext(records), records)


def _add_map(app: FastAPI, parts: Parts) -> None:
    @app.get("/v1/bundle", response_model=Bundle, responses=problems())
    async def bundle() -> JSONResponse:
        """The bundle: map, camera, references, tiles, and the limits of the service."""
        return JSONResponse(parts.map_endpoints.describe())

    async def tile(request: Request, z: Zoom, x: Number, y: Number) -> Response:
        """The map as web-mercator tiles; transparent beyond it."""
        return await parts.map_endpoints.tile(request, z, x, y)

    responses = {**picture("image/jpeg", "image/png"), **problems(404)}
    for path in ("/v1/tiles/{z}/{x}/{y}.jpg", "/v1/tiles/{z}/{x}/{y}"):
        app.get(path, response_class=Response, responses=responses, name=path)(tile)


def _add_references(app: FastAPI, parts: Parts) -> None:
    @app.get(
        "/v1/references.geojson",
        response_class=StreamingResponse,
        responses={**_GEOJSON, **_NOT_MODIFIED, **problems()},
    )
    async def references(request: Request) -> Response:
        """Every reference view: where, which heading, which cell."""
        if (not_modified := parts.map_endpoints.not_modified(request)) is not None:
            return not_modified
        headers = parts.map_endpoints.headers(request)
        return StreamingResponse(parts.map_endpoints.features(), 200, headers, "application/geo+json")

    @app.get(
        "/v1/references/{row}.jpg",
        response_class=Response,
        responses={**picture("image/jpeg"), **problems(404)},
    )
    async def reference(request: Request, row: Number) -> Response:
        """What one reference view shows, its top towards its heading."""
        return await parts.map_endpoints.reference(request, row)


def _add_health(app: FastAPI, parts: Parts) -> None:
    @app.get("/healthz", responses=problems())
    async def healthz() -> dict[str, str]:
        """The process is alive."""
        return {"status": "alive"}

    @app.get("/readyz", responses=problems())
    async def readyz() -> dict[str, Any]:
        """Photos are accepted, unless every worker is stuck on one for longer than it may take."""
        stuck = parts.queue.stuck
        if parts.queue.usable == 0:
            detail = f"{stuck} photos running for more than {parts.options.photo_s:g} s"
            raise ServiceError("service.timeout", "the service is stuck", seen=detail, do="start it again")
        return {"status": "ready", "waiting": parts.queue.pending, "stuck": stuck}

    @app.get("/metrics", response_class=Response, responses={**_TEXT, **problems()})
    async def metrics() -> Response:
        """Counts and times for Prometheus."""
        return Response(parts.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_page(app: FastAPI, parts: Parts) -> None:
    @app.get("/{path:path}", include_in_schema=False)
    async def page(request: Request, path: str) -> Response:
        """The page and its files."""
        return parts.page.response(request, path)
