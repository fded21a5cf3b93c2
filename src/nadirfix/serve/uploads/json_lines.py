"""A response sent line by line while the request is still being read."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from starlette.responses import Response

from nadirfix.formats import json_line
from nadirfix.serve.uploads.batch import Record

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

__all__ = ["MEDIA_TYPE", "JsonLines"]

MEDIA_TYPE = "application/x-ndjson"


class JsonLines(Response):
    """Lines of JSON, each sent as soon as it is known."""

    media_type = MEDIA_TYPE

    def __init__(self, first: Record, rest: AsyncGenerator[Record, None]) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._first, self._rest = first, rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send each line, until there are no more."""
        async with aclosing(self._rest) as rest:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await send(_body(self._first))
            async for record in rest:
                await send(_body(record))
            await send({"type": "http.response.body", "body": b"", "more_body": False})


def _body(record: Record) -> Message:
    return {"type": "http.response.body", "body": json_line(record).encode(), "more_body": True}
