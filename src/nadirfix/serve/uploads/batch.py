"""Many photos in one request: placed in their order while the rest is still being sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from typing import Any

from nadirfix.errors import NadirfixError
from nadirfix.formats import error_record
from nadirfix.serve.uploads.form import Part, bad_request
from nadirfix.serve.uploads.parameters import Wish

__all__ = ["Batch", "Record", "note_field", "wish_of"]

Record = dict[str, Any]
#: The line of one photo; whatever is wrong with the photo is in the line.
Line = Callable[[Part, Wish], Coroutine[Any, Any, Record]]

#: Logs an error, and gives it as the client may see it.
Explain = Callable[[NadirfixError], NadirfixError]

_KNOWN = {"camera", "altitude"}


class Batch:
    """Reads a form and makes lines of its photos.

    While photos are looked at the next one is read. One photo is handed on after the other, and a further one
    only where there ``is_room``: a batch takes no core from other clients but its own, and does not fill the
    memory it needs to read on. Reading goes on whether or not the lines are taken: many clients send all they
    have before they read anything, and would wait for us as we for them. The lines that wait are short.
    """

    def __init__(
        self, line: Line, parts: AsyncIterator[Part], explain: Explain, *, is_room: Callable[[], bool]
    ) -> None:
        self._line, self._parts, self._explain, self._is_room = line, parts, explain, is_room
        self._lines: asyncio.Queue[asyncio.Task[Record] | Record | Exception | None] = asyncio.Queue()
        self._fields: dict[str, str] = {}
        self._begun = False
        self._at_work: set[asyncio.Task[Record]] = set()

    async def lines(self) -> AsyncGenerator[Record, None]:
        """The lines, each as soon as it is known; what is wrong before the first photo is raised."""
        reading = asyncio.create_task(self._read())
        try:
            while (line := await self._lines.get()) is not None:
                if isinstance(line, Exception):
                    raise line
                yield await _heard(line, reading) if isinstance(line, asyncio.Task) else line
        finally:
            await _ended(reading, *self._at_work)

    async def _read(self) -> None:
        try:
            await self._take_all()
            self._lines.put_nowait(None)
        except NadirfixError as error:
            self._break_off(error)
        except Exception as error:  # told to whoever takes the lines
            self._lines.put_nowait(error)
            raise

    async def _take_all(self) -> None:
        async for part in self._parts:
            if part.name == "photo":
                await self._take(part)
            else:
                note_field(part, self._fields, too_late=self._begun)
        if not self._begun:
            raise bad_request("the form has no photo", f"fields {sorted(self._fields)}")

    async def _take(self, part: Part) -> None:
        """Hand the photo on when its turn has come; its line waits behind those of the photos before it."""
        wish, self._begun = wish_of(part, self._fields), True
        while self._at_work and not self._is_room():
            _, self._at_work = await asyncio.wait(self._at_work, return_when=asyncio.FIRST_COMPLETED)
        task = asyncio.create_task(self._line(part, wish))
        self._at_work.add(task)
        self._lines.put_nowait(task)
        await asyncio.sleep(0)  # it takes its place now, so that the next photo finds whether anybody idles

    def _break_off(self, error: NadirfixError) -> None:
        """Before the first photo the whole request is wrong; after it the last line says so."""
        if not self._begun:
            self._lines.put_nowait(error)
            return
        self._lines.put_nowait({**error_record("", self._explain(error)), "photo": None})
        self._lines.put_nowait(None)


async def _heard(line: asyncio.Task[Record], reading: asyncio.Task[None]) -> Record:
    """The line, unless reading breaks off before it is known: whoever has hung up is not waited for."""
    await asyncio.wait({line, reading}, return_when=asyncio.FIRST_COMPLETED)
    if reading.done():
        reading.result()
    return await line


async def _ended(*tasks: asyncio.Task[Any]) -> None:
    """End these and wait for it: until then they hold photos, and give back the bytes they hold."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def note_field(part: Part, fields: dict[str, str], *, too_late: bool) -> None:
    """Keep a field's text; fields nobody knows are let pass, as forms of other programs may have them."""
    if part.name in _KNOWN:
        if too_late:
            raise bad_request("a field comes after the photos it is for", repr(part.name))
        fields[part.name] = part.text


def wish_of(part: Part, fields: dict[str, str]) -> Wish:
    """How the photo in this part is to be placed."""
    return Wish.read(name=part.file_name, camera=fields.get("camera"), altitude=fields.get("altitude"))
