"""Where photos are handed in: one by one or in batches, and the lines that come back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import ExitStack, aclosing, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from nadirfix.errors import NadirfixError, ServiceError
from nadirfix.formats import error_record
from nadirfix.serve.errors import LOG, explained, internal, one_line
from nadirfix.serve.options import RETRY_S
from nadirfix.serve.queue.work_queue import Busy, Desk, Seat
from nadirfix.serve.uploads.batch import Batch, Record, note_field, wish_of
from nadirfix.serve.uploads.body import Account, Body, Ledger, too_large
from nadirfix.serve.uploads.form import FormReader, Part, bad_request, boundary_of
from nadirfix.serve.uploads.parameters import Wish

if TYPE_CHECKING:
    from starlette.requests import Request

    from nadirfix.serve.metrics import Metrics
    from nadirfix.serve.options import ServeOptions

__all__ = ["Counter", "Place"]

#: Places one photo.
Place = Callable[[bytes, Wish], Record]

_FORM = "multipart/form-data"
_RAW = ("image/", "application/octet-stream")


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
        _check_length(request, self._options)
        body = Body(request.receive, self._options)
        with self._seat() as seat, self._ledger.account() as account:
            photo, wish = await self._photo(request, said, body, account)
            with body.watched() as gone:
                return await self._line(photo, wish, gone=gone, seat=seat)

    async def many(self, request: Request) -> AsyncGenerator[Record, None]:
        """The lines of all photos in this request, each as soon as it is known."""
        boundary, options = boundary_of(_form_type(request)), self._options
        request_id = request.scope["nadirfix.request_id"]
        with self._batch(), self._ledger.account() as account:
            reader = FormReader(boundary, account, options, photos=options.batch_photos)
            line = partial(self._safe_line, account=account, request_id=request_id)
            parts = reader.parts(Body(request.receive, options))
            told = partial(explained, request_id=request_id)
            batch = Batch(line, parts, told, is_room=self._is_room)
            async with aclosing(batch.lines()) as lines:
                async for record in lines:
                    yield record

    def _is_room(self) -> bool:
        """Whether a batch may have one more photo in the house, and still read the one after it."""
        return self._desk.idles and self._ledger.has_room(self._options.ahead_bytes)

    async def _safe_line(self, part: Part, wish: Wish, *, account: Account, request_id: str) -> Record:
        """The photo's line; what is wrong with one photo stays with that photo, even a fault of ours."""
        try:
            if part.data is None:
                raise too_large(f"{wish.name} has more bytes", self._options.photo_bytes)
            return await self._line(part.data, wish, reserved=True)
        except NadirfixError as error:
            return error_record(wish.name, explained(error, request_id))
        except Exception as error:
            LOG.exception("%s %s", request_id, one_line(f"{type(error).__name__}: {error}"))
            return error_record(wish.name, internal(request_id))
        finally:
            account.give(len(part.data or b""))

    async def _line(
        self,
        photo: bytes,
        wish: Wish,
        *,
        gone: asyncio.Task[None] | None = None,
        seat: Seat | None = None,
        reserved: bool = False,
    ) -> Record:
        status = "error"
        try:
            record = await self._desk.ask(
                partial(self._place, photo, wish),
                patience_s=self._options.photo_s,
                gone=gone,
                seat=seat,
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
        reader = FormReader(boundary, account, self._options, photos=1)
        fields: dict[str, str] = {}
        photo: Part | None = None
        async for part in reader.parts(body):
            if part.name == "photo":
                photo = part
            else:
                note_field(part, fields, too_late=False)
        if photo is None:
            raise bad_request("the form has no photo", f"fields {sorted(fields)}")
        if photo.data is None:
            raise too_large(f"more than {self._options.photo_bytes} bytes", self._options.photo_bytes)
        return photo.data, wish_of(photo, fields)

    @contextmanager
    def _seat(self) -> Iterator[Seat]:
        """A place in the queue before anything is read, so that being refused costs neither side a photo."""
        with ExitStack() as held:
            try:
                seat = held.enter_context(self._desk.seat())
            except Busy:
                self._metrics.photo("refused")
                raise
            yield seat

    @contextmanager
    def _batch(self) -> Iterator[None]:
        if self._batches >= self._options.batches:
            seen = f"{self._batches} batches at work"
            raise Busy("too many batches at once", seen=seen, retry_after_s=RETRY_S)
        self._batches += 1
        try:
            yield
        finally:
            self._batches -= 1


def _check_length(request: Request, options: ServeOptions) -> None:
    """Refuse by what the client announces; what it really sends is counted as well."""
    most_bytes = options.photo_bytes + options.form.spare_bytes
    with suppress(ValueError):
        if int(request.headers.get("content-length", "")) > most_bytes:
            seen = f"{request.headers['content-length'][:20]} bytes announced"
            raise too_large(seen, options.photo_bytes)


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
