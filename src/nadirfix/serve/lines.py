"""An answer that grows line by line while the request is still being read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING

from starlette.responses import Response

from nadirfix.formats import json_line
from nadirfix.serve.counter import Record
from nadirfix.serve.desk import ClientGone

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

__all__ = ["MEDIA_TYPE", "Lines"]

MEDIA_TYPE = "application/x-ndjson"


class Lines(Response):
    """Lines of JSON, sent as they come.

    Reading goes on while the client does not yet listen: many send all they have before they read anything,
    and would wait for us as we for them. The lines that wait are few and short.
    """

    media_type = MEDIA_TYPE

    def __init__(self, first: Record, rest: AsyncIterator[Record], *, send_s: float) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._first, self._rest, self._send_s = first, rest, send_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send what there is, until there is no more."""
        waiting: asyncio.Queue[Record | None] = asyncio.Queue()
        waiting.put_nowait(self._first)
        reading = asyncio.create_task(self._read(waiting))
        try:
            start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
            await self._send(send, start)
            while (record := await waiting.get()) is not None:
                await self._send(send, _body(json_line(record).encode(), more=True))
            await reading
            await self._send(send, _body(b"", more=False))
        finally:
            reading.cancel()

    async def _read(self, waiting: asyncio.Queue[Record | None]) -> None:
        try:
            async with aclosing(self._rest) as rest:  # type: ignore[type-var]
                async for record in rest:
                    waiting.put_nowait(record)
        finally:
            waiting.put_nowait(None)

    async def _send(self, send: Send, message: Message) -> None:
        """A client that does not take its answer for long is given up."""
        try:
            async with asyncio.timeout(self._send_s):
                await send(message)
        except TimeoutError as error:
            raise ClientGone from error


def _body(content: bytes, *, more: bool) -> Message:
    return {"type": "http.response.body", "body": content, "more_body": more}
