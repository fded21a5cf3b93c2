"""Bodies of requests: read piece by piece into memory, never too much and never too slowly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from nadirfix.errors import ServiceError
from nadirfix.serve.options import RETRY_SOON_S, ServeOptions
from nadirfix.serve.queue.work_queue import Busy, ClientGone

if TYPE_CHECKING:
    from starlette.types import Message, Receive

__all__ = ["Account", "Body", "Ledger", "too_large"]


class Ledger:
    """Counts the bytes of all photos in memory, so that many clients together cannot fill it."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes, self.held_bytes = limit_bytes, 0

    @contextmanager
    def account(self) -> Iterator[Account]:
        """An account that is settled at the end, whatever happens."""
        account = Account(self)
        try:
            yield account
        finally:
            account.give(account.held_bytes)

    def has_room(self, count: int) -> bool:
        """Whether so many bytes more can be held now."""
        return self.held_bytes + count <= self._limit_bytes

    def add(self, count: int) -> None:
        """Note so many bytes more, or fewer; refuse what is too much."""
        if count > 0 and not self.has_room(count):
            seen = f"{self.held_bytes} bytes of photos in memory"
            raise Busy("too many photos are being sent", seen=seen, retry_after_s=RETRY_SOON_S)
        self.held_bytes += count


class Account:
    """The bytes of one request."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self.held_bytes = ledger, 0

    def take(self, count: int) -> None:
        """Hold so many bytes more."""
        self._ledger.add(count)
        self.held_bytes += count

    def give(self, count: int) -> None:
        """Hold so many bytes less, and never less than none."""
        count = min(count, self.held_bytes)
        self._ledger.add(-count)
        self.held_bytes -= count


class Body:
    """The body of one request."""

    def __init__(self, receive: Receive, options: ServeOptions) -> None:
        self._receive, self._options = receive, options
        self._waited_s, self._got_bytes = 0.0, 0

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it comes; only the time we wait for the client counts against it."""
        more = True
        while more:
            message = await self._next()
            if message["type"] == "http.disconnect":
                raise ClientGone
            piece: bytes = message.get("body", b"")
            self._got_bytes += len(piece)
            more = bool(message.get("more_body", False))
            yield piece

    async def whole(self, account: Account, *, limit_bytes: int) -> bytes:
        """All of it in memory."""
        pieces: list[bytes] = []
        async for piece in self.pieces():
            account.take(len(piece))
            pieces.append(piece)
            if self._got_bytes > limit_bytes:
                raise too_large(f"more than {limit_bytes} bytes", limit_bytes)
        return b"".join(pieces)

    @contextmanager
    def watched(self) -> Iterator[asyncio.Task[None]]:
        """A task that ends when the client hangs up, once all of its body has come."""
        task = asyncio.create_task(self._gone())
        try:
            yield task
        finally:
            task.cancel()

    async def _gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _next(self) -> Message:
        clock = asyncio.get_running_loop()
        began_s = clock.time()
        bearable_s = self._options.body_grace_s + self._got_bytes / self._options.body_min_bytes_s
        with suppress(TimeoutError):
            # What came quickly earns no long silence: that would hold its bytes for as long as it likes.
            async with asyncio.timeout(min(self._options.body_grace_s, bearable_s - self._waited_s)):
                message = await self._receive()
                self._waited_s += clock.time() - began_s
                return message
        raise ServiceError(
            "service.slow",
            "the body comes too slowly",
            seen=f"{self._got_bytes} bytes, and {self._waited_s + clock.time() - began_s:.1f} s of waiting",
            do="send it again over a better line, or send a smaller picture",
        )


def too_large(seen: str, limit_bytes: int) -> ServiceError:
    """The error for more bytes than are accepted."""
    return ServiceError(
        "service.too_large",
        "the body is too large",
        seen=seen,
        do=f"send at most {limit_bytes} bytes a photo; a JPEG of quality 90 is as good",
    )
