"""One connection of a client, closed when it keeps the service waiting for too long."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from nadirfix.errors import ServiceError
from nadirfix.serve.errors import error_response
from nadirfix.serve.middleware import SECURITY_HEADERS
from nadirfix.serve.options import ServeOptions
from nadirfix.serve.queue.patience import Patience

__all__ = ["LimitedConnection"]

_HEADERS = [(name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]


class LimitedConnection(H11Protocol):
    """Uvicorn's protocol, with time limits on connections that have no request in progress."""

    limits: ServeOptions
    patience: Patience

    _timer: asyncio.TimerHandle | None = None
    _keep_alive = False
    _began_s = 0.0

    def connection_made(self, transport: Any) -> None:
        """A client has connected; beyond a limit the oldest one that is idle makes room, or else this one."""
        super().connection_made(transport)
        self._began_s = self.loop.time()
        same = [
            one for one in self._others() if one.client and self.client and one.client[0] == self.client[0]
        ]
        if len(same) >= self.limits.most_client_connections:
            self._make_room(same)
        elif len(self.connections) > self.limits.most_connections:
            self._make_room(self._others())
        self._start_timer(self.limits.header_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has disconnected."""
        if self._timer is not None:
            self._timer.cancel()
        self.patience.disconnected(self.client)
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
        if self.conn.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:  # an answer is out, and it was the last
            self.transport.close()
            return
        response = error_response(_unreadable(msg))
        headers = [*response.raw_headers, *_HEADERS, (b"connection", b"close")]
        start = h11.Response(status_code=response.status_code, headers=headers)
        with suppress(h11.LocalProtocolError):  # to HEAD there is no body
            for event in (start, h11.Data(data=bytes(response.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        if self.cycle is not None:
            self.cycle.disconnected = True  # what is still being answered has no place any more
        self.transport.close()

    def _others(self) -> list[LimitedConnection]:
        """The connections that are open besides this one, the oldest first."""
        mine = [one for one in self.connections if isinstance(one, LimitedConnection) and one is not self]
        return sorted(mine, key=lambda one: one._began_s)

    def _make_room(self, others: Sequence[LimitedConnection]) -> None:
        """Close one that has no request in progress: whoever holds many idle ones locks out nobody."""
        idle = (one for one in others if not one._is_busy() and not one.transport.is_closing())
        next(idle, self).transport.abort()

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
