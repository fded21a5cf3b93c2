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
from nadirfix.serve.atlas import Atlas
from nadirfix.serve.body import Ledger
from nadirfix.serve.counter import Counter, Place
from nadirfix.serve.desk import Desk
from nadirfix.serve.door import Door
from nadirfix.serve.envelope import Envelope
from nadirfix.serve.front import PAGE_FOLDER, Page
from nadirfix.serve.metrics import Metrics
from nadirfix.serve.options import ServeOptions
from nadirfix.serve.placer import Placer
from nadirfix.serve.problems import add_handlers
from nadirfix.serve.routes import Parts, add_routes
from nadirfix.serve.schemas import LINE_EXAMPLE

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle

__all__ = ["create_app"]


def create_app(
    bundle: Bundle, options: ServeOptions, *, place: Place | None = None, page: Path = PAGE_FOLDER
) -> FastAPI:
    """A service for one bundle; ``place`` stands in for placing photos in tests."""
    desk, ledger = Desk(capacity=options.queue), Ledger(options.upload_bytes)
    metrics, atlas = Metrics(desk, ledger), Atlas(bundle, options)
    placer = Placer(bundle, options)

    @asynccontextmanager
    async def alive(_: FastAPI) -> AsyncIterator[None]:
        if place is None:
            await desk.ask(placer.warm_up, patience_s=options.photo_s * 10)
        yield
        await asyncio.gather(*(asyncio.to_thread(worker.stop) for worker in (desk, atlas)))

    app = FastAPI(
        title="nadirfix",
        version=__version__,
        summary="Where was this drone photo taken, and from how high? From the picture and a map alone.",
        docs_url=None,  # those pages load their scripts from elsewhere
        redoc_url=None,
        lifespan=alive,
    )
    counter = Counter(place or placer, desk, ledger, metrics, options)
    add_routes(app, Parts(counter, atlas, metrics, Page(page), desk, options))
    add_handlers(app)
    _surround(app, metrics, options)
    app.openapi = partial(_described, app)  # type: ignore[method-assign]
    return app


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
