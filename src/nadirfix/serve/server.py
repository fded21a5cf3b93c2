"""The service as a process: one listening socket, limits on slow or greedy clients, an orderly shutdown."""

from __future__ import annotations

import ctypes
import logging
import math
import signal
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import uvicorn

from nadirfix.errors import ServiceError
from nadirfix.serve.access.connection import LimitedConnection
from nadirfix.serve.options import HEADER_BYTES, ServeOptions

if TYPE_CHECKING:
    from fastapi import FastAPI

__all__ = ["listen", "make_server", "one_heap", "serve_forever"]

#: Settings of glibc's malloc, by its own numbers: one heap for all threads; blocks from 32 MiB on go back to
#: the system as soon as they are free, and so does free memory beyond 64 MiB at the end of the heap. A usual
#: photo needs less: returning and mapping it again would take a twentieth of its time.
_MALLOC = {-8: 1, -3: 32 << 20, -1: 64 << 20}


def one_heap() -> None:
    """Make all threads, before there are any, share one heap that returns large blocks to the system.

    By default glibc has a heap for each thread and learns to keep whatever a large photo needed. Other C
    libraries are left as they are.
    """
    with suppress(AttributeError, OSError, TypeError):
        set_option = ctypes.CDLL(None).mallopt
        for number, value in _MALLOC.items():
            set_option(number, value)


def listen(options: ServeOptions) -> socket.socket:
    """The socket the service listens on, before anything slow is loaded."""
    try:
        family = socket.getaddrinfo(options.host, options.port, type=socket.SOCK_STREAM)[0][0]
        # asyncio sends small pieces at once only where the protocol is named; else each answer waits 40 ms.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((options.host, options.port))
    except OSError as error:
        raise ServiceError(
            "service.address",
            "the service cannot listen there",
            seen=f"{options.host}:{options.port} ({error.strerror or error})",
            do="give another --port, or another --host of this machine",
        ) from error
    return listener


def serve_forever(app: FastAPI, listener: socket.socket, options: ServeOptions, *, quiet: bool) -> None:
    """Answer until told to stop; then finish what was accepted."""
    _log_to_stderr(quiet=quiet)
    # uvicorn raises the signal again when all is done; a normal stop is no failure.
    signal.signal(signal.SIGTERM, lambda *_: None)
    make_server(app, options).run(sockets=[listener])


def make_server(app: FastAPI, options: ServeOptions) -> uvicorn.Server:
    """The server, with its limits, not yet running."""
    config = uvicorn.Config(
        app,
        http=type("Connection", (LimitedConnection,), {"limits": options, "patience": app.state.patience}),
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,  # ours has no query strings in it
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=HEADER_BYTES,
        timeout_keep_alive=math.ceil(options.idle_s),
        timeout_graceful_shutdown=math.ceil(options.stop_s),
    )
    return uvicorn.Server(config)


def _log_to_stderr(*, quiet: bool) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    for name in ("nadirfix.serve", "uvicorn.error"):
        log = logging.getLogger(name)
        log.handlers, log.propagate = [handler], False
        log.setLevel(logging.WARNING if quiet else logging.INFO)
