"""Reads and drops what a refused client is still sending: otherwise it would never read why."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from starlette.datastructures import Headers

from nadirfix.serve.options import DRAIN_S, ServeOptions

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope

__all__ = ["BodyDrain"]


class BodyDrain:
    """The part of a body that has not been read.

    Closing a connection on which bytes are still arriving resets it, and a client that sends everything
    before it reads loses the answer. On a connection that stays open the server reads the rest by itself.
    """

    def __init__(self, scope: Scope, receive: Receive, options: ServeOptions) -> None:
        headers = Headers(scope=scope)
        self._receive, self._options = receive, options
        self._has_more = "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
        closes = scope["http_version"] == "1.0" or "close" in headers.get("connection", "").lower()
        self._is_closing = (
            closes and "expect" not in headers
        )  # with Expect: 100-continue nothing has been sent yet

    async def receive(self) -> Message:
        """The next piece, noting whether it is the last."""
        message = await self._receive()
        self._has_more = bool(message.get("more_body", False))
        return message

    def is_needed(self, status: int) -> bool:
        """Whether this refusal must wait for the rest of the body; slow clients are not waited for."""
        return self._is_closing and self._has_more and status >= 400 and status != 408

    async def discard(self) -> None:
        """Read and drop, within bounds."""
        left_bytes = self._options.photo_bytes
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                while self._has_more and left_bytes > 0:
                    left_bytes -= len((await self.receive()).get("body", b""))
