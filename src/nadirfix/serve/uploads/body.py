"""Request bodies: read chunk by chunk into memory, within a memory budget and time limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from nadirfix.errors import ServiceError
from nadirfix.serve.options import BODY_MIN_BYTES_S, RETRY_SOON_S, ServeOptions
from nadirfix.serve.queue.work_queue import Busy, ClientGone

if TYPE_CHECKING:
    from starlette.types import Message, Receive

__all__ = ["Body", "MemoryBudget", "MemoryLease", "too_large"]


class MemoryBudget:
    """Counts the bytes of all photos in memory, so that many clients together cannot fill it."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes, self.held_bytes = limit_bytes, 0

    @contextmanager
    def lease(self) -> Iterator[MemoryLease]:
        """A lease that is released at the end, whatever happens."""
        lease = MemoryLease(self)
        try:
            yield lease
        finally:
            lease.release(lease.held_bytes)

    def has_room(self, count: int) -> bool:
        """Whether so many more bytes fit now."""
        return self.held_bytes + count <= self._limit_bytes

    def add(self, count: int) -> None:
        """Count so many bytes more, or fewer; refuse what is too much."""
        if count > 0 and not self.has_room(count):
            detail = f"{self.held_bytes} bytes of photos in memory"
            raise Busy("too many photos are being sent", seen=detail, retry_after_s=RETRY_SOON_S)
        self.held_bytes += count


class MemoryLease:
    """The memory held by one request."""

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget, self.held_bytes = budget, 0

    def acquire(self, count: int) -> None:
        """Hold so many more bytes."""
        self._budget.add(count)
        self.held_bytes += count

    def release(self, count: int) -> None:
        """Hold so many bytes fewer, at least none."""
        count = min(count, self.held_bytes)
        self._budget.add(-count)
        self.held_bytes -= count


class Body:
    """The body of one request."""

    def __init__(self, receive: Receive, options: ServeOptions) -> None:
        self._receive, self._options = receive, options
        self._waited_s, self._received_bytes = 0.0, 0

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives; only the time spent waiting for the client counts against it."""
        more = True
        while more:
            message = await self._next()
            if message["type"] == "http.disconnect":
                raise ClientGone
            chunk: bytes = message.get("body", b"")
            self._received_bytes += len(chunk)
            more = bool(message.get("more_body", False))
            yield chunk

    async def whole(self, lease: MemoryLease, *, limit_bytes: int) -> bytes:
        """The whole body in memory."""
        chunks: list[bytes] = []
        async for chunk in self.chunks():
            lease.acquire(len(chunk))
            chunks.append(chunk)
            if self._received_bytes > limit_bytes:
                raise too_large(f"more than {limit_bytes} bytes", limit_bytes)
        return b"".join(chunks)

    @contextmanager
    def watch_disconnect(self) -> Iterator[asyncio.Task[None]]:
        """A task that ends when the client disconnects, once its whole body has arrived."""
        task = asyncio.create_task(self._wait_for_disconnect())
        try:
            yield task
        finally:
            task.cancel()

    async def _wait_for_disconnect(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _next(self) -> Message:
        clock = asyncio.get_running_loop()
        started_s = clock.time()
        allowed_s = self._options.body_grace_s + self._received_bytes / BODY_MIN_BYTES_S
        with suppress(TimeoutError):
            # A quick start does not earn a long silence: its bytes would be held for as long as it lasts.
            async with asyncio.timeout(min(self._options.body_grace_s, allowed_s - self._waited_s)):
                message = await self._receive()
                self._waited_s += clock.time() - started_s
                return message
        waited_s = self._waited_s + clock.time() - started_s
        raise ServiceError(
            "service.slow",
            "the body arrives too slowly",
            seen=f"{self._received_bytes} bytes in {waited_s:.1f} s of waiting",
            do="send it again over a better line, or send a smaller picture",
        )


def too_large(detail: str, limit_bytes: int) -> ServiceError:
    """The error for more bytes than are accepted."""
    return ServiceError(
        "service.too_large",
        "the body is too large",
        seen=detail,
        do=f"send at most {limit_bytes} bytes a photo; a JPEG of quality 90 is as good",
    )
