"""Forms with photos, parsed as they arrive: parts stay in memory, and one that is too large is dropped."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header

from nadirfix.errors import ServiceError
from nadirfix.serve.options import (
    FORM_FIELDS,
    FORM_HEADER_BYTES,
    FORM_HEADERS,
    FORM_SPARE_BYTES,
    LONGEST_TEXT,
    OVERSIZE_FACTOR,
    ServeOptions,
)
from nadirfix.serve.uploads.body import too_large

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

    from nadirfix.serve.uploads.body import Body, MemoryLease

__all__ = ["FormReader", "Part", "bad_request", "boundary_of"]


@dataclass(frozen=True, slots=True)
class Part:
    """One field of a form: a photo with its file's name, or text. ``data`` of a photo too large is None."""

    name: str
    file_name: str
    data: bytes | None

    @property
    def text(self) -> str:
        """The field as text."""
        return (self.data or b"").decode("utf-8", "replace")


class FormReader:
    """Parses the chunks of a body into parts."""

    def __init__(self, boundary: bytes, lease: MemoryLease, options: ServeOptions, *, photos: int) -> None:
        self._lease, self._photo_bytes, self._photos = lease, options.photo_bytes, photos
        self._other_parts = FORM_FIELDS
        # A single photo that is too large ends the request; in a batch it is skipped, and the others go on.
        self._max_bytes = self._photo_bytes * (OVERSIZE_FACTOR if photos > 1 else 1.0)
        self._spare_bytes = FORM_SPARE_BYTES
        self._completed: list[Part] = []
        self._ended = False
        self._error: ServiceError | None = None
        self._header, self._value = bytearray(), bytearray()
        self._begin_part()
        self._parser = _parser(boundary, self)

    async def parts(self, body: Body) -> AsyncIterator[Part]:
        """The parts of a whole body, each as soon as it is complete."""
        async for chunk in body.chunks():
            for part in self.feed(chunk):
                yield part
        self.finish()

    def feed(self, chunk: bytes) -> list[Part]:
        """The parts this chunk completes; an error after them is raised when they have been dealt with."""
        if self._error is None:
            try:
                self._spare_bytes -= len(chunk)
                self._parser.write(chunk)
                self._check_spare()
            except FormParserError as error:
                self._error = bad_request("the form cannot be read", str(error))
            except ServiceError as error:
                self._error = error
        completed, self._completed = self._completed, []
        if self._error is not None and not completed:
            raise self._error
        return completed

    def finish(self) -> None:
        """Make sure that the form came to its end."""
        if self._error is not None:
            raise self._error
        if not self._ended:
            raise bad_request("the form breaks off", "no closing boundary")

    def _check_spare(self) -> None:
        """Limit what belongs to no part: before, between and after them."""
        if self._spare_bytes < 0:
            raise too_large(f"more than {FORM_SPARE_BYTES} bytes around the photos", self._photo_bytes)

    def _begin_part(self) -> None:
        self._name, self._file_name, self._is_file = "", "", False
        self._data, self._size_bytes = bytearray(), 0
        self._limit_bytes = 0

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        if bytes(self._header).lower() == b"content-disposition":
            _, options = parse_options_header(bytes(self._value))
            self._name = options.get(b"name", b"").decode("utf-8", "replace")
            self._file_name = options.get(b"filename", b"").decode("utf-8", "replace")
            self._is_file = b"filename" in options
        self._header.clear()
        self._value.clear()

    def _headers_finished(self) -> None:
        """A photo may come without a file's name; anything else is a short text."""
        if self._name == "photo":
            self._photos -= 1
        else:
            self._other_parts -= 1
        if self._photos < 0 or self._other_parts < 0:
            raise bad_request("the form has too many fields", f"one more {self._name[:20]!r}")
        self._spare_bytes = FORM_SPARE_BYTES
        self._limit_bytes = self._photo_bytes if self._name == "photo" else LONGEST_TEXT

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        self._size_bytes += end - start
        self._spare_bytes += end - start
        if self._size_bytes > self._max_bytes:
            raise too_large(f"more than {self._size_bytes} bytes in one part", self._photo_bytes)
        if self._size_bytes <= self._limit_bytes:
            self._lease.acquire(end - start)
            self._data += data[start:end]
        elif self._data:
            self._lease.release(len(self._data))
            self._data = bytearray()

    def _part_end(self) -> None:
        whole = self._size_bytes <= self._limit_bytes
        if not whole and self._name != "photo":
            raise bad_request("a field of the form is too long", f"{self._name[:20]!r}")
        self._completed.append(Part(self._name, self._file_name, bytes(self._data) if whole else None))

    def _end(self) -> None:
        self._ended = True


def boundary_of(content_type: str) -> bytes:
    """What separates the parts of a form."""
    boundary = parse_options_header(content_type)[1].get(b"boundary", b"")
    if not 1 <= len(boundary) <= 70:
        raise bad_request("the form has no boundary", f"Content-Type: {content_type[:80]}")
    return boundary


def bad_request(what: str, detail: str) -> ServiceError:
    """The error for a request that cannot be read."""
    return ServiceError(
        "service.request",
        what,
        seen=detail,
        do="send a form with a file field photo, after the fields camera and altitude where they are known",
    )


def _parser(boundary: bytes, reader: FormReader) -> MultipartParser:
    callbacks: MultipartCallbacks = {
        "on_part_begin": reader._begin_part,
        "on_header_field": reader._header_field,
        "on_header_value": reader._header_value,
        "on_header_end": reader._header_end,
        "on_headers_finished": reader._headers_finished,
        "on_part_data": reader._part_data,
        "on_part_end": reader._part_end,
        "on_end": reader._end,
    }
    return MultipartParser(
        boundary,
        callbacks,
        max_header_count=FORM_HEADERS,
        max_header_size=FORM_HEADER_BYTES,
    )
