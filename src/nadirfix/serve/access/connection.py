"""One connection of a client, and how long it may keep us waiting."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from nadirfix.errors import ServiceError
from nadirfix.serve.errors import answer
from nadirfix.serve.middleware import CAREFUL
from nadirfix.serve.options import ServeOptions

__all__ = ["Guarded"]

_HEADERS = [(name.encode(), value.encode()) for name, value in CAREFUL.items()]


class Guarded(H11Protocol):
    """Uvicorn's protocol, and an end to connections that are neither at work nor coming to it."""

    limits: ServeOptions

    _watch: asyncio.TimerHandle | None = None
    _kept = False

    def connection_made(self, transport: Any) -> None:
        """A client has come; one too many is turned away without a word."""
        super().connection_made(transport)
        if len(self.connections) > self.limits.most_connections:
            transport.abort()
        self._expect(self.limits.header_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        if self._watch is not None:
            self._watch.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """The first bytes of a request, or the rest of one refused: from now on it must come to its end."""
        if self._kept and not self._at_work():
            self._expect(self.limits.header_s)
        super().data_received(data)
        if self._between_requests():
            self._expect(self.limits.idle_s, kept=True)

    def on_response_complete(self) -> None:
        """An answer is out; the next request may take its time."""
        self._expect(self.limits.idle_s, kept=True)
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP, or has endless headers, gets the same kind of answer as all else."""
        refused = answer(_unreadable(msg))
        headers = [*refused.raw_headers, *_HEADERS, (b"connection", b"close")]
        start = h11.Response(status_code=refused.status_code, headers=headers)
        for event in (start, h11.Data(data=bytes(refused.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _at_work(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _between_requests(self) -> bool:
        states = {self.conn.our_state, self.conn.their_state}
        return states == {h11.IDLE} and not self.conn.trailing_data[0]

    def _expect(self, within_s: float, *, kept: bool = False) -> None:
        """Something must come within this time; one that is kept may be silent for long."""
        self._kept = kept
        if self._watch is not None:
            self._watch.cancel()
        self._watch = self.loop.call_later(within_s, self._look)

    def _look(self) -> None:
        """Who does not take what was written would hold a connection that is merely closed for good."""
        if self._at_work() and not self.transport.is_closing():
            self._expect(self.limits.header_s)
        else:
            self.transport.abort()


def _unreadable(seen: str) -> ServiceError:
    do = "send HTTP/1.1 with headers of a few hundred bytes"
    return ServiceError("service.request", "the request cannot be read", seen=seen, do=do)
