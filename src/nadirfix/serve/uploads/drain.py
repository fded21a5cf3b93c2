"""What a client still sends when it has been refused: let pass for a while, or it would never hear why."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from starlette.datastructures import Headers

from nadirfix.serve.options import ServeOptions

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope

__all__ = ["Rest"]


class Rest:
    """The part of a body nobody has read.

    Closing a connection on which bytes are still coming resets it, and a client that sends everything before
    it reads loses the answer. On a connection that is kept the server lets the rest pass by itself.
    """

    def __init__(self, scope: Scope, receive: Receive, options: ServeOptions) -> None:
        headers = Headers(scope=scope)
        self._receive, self._options = receive, options
        self._coming = "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
        closes = scope["http_version"] == "1.0" or "close" in headers.get("connection", "").lower()
        self._matters = closes and "expect" not in headers  # who expects to be let in has sent nothing

    async def receive(self) -> Message:
        """The next piece, noting whether it is the last."""
        message = await self._receive()
        self._coming = bool(message.get("more_body", False))
        return message

    def is_awaited(self, status: int) -> bool:
        """Whether this refusal must be held open; who is too slow is not waited for."""
        return self._matters and self._coming and status >= 400 and status != 408

    async def let_pass(self) -> None:
        """Read and forget, within bounds."""
        left_bytes = self._options.photo_bytes
        with suppress(TimeoutError):
            async with asyncio.timeout(self._options.rest_s):
                while self._coming and left_bytes > 0:
                    left_bytes -= len((await self.receive()).get("body", b""))
