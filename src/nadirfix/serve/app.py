"""The application: made by a function from a bundle and options, with nothing kept anywhere else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI

from nadirfix import __version__
from nadirfix.serve.access.control import Door
from nadirfix.serve.errors import LOG, add_handlers
from nadirfix.serve.locator import Placer
from nadirfix.serve.metrics import Metrics
from nadirfix.serve.middleware import Envelope
from nadirfix.serve.options import ServeOptions
from nadirfix.serve.queue.work_queue import Desk
from nadirfix.serve.routes import Parts, add_routes
from nadirfix.serve.schemas import LINE_EXAMPLE
from nadirfix.serve.static import PAGE_FOLDER, Page
from nadirfix.serve.tiles.endpoints import Atlas
from nadirfix.serve.uploads.body import Ledger
from nadirfix.serve.uploads.handler import Counter, Place

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle

__all__ = ["create_app"]


def create_app(
    bundle: Bundle, options: ServeOptions, *, place: Place | None = None, page: Path = PAGE_FOLDER
) -> FastAPI:
    """A service for one bundle; ``place`` stands in for placing photos in tests."""
    desk = Desk(
        capacity=options.queue, workers=options.workers, stuck_s=options.photo_s, pace=options.queue_pace
    )
    ledger = Ledger(options.upload_bytes)
    metrics, atlas = Metrics(desk, ledger), Atlas(bundle, options)

    @asynccontextmanager
    async def alive(_: FastAPI) -> AsyncIterator[None]:
        yield
        await _stop(desk, atlas, within_s=options.last_s)

    app = FastAPI(
        title="nadirfix",
        version=__version__,
        summary="Where was this drone photo taken, and from how high? From the picture and a map alone.",
        docs_url=None,  # those pages load their scripts from elsewhere
        redoc_url=None,
        lifespan=alive,
    )
    counter = Counter(place or Placer(bundle, options), desk, ledger, metrics, options)
    add_routes(app, Parts(counter, atlas, metrics, Page(page), desk, options))
    add_handlers(app)
    _surround(app, metrics, options)
    app.openapi = partial(_described, app)  # type: ignore[method-assign]
    return app


async def _stop(*at_work: Desk | Atlas, within_s: float) -> None:
    """Finish what was taken; what is stuck is left behind, nobody waits for it any more."""
    done = await asyncio.gather(*(asyncio.to_thread(one.stop, within_s) for one in at_work))
    if not all(done):
        LOG.error("something is still at work %g s after the last request; left behind", within_s)


def _described(app: FastAPI) -> dict[str, Any]:
    """The interface for programs; FastAPI leaves nulls out of examples, and ours must show them."""
    described = FastAPI.openapi(app)
    described["components"]["schemas"]["Line"]["example"] = LINE_EXAMPLE
    return described


def _surround(app: FastAPI, metrics: Metrics, options: ServeOptions) -> None:
    """From the inside out: the door, what browsers ask before they come in, the envelope."""
    app.add_middleware(Door, options=options)
    if options.allow_origins:
        from starlette.middleware.cors import CORSMiddleware

        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(options.allow_origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"],
            expose_headers=["Retry-After", "X-Request-Id"],
        )
    app.add_middleware(Envelope, metrics=metrics, options=options)
