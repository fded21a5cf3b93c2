"""Handles uploads: photos one by one or in batches, answered by a line each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import ExitStack, aclosing, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from nadirfix.errors import NadirfixError, ServiceError
from nadirfix.formats import error_record
from nadirfix.serve.errors import LOG, client_error, fault, one_line
from nadirfix.serve.options import FORM_SPARE_BYTES, HOLD_S, MOST_HELD, RETRY_S
from nadirfix.serve.queue.patience import Client, Patience
from nadirfix.serve.queue.work_queue import Busy, Reservation, WorkQueue
from nadirfix.serve.uploads.batch import Batch, Record, photo_parameters, store_field
from nadirfix.serve.uploads.body import Body, MemoryBudget, MemoryLease, too_large
from nadirfix.serve.uploads.form import FormReader, Part, bad_request, boundary_of
from nadirfix.serve.uploads.parameters import RequestParameters

if TYPE_CHECKING:
    from starlette.requests import Request

    from nadirfix.serve.metrics import Metrics
    from nadirfix.serve.options import ServeOptions

__all__ = ["Locator", "UploadHandler"]

#: Locates one photo.
Locator = Callable[[bytes, RequestParameters], Record]

_FORM = "multipart/form-data"
_RAW = ("image/", "application/octet-stream")


class UploadHandler:
    """Reads photos from requests, queues them, and returns a record for each."""

    def __init__(
        self,
        locator: Locator,
        queue: WorkQueue,
        budget: MemoryBudget,
        metrics: Metrics,
        options: ServeOptions,
        *,
        patience: Patience,
    ) -> None:
        self._locator, self._queue, self._budget = locator, queue, budget
        self._metrics, self._options, self._patience = metrics, options, patience
        self._held = 0
        self._batches = 0

    async def locate_photo(self, request: Request, query: dict[str, str | None]) -> Record:
        """The record of the one photo in this request; ``query`` is for a body that is the photo itself."""
        _check_length(request, self._options)
        body = Body(request.receive, self._options)
        await self._hold_early(request)
        with self._reserve(request) as reservation, self._budget.lease() as lease:
            photo, parameters = await self._read_photo(request, query, body, lease)
            with body.watch_disconnect() as disconnected:
                record = await self._locate(
                    photo, parameters, disconnected=disconnected, reservation=reservation
                )
                self._patience.answered(_client(request))
                return record

    async def locate_batch(self, request: Request) -> AsyncGenerator[Record, None]:
        """The records of all photos in this request, each as soon as it is known."""
        boundary, options = boundary_of(_form_type(request)), self._options
        request_id = request.scope["nadirfix.request_id"]
        with self._batch(), self._budget.lease() as lease:
            reader = FormReader(boundary, lease, options, photos=options.batch_photos)
            locate_part = partial(self._locate_safely, lease=lease, request_id=request_id)
            parts = reader.parts(Body(request.receive, options))
            to_client_error = partial(client_error, request_id=request_id)
            batch = Batch(locate_part, parts, to_client_error, has_room=self._has_room)
            async with aclosing(batch.lines()) as lines:
                async for record in lines:
                    yield record

    def _has_room(self) -> bool:
        """Whether a batch may submit one more photo, and still read the one after it."""
        return self._queue.has_idle_worker and self._budget.has_room(self._options.read_ahead_bytes)

    async def _locate_safely(
        self, part: Part, parameters: RequestParameters, *, lease: MemoryLease, request_id: str
    ) -> Record:
        """The photo's record; an error in one photo does not affect the others, even a fault of ours."""
        try:
            if part.data is None:
                raise too_large(f"{parameters.name} has more bytes", self._options.photo_bytes)
            return await self._locate(part.data, parameters, admitted=True)
        except NadirfixError as error:
            return error_record(parameters.name, client_error(error, request_id))
        except Exception as error:
            LOG.exception("%s %s", request_id, one_line(f"{type(error).__name__}: {error}"))
            return error_record(parameters.name, fault(error, request_id))
        finally:
            lease.release(len(part.data or b""))

    async def _locate(
        self,
        photo: bytes,
        parameters: RequestParameters,
        *,
        disconnected: asyncio.Task[None] | None = None,
        reservation: Reservation | None = None,
        admitted: bool = False,
    ) -> Record:
        status = "error"
        try:
            record = await self._queue.submit(
                partial(self._locator, photo, parameters),
                timeout_s=self._options.photo_s,
                disconnected=disconnected,
                reservation=reservation,
                admitted=admitted,
            )
            status = str(record["status"])
            return record
        except Busy:
            status = "refused"
            raise
        finally:
            self._metrics.photo(status)

    async def _read_photo(
        self, request: Request, query: dict[str, str | None], body: Body, lease: MemoryLease
    ) -> tuple[bytes, RequestParameters]:
        kind = _kind(request)
        if kind == _FORM:
            return await self._read_form(request, body, lease)
        if not kind.startswith(_RAW):
            raise _media_type(kind)
        parameters = RequestParameters.read(query.get("name"), query)
        return await body.whole(lease, limit_bytes=self._options.photo_bytes), parameters

    async def _read_form(
        self, request: Request, body: Body, lease: MemoryLease
    ) -> tuple[bytes, RequestParameters]:
        boundary = boundary_of(request.headers["content-type"])
        reader = FormReader(boundary, lease, self._options, photos=1)
        fields: dict[str, str] = {}
        photo: Part | None = None
        async for part in reader.parts(body):
            if part.name == "photo":
                photo = part
            else:
                store_field(part, fields, too_late=False)
        if photo is None:
            raise bad_request("the form has no photo", f"fields {sorted(fields)}")
        if photo.data is None:
            raise too_large(f"more than {self._options.photo_bytes} bytes", self._options.photo_bytes)
        return photo.data, photo_parameters(photo, fields)

    async def _hold_early(self, request: Request) -> None:
        """A client that was told to wait and did not is answered late: asking again at once costs it time."""
        try:
            self._patience.check(_client(request), idle=self._queue.has_idle_worker)
        except Busy:
            self._metrics.photo("refused")
            if self._held < MOST_HELD:
                self._held += 1
                try:
                    await asyncio.sleep(HOLD_S)
                finally:
                    self._held -= 1
            raise

    @contextmanager
    def _reserve(self, request: Request) -> Iterator[Reservation]:
        """A place in the queue before anything is read: a refused client need not upload its photo."""
        with ExitStack() as stack:
            try:
                reservation = stack.enter_context(self._queue.reserve())
            except Busy as busy:
                retry_s = self._patience.refused(_client(request), busy.retry_after_s)
                self._metrics.photo("refused")
                raise Busy(busy.what, seen=busy.seen, retry_after_s=retry_s) from busy
            yield reservation

    @contextmanager
    def _batch(self) -> Iterator[None]:
        if self._batches >= self._options.batches:
            detail = f"{self._batches} batches in progress"
            raise Busy("too many batches at once", seen=detail, retry_after_s=RETRY_S)
        self._batches += 1
        try:
            yield
        finally:
            self._batches -= 1


def _client(request: Request) -> Client | None:
    """The connection a request came by; None where there is none, as in tests."""
    return None if request.client is None else (request.client.host, request.client.port)


def _check_length(request: Request, options: ServeOptions) -> None:
    """Refuse by the announced length; what really arrives is counted as well."""
    max_bytes = options.photo_bytes + FORM_SPARE_BYTES
    with suppress(ValueError):
        if int(request.headers.get("content-length", "")) > max_bytes:
            detail = f"{request.headers['content-length'][:20]} bytes announced"
            raise too_large(detail, options.photo_bytes)


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
