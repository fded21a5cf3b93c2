"""One connection of a client, closed when it keeps the service waiting for too long."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from nadirfix.errors import ServiceError
from nadirfix.serve.errors import error_response
from nadirfix.serve.middleware import SECURITY_HEADERS
from nadirfix.serve.options import ServeOptions

__all__ = ["LimitedConnection"]

_HEADERS = [(name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]


class LimitedConnection(H11Protocol):
    """Uvicorn's protocol, with time limits on connections that have no request in progress."""

    limits: ServeOptions

    _timer: asyncio.TimerHandle | None = None
    _keep_alive = False

    def connection_made(self, transport: Any) -> None:
        """A client has connected; beyond the limit the connection is closed at once."""
        super().connection_made(transport)
        if len(self.connections) > self.limits.most_connections:
            transport.abort()
        self._start_timer(self.limits.header_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has disconnected."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """The first bytes of a request, or the rest of a refused one: its headers must end in time."""
        if self._keep_alive and not self._is_busy():
            self._start_timer(self.limits.header_s)
        super().data_received(data)
        if self._between_requests():
            self._start_timer(self.limits.idle_s, keep_alive=True)

    def on_response_complete(self) -> None:
        """A response is complete; until the next request the longer idle limit holds."""
        self._start_timer(self.limits.idle_s, keep_alive=True)
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Invalid HTTP, or headers without an end, get an error in the same form as all others."""
        response = error_response(_unreadable(msg))
        headers = [*response.raw_headers, *_HEADERS, (b"connection", b"close")]
        start = h11.Response(status_code=response.status_code, headers=headers)
        for event in (start, h11.Data(data=bytes(response.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _is_busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _between_requests(self) -> bool:
        states = {self.conn.our_state, self.conn.their_state}
        return states == {h11.IDLE} and not self.conn.trailing_data[0]

    def _start_timer(self, within_s: float, *, keep_alive: bool = False) -> None:
        """Close the connection unless something arrives within this time."""
        self._keep_alive = keep_alive
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(within_s, self._on_timeout)

    def _on_timeout(self) -> None:
        """Abort, do not close: closing would wait for ever for a client that does not read."""
        if self._is_busy() and not self.transport.is_closing():
            self._start_timer(self.limits.header_s)
        else:
            self.transport.abort()


def _unreadable(detail: str) -> ServiceError:
    do = "send HTTP/1.1 with headers of a few hundred bytes"
    return ServiceError("service.request", "the request cannot be read", seen=detail, do=do)
