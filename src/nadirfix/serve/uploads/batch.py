"""Many photos in one request: located in their order while the rest is still being uploaded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from typing import Any

from nadirfix.errors import NadirfixError
from nadirfix.formats import error_record
from nadirfix.serve.uploads.form import Part, bad_request
from nadirfix.serve.uploads.parameters import FIELDS, RequestParameters

__all__ = ["Batch", "Record", "photo_parameters", "store_field"]

Record = dict[str, Any]
#: Locates one photo; whatever is wrong with the photo is in its record.
Locate = Callable[[Part, RequestParameters], Coroutine[Any, Any, Record]]

#: Logs an error, and returns it as the client may see it.
ErrorFilter = Callable[[NadirfixError], NadirfixError]


class Batch:
    """Reads a form and locates its photos.

    While photos are being located the next one is read. They are submitted one after the other, and a further
    one only if it ``has_room``: a batch takes one core and those that are idle, and does not fill the memory
    it needs to read on. Reading goes on whether or not the client reads its lines: many clients send all
    they have before they read anything, and both sides would wait for each other. Waiting lines are short.
    """

    def __init__(
        self,
        locate: Locate,
        parts: AsyncIterator[Part],
        to_client_error: ErrorFilter,
        *,
        has_room: Callable[[], bool],
    ) -> None:
        self._locate, self._parts = locate, parts
        self._to_client_error, self._has_room = to_client_error, has_room
        self._lines: asyncio.Queue[asyncio.Task[Record] | Record | Exception | None] = asyncio.Queue()
        self._fields: dict[str, str] = {}
        self._has_photo = False
        self._running: set[asyncio.Task[Record]] = set()

    async def lines(self) -> AsyncGenerator[Record, None]:
        """The lines, each as soon as it is known; what is wrong before the first photo is raised."""
        reading = asyncio.create_task(self._read())
        try:
            while (line := await self._lines.get()) is not None:
                if isinstance(line, Exception):
                    raise line
                yield await _await_line(line, reading) if isinstance(line, asyncio.Task) else line
        finally:
            await _cancel(reading, *self._running)

    async def _read(self) -> None:
        try:
            await self._read_parts()
            self._lines.put_nowait(None)
        except NadirfixError as error:
            self._fail(error)
        except Exception as error:  # raised where the lines are read
            self._lines.put_nowait(error)
            raise

    async def _read_parts(self) -> None:
        async for part in self._parts:
            if part.name == "photo":
                await self._submit(part)
            else:
                store_field(part, self._fields, too_late=self._has_photo)
        if not self._has_photo:
            raise bad_request("the form has no photo", f"fields {sorted(self._fields)}")

    async def _submit(self, part: Part) -> None:
        """Submit the photo when its turn has come; its line follows those of the photos before it."""
        parameters, self._has_photo = photo_parameters(part, self._fields), True
        while self._running and not self._has_room():
            _, self._running = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
        task = asyncio.create_task(self._locate(part, parameters))
        self._running.add(task)
        self._lines.put_nowait(task)
        await asyncio.sleep(0)  # it is queued now, so that the next photo finds out whether a worker is idle

    def _fail(self, error: NadirfixError) -> None:
        """Before the first photo the whole request is wrong; after it the last line says so."""
        if not self._has_photo:
            self._lines.put_nowait(error)
            return
        self._lines.put_nowait({**error_record("", self._to_client_error(error)), "photo": None})
        self._lines.put_nowait(None)


async def _await_line(line: asyncio.Task[Record], reading: asyncio.Task[None]) -> Record:
    """The line, unless reading breaks off before it is known: a client that has disconnected needs none."""
    await asyncio.wait({line, reading}, return_when=asyncio.FIRST_COMPLETED)
    if reading.done():
        reading.result()
    return await line


async def _cancel(*tasks: asyncio.Task[Any]) -> None:
    """Cancel these and wait for them: they hold photos, and release their memory at the end."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def store_field(part: Part, fields: dict[str, str], *, too_late: bool) -> None:
    """Store a field's text; unknown fields are ignored, as forms of other programs may have them."""
    if part.name in FIELDS:
        if too_late:
            raise bad_request("a field comes after the photos it is for", repr(part.name))
        fields[part.name] = part.text


def photo_parameters(part: Part, fields: dict[str, str]) -> RequestParameters:
    """The parameters of the photo in this part."""
    return RequestParameters.read(part.file_name, fields)
