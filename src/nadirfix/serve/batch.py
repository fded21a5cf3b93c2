"""Many photos in one request: placed one after another while the rest is still being sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Any

from nadirfix.errors import NadirfixError
from nadirfix.formats import error_record
from nadirfix.serve.form import Part, bad_request
from nadirfix.serve.wish import Wish

__all__ = ["Batch", "Record", "note_field", "wish_of"]

Record = dict[str, Any]
#: The line of one photo; whatever is wrong with the photo is in the line.
Line = Callable[[Part, Wish], Awaitable[Record]]

#: Logs an error, and gives it as the client may see it.
Explain = Callable[[NadirfixError], NadirfixError]

_KNOWN = {"camera", "altitude"}


class Batch:
    """Reads a form and makes lines of its photos.

    While one photo is looked at the next one is read: two are in memory, no more. Reading goes on whether or
    not the lines are taken: many clients send all they have before they read anything, and would wait for us
    as we for them. The lines that wait are few and short.
    """

    def __init__(self, line: Line, parts: AsyncIterator[Part], explain: Explain) -> None:
        self._line, self._parts, self._explain = line, parts, explain
        self._lines: asyncio.Queue[Record | Exception | None] = asyncio.Queue()
        self._fields: dict[str, str] = {}
        self._at_work: asyncio.Task[None] | None = None

    async def lines(self) -> AsyncGenerator[Record, None]:
        """The lines, each as soon as it is known; what is wrong before the first photo is raised."""
        reading = asyncio.create_task(self._read())
        try:
            while (line := await self._lines.get()) is not None:
                if isinstance(line, Exception):
                    raise line
                yield line
        finally:
            await _ended(reading, self._at_work)

    async def _read(self) -> None:
        try:
            await self._take_all()
            self._lines.put_nowait(None)
        except NadirfixError as error:
            await self._break_off(error)
        except Exception as error:  # told to whoever takes the lines
            self._lines.put_nowait(error)

    async def _take_all(self) -> None:
        async for part in self._parts:
            if part.name == "photo":
                await self._take(part)
            else:
                note_field(part, self._fields, too_late=self._at_work is not None)
        if self._at_work is None:
            raise bad_request("the form has no photo", f"fields {sorted(self._fields)}")
        await self._at_work

    async def _take(self, part: Part) -> None:
        wish = wish_of(part, self._fields)
        if self._at_work is not None:
            await self._at_work
        self._at_work = asyncio.create_task(self._put_line(part, wish))

    async def _put_line(self, part: Part, wish: Wish) -> None:
        self._lines.put_nowait(await self._line(part, wish))

    async def _break_off(self, error: NadirfixError) -> None:
        """Before the first photo the whole request is wrong; after it the last line says so."""
        if self._at_work is None:
            self._lines.put_nowait(error)
            return
        await self._at_work
        self._lines.put_nowait({**error_record("", self._explain(error)), "photo": None})
        self._lines.put_nowait(None)


async def _ended(*tasks: asyncio.Task[None] | None) -> None:
    """End these and wait for it: until then they hold photos, and give back the bytes they hold."""
    begun = [task for task in tasks if task is not None]
    for task in begun:
        task.cancel()
    await asyncio.gather(*begun, return_exceptions=True)


def note_field(part: Part, fields: dict[str, str], *, too_late: bool) -> None:
    """Keep a field's text; fields nobody knows are let pass, as forms of other programs may have them."""
    if part.name in _KNOWN:
        if too_late:
            raise bad_request("a field comes after the photos it is for", repr(part.name))
        fields[part.name] = part.text


def wish_of(part: Part, fields: dict[str, str]) -> Wish:
    """How the photo in this part is to be placed."""
    return Wish.read(name=part.file_name, camera=fields.get("camera"), altitude=fields.get("altitude"))
