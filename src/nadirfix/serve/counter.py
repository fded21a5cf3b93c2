"""Where photos are handed in: one by one or in batches, and the lines that come back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from nadirfix.errors import NadirfixError, ServiceError
from nadirfix.formats import error_record
from nadirfix.serve.body import Account, Body, Ledger, too_large
from nadirfix.serve.desk import Busy, Desk
from nadirfix.serve.form import FormReader, Part, bad_request, boundary_of
from nadirfix.serve.problems import explained
from nadirfix.serve.wish import Wish, clean_name

if TYPE_CHECKING:
    from starlette.requests import Request

    from nadirfix.serve.metrics import Metrics
    from nadirfix.serve.options import ServeOptions

__all__ = ["Counter", "Place", "Record"]

Record = dict[str, Any]
#: Places one photo.
Place = Callable[[bytes, Wish], Record]

_FORM = "multipart/form-data"
_RAW = ("image/", "application/octet-stream")
_KNOWN = {"camera", "altitude"}


class Counter:
    """Takes photos from clients and gives back their lines."""

    def __init__(
        self, place: Place, desk: Desk, ledger: Ledger, metrics: Metrics, options: ServeOptions
    ) -> None:
        self._place, self._desk, self._ledger = place, desk, ledger
        self._metrics, self._options = metrics, options
        self._batches = 0

    async def one(self, request: Request, said: dict[str, str | None]) -> Record:
        """The line of the one photo in this request; ``said`` is what its address tells about it."""
        self._desk.check()
        _check_length(request, self._options.photo_bytes)
        body = Body(request.receive, self._options)
        with self._ledger.account() as account:
            photo, wish = await self._photo(request, said, body, account)
            with body.watched() as gone:
                return await self._line(photo, wish, gone=gone)

    async def many(self, request: Request) -> AsyncIterator[Record]:
        """The lines of all photos in this request, each as soon as it is known."""
        boundary = boundary_of(_form_type(request))
        body, options = Body(request.receive, self._options), self._options
        with self._batch(), self._ledger.account() as account:
            reader = FormReader(
                boundary, account, photo_bytes=options.photo_bytes, photos=options.batch_photos
            )
            async for record in self._lines(body, reader, account, request.scope["nadirfix.request_id"]):
                yield record

    async def _lines(
        self, body: Body, reader: FormReader, account: Account, request_id: str
    ) -> AsyncIterator[Record]:
        """While one photo is looked at the next one is read: two are in memory, no more."""
        fields: dict[str, str] = {}
        pending: Awaitable[Record] | None = None
        try:
            async for part in _parts(body, reader):
                if part.name != "photo":
                    _note_field(part, fields, too_late=pending is not None)
                    continue
                wish = Wish.read(name=part.file_name, camera=fields.get("camera"),
                                 altitude=fields.get("altitude"))  # fmt: skip
                if pending is not None:
                    yield await pending
                pending = asyncio.ensure_future(self._safe_line(part, wish, account, request_id))
            if pending is None:
                raise bad_request("the form has no photo", f"fields {sorted(fields)}")
            yield await pending
        except NadirfixError as error:
            if pending is None:
                raise  # nothing has been said yet: the whole request is wrong
            yield await pending
            yield {**error_record("", explained(error, request_id)), "photo": None}
        finally:
            if isinstance(pending, asyncio.Future):
                pending.cancel()

    async def _safe_line(self, part: Part, wish: Wish, account: Account, request_id: str) -> Record:
        """The photo's line; what is wrong with one photo stays with that photo."""
        try:
            if part.data is None:
                limit_bytes = self._options.photo_bytes
                raise too_large(f"{clean_name(part.file_name)} has more bytes", limit_bytes)
            return await self._line(part.data, wish, reserved=True)
        except NadirfixError as error:
            return error_record(wish.name, explained(error, request_id))
        finally:
            account.give(len(part.data or b""))

    async def _line(
        self, photo: bytes, wish: Wish, *, gone: asyncio.Task[None] | None = None, reserved: bool = False
    ) -> Record:
        status = "error"
        try:
            record = await self._desk.ask(
                partial(self._place, photo, wish),
                patience_s=self._options.photo_s,
                gone=gone,
                reserved=reserved,
            )
            status = str(record["status"])
            return record
        except Busy:
            status = "refused"
            raise
        finally:
            self._metrics.photo(status)

    async def _photo(
        self, request: Request, said: dict[str, str | None], body: Body, account: Account
    ) -> tuple[bytes, Wish]:
        kind = _kind(request)
        if kind == _FORM:
            return await self._from_form(request, body, account)
        if not kind.startswith(_RAW):
            raise _media_type(kind)
        wish = Wish.read(name=said.get("name"), camera=said.get("camera"), altitude=said.get("altitude"))
        return await body.whole(account, limit_bytes=self._options.photo_bytes), wish

    async def _from_form(self, request: Request, body: Body, account: Account) -> tuple[bytes, Wish]:
        boundary = boundary_of(request.headers["content-type"])
        reader = FormReader(boundary, account, photo_bytes=self._options.photo_bytes, photos=1)
        fields: dict[str, str] = {}
        photo: Part | None = None
        async for part in _parts(body, reader):
            if part.name == "photo":
                photo = part
            else:
                _note_field(part, fields, too_late=False)
        if photo is None:
            raise bad_request("the form has no photo", f"fields {sorted(fields)}")
        if photo.data is None:
            raise too_large(f"more than {self._options.photo_bytes} bytes", self._options.photo_bytes)
        wish = Wish.read(name=photo.file_name, camera=fields.get("camera"), altitude=fields.get("altitude"))
        return photo.data, wish

    @contextmanager
    def _batch(self) -> Iterator[None]:
        if self._batches >= self._options.batches:
            seen = f"{self._batches} batches at work"
            raise Busy("too many batches at once", seen=seen, retry_after_s=5)
        self._batches += 1
        try:
            yield
        finally:
            self._batches -= 1


async def _parts(body: Body, reader: FormReader) -> AsyncIterator[Part]:
    async for piece in body.pieces():
        for part in reader.feed(piece):
            yield part
    reader.finish()


def _note_field(part: Part, fields: dict[str, str], *, too_late: bool) -> None:
    """Fields nobody knows are let pass, as forms of other programs may have them."""
    if part.name in _KNOWN:
        if too_late:
            raise bad_request("a field comes after the photos it is for", repr(part.name))
        fields[part.name] = part.text


def _check_length(request: Request, limit_bytes: int) -> None:
    """Refuse by what the client announces; what it really sends is counted as well."""
    spare_bytes = 65536  # the form around the photo
    with suppress(ValueError):
        if int(request.headers.get("content-length", "")) > limit_bytes + spare_bytes:
            raise too_large(f"{request.headers['content-length'][:20]} bytes announced", limit_bytes)


def _kind(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _form_type(request: Request) -> str:
    if _kind(request) != _FORM:
        raise _media_type(_kind(request))
    return request.headers["content-type"]


def _media_type(kind: str) -> ServiceError:
    return ServiceError(
        "service.media_type",
        "the body is neither a picture nor a form",
        seen=f"Content-Type {kind[:80]!r}",
        do="send image/jpeg (or another picture), or multipart/form-data with a file field photo",
    )
