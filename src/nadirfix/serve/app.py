"""The application: made from a bundle and options, without any global state."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI

from nadirfix import __version__
from nadirfix.serve.access.control import AccessControl
from nadirfix.serve.errors import LOG, add_handlers
from nadirfix.serve.locator import PhotoLocator
from nadirfix.serve.metrics import Metrics
from nadirfix.serve.middleware import RequestMiddleware
from nadirfix.serve.options import ServeOptions
from nadirfix.serve.queue.patience import Patience
from nadirfix.serve.queue.work_queue import WorkQueue
from nadirfix.serve.routes import Parts, add_routes
from nadirfix.serve.schemas import LINE_EXAMPLE
from nadirfix.serve.static import PAGE_FOLDER, StaticPage
from nadirfix.serve.tiles.endpoints import MapEndpoints
from nadirfix.serve.uploads.body import MemoryBudget
from nadirfix.serve.uploads.handler import Locator, UploadHandler

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle

__all__ = ["create_app"]


def create_app(
    bundle: Bundle, options: ServeOptions, *, locator: Locator | None = None, page: Path = PAGE_FOLDER
) -> FastAPI:
    """A service for one bundle; ``locator`` replaces the bundle's networks in tests."""
    queue = WorkQueue(
        capacity=options.queue,
        workers=options.workers,
        stuck_s=options.photo_s,
        options=options.queue_options,
    )
    budget = MemoryBudget(options.upload_bytes)
    metrics, map_endpoints = Metrics(queue, budget), MapEndpoints(bundle, options)

    locator = locator or PhotoLocator(bundle, options)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await _stop(queue, map_endpoints, within_s=options.last_s)
        if isinstance(locator, PhotoLocator):
            locator.close()

    app = FastAPI(
        title="nadirfix",
        version=__version__,
        summary="Where was this drone photo taken, and from how high? From the picture and a map alone.",
        docs_url=None,  # those pages load their scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.patience = Patience()
    uploads = UploadHandler(locator, queue, budget, metrics, options, patience=app.state.patience)
    add_routes(app, Parts(uploads, map_endpoints, metrics, StaticPage(page), queue, options))
    add_handlers(app)
    _add_middleware(app, metrics, options)
    app.openapi = partial(_openapi, app)  # type: ignore[method-assign]
    return app


async def _stop(*queues: WorkQueue | MapEndpoints, within_s: float) -> None:
    """Finish what was accepted; what is stuck is left behind, nobody waits for it any more."""
    done = await asyncio.gather(*(asyncio.to_thread(one.stop, within_s) for one in queues))
    if not all(done):
        LOG.error("something is still running %g s after the last request; left behind", within_s)


def _openapi(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI description; FastAPI leaves nulls out of examples, and ours must show them."""
    schema = FastAPI.openapi(app)
    schema["components"]["schemas"]["Line"]["example"] = LINE_EXAMPLE
    return schema


def _add_middleware(app: FastAPI, metrics: Metrics, options: ServeOptions) -> None:
    """From the inside out: access control, CORS, and the middleware around every request."""
    app.add_middleware(AccessControl, options=options)
    if options.allow_origins:
        from starlette.middleware.cors import CORSMiddleware

        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(options.allow_origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"],
            expose_headers=["Retry-After", "X-Request-Id"],
        )
    app.add_middleware(RequestMiddleware, metrics=metrics, options=options)
