"""Forms with photos in them, read as they come: parts stay in memory, and one that is too large is let go."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header

from nadirfix.errors import ServiceError
from nadirfix.serve.options import LONGEST_TEXT, FormOptions, ServeOptions
from nadirfix.serve.uploads.body import too_large

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

    from nadirfix.serve.uploads.body import Account, Body

__all__ = ["FormReader", "Part", "bad_request", "boundary_of"]


@dataclass(frozen=True, slots=True)
class Part:
    """One field of a form: a photo with its file's name, or text. Of a photo too large nothing is kept."""

    name: str
    file_name: str
    data: bytes | None

    @property
    def text(self) -> str:
        """The field as text."""
        return (self.data or b"").decode("utf-8", "replace")


class FormReader:
    """Turns the pieces of a body into parts."""

    def __init__(self, boundary: bytes, account: Account, options: ServeOptions, *, photos: int) -> None:
        self._account, self._photo_bytes, self._photos = account, options.photo_bytes, photos
        self._form, self._others = options.form, options.form.other_parts
        # One photo too large is the whole request; in a batch it is let pass for the sake of the others.
        self._most_bytes = self._photo_bytes * (self._form.dropped_photos if photos > 1 else 1.0)
        self._spare_bytes = self._form.spare_bytes
        self._done: list[Part] = []
        self._ended = False
        self._trouble: ServiceError | None = None
        self._header, self._value = bytearray(), bytearray()
        self._begin_part()
        self._parser = _parser(boundary, self, self._form)

    async def parts(self, body: Body) -> AsyncIterator[Part]:
        """The parts of a whole body, each as soon as it is there."""
        async for piece in body.pieces():
            for part in self.feed(piece):
                yield part
        self.finish()

    def feed(self, piece: bytes) -> list[Part]:
        """The parts this piece completes; what is wrong after them is told when they are dealt with."""
        if self._trouble is None:
            try:
                self._spare_bytes -= len(piece)
                self._parser.write(piece)
                self._check_spare()
            except FormParserError as error:
                self._trouble = bad_request("the form cannot be read", str(error))
            except ServiceError as error:
                self._trouble = error
        done, self._done = self._done, []
        if self._trouble is not None and not done:
            raise self._trouble
        return done

    def finish(self) -> None:
        """Make sure that the form came to its end."""
        if self._trouble is not None:
            raise self._trouble
        if not self._ended:
            raise bad_request("the form breaks off", "no closing boundary")

    def _check_spare(self) -> None:
        """What belongs to no part, before, between and after them, has its end too."""
        if self._spare_bytes < 0:
            raise too_large(f"more than {self._form.spare_bytes} bytes around the photos", self._photo_bytes)

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
            self._others -= 1
        if self._photos < 0 or self._others < 0:
            raise bad_request("the form has too many fields", f"one more {self._name[:20]!r}")
        self._spare_bytes = self._form.spare_bytes
        self._limit_bytes = self._photo_bytes if self._name == "photo" else LONGEST_TEXT

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        self._size_bytes += end - start
        self._spare_bytes += end - start
        if self._size_bytes > self._most_bytes:
            raise too_large(f"more than {self._size_bytes} bytes in one part", self._photo_bytes)
        if self._size_bytes <= self._limit_bytes:
            self._account.take(end - start)
            self._data += data[start:end]
        elif self._data:
            self._account.give(len(self._data))
            self._data = bytearray()

    def _part_end(self) -> None:
        whole = self._size_bytes <= self._limit_bytes
        if not whole and self._name != "photo":
            raise bad_request("a field of the form is too long", f"{self._name[:20]!r}")
        self._done.append(Part(self._name, self._file_name, bytes(self._data) if whole else None))

    def _end(self) -> None:
        self._ended = True


def boundary_of(content_type: str) -> bytes:
    """What separates the parts of a form."""
    boundary = parse_options_header(content_type)[1].get(b"boundary", b"")
    if not 1 <= len(boundary) <= 70:
        raise bad_request("the form has no boundary", f"Content-Type: {content_type[:80]}")
    return boundary


def bad_request(what: str, seen: str) -> ServiceError:
    """The error for a request that cannot be read."""
    return ServiceError(
        "service.request",
        what,
        seen=seen,
        do="send a form with a file field photo, after the fields camera and altitude where they are known",
    )


def _parser(boundary: bytes, reader: FormReader, options: FormOptions) -> MultipartParser:
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
        max_header_count=options.part_headers,
        max_header_size=options.part_header_bytes,
    )
