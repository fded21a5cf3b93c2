"""The service as a process: one listener, limits on whoever is slow or greedy, an orderly end."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from nadirfix.errors import ServiceError
from nadirfix.serve.envelope import CAREFUL
from nadirfix.serve.options import ServeOptions
from nadirfix.serve.problems import answer

if TYPE_CHECKING:
    from fastapi import FastAPI

__all__ = ["listen", "make_server", "serve_forever"]


_HEADERS = [(name.encode(), value.encode()) for name, value in CAREFUL.items()]


def listen(options: ServeOptions) -> socket.socket:
    """The socket the service listens on, before anything slow is loaded."""
    try:
        family = socket.getaddrinfo(options.host, options.port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.socket(family, socket.SOCK_STREAM)
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
    """Answer until told to stop; then finish what was taken."""
    _log_to_stderr(quiet=quiet)
    # uvicorn hands the signal on when all is done; being told to stop is no failure.
    signal.signal(signal.SIGTERM, lambda *_: None)
    make_server(app, options).run(sockets=[listener])


def make_server(app: FastAPI, options: ServeOptions) -> uvicorn.Server:
    """The server, with its limits, not yet running."""
    config = uvicorn.Config(
        app,
        http=_protocol(options),
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,  # ours has no query strings in it
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=options.header_bytes,
        timeout_graceful_shutdown=int(options.stop_s),
    )
    return uvicorn.Server(config)


def _protocol(options: ServeOptions) -> type[asyncio.Protocol]:
    """The protocol of uvicorn, and an end to connections that stay too long without a whole request."""

    class Guarded(H11Protocol):
        """Closes a connection that is neither at work nor coming to it."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > options.connections:
                transport.abort()
            self._idle_since_s = self.loop.time()
            self._watch = self.loop.call_later(options.header_s, self._look)

        def connection_lost(self, exc: Exception | None) -> None:
            self._watch.cancel()
            super().connection_lost(exc)

        def on_response_complete(self) -> None:
            self._idle_since_s = self.loop.time()
            super().on_response_complete()

        def send_400_response(self, msg: str) -> None:
            """What is no HTTP, or has endless headers, gets the same kind of answer as all else."""
            refused = answer(_unreadable(msg))
            headers = [*refused.raw_headers, *_HEADERS, (b"connection", b"close")]
            start = h11.Response(status_code=refused.status_code, headers=headers)
            for event in (start, h11.Data(data=bytes(refused.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
            self.transport.close()

        def _look(self) -> None:
            at_work = self.cycle is not None and not self.cycle.response_complete
            if at_work:
                self._idle_since_s = self.loop.time()
            left_s = self._idle_since_s + options.header_s - self.loop.time()
            if left_s <= 0:
                self.transport.close()
            else:
                self._watch = self.loop.call_later(left_s, self._look)

    return Guarded


def _log_to_stderr(*, quiet: bool) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    for name in ("nadirfix.serve", "uvicorn.error"):
        log = logging.getLogger(name)
        log.handlers, log.propagate = [handler], False
        log.setLevel(logging.WARNING if quiet else logging.INFO)


def _unreadable(seen: str) -> ServiceError:
    do = "send HTTP/1.1 with headers of a few hundred bytes"
    return ServiceError("service.request", "the request cannot be read", seen=seen, do=do)
