"""The wire format of ONNX files: fields with their numbers, read without believing any length.

Only as much as it takes to look into a network before a library opens it; the onnx package is for building.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Fields", "Tensor", "encoded", "fields", "tensor"]

#: Wire types: a number of variable length, eight bytes, a length and so many bytes, four bytes.
_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5

#: Bytes a number of each data type takes; types that are not here hold text, pointers or complex numbers.
_ITEM_BYTES = {1: 4, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8, 12: 4, 13: 8, 16: 2}


@dataclass(slots=True)
class Fields:
    """The fields of one message: numbers and pieces of bytes, each list by the field's number."""

    numbers: dict[int, list[int]] = field(default_factory=dict)
    pieces: dict[int, list[memoryview]] = field(default_factory=dict)

    def text(self, number: int) -> str:
        """The last text of this field; empty where there is none."""
        found = self.pieces.get(number)
        return bytes(found[-1]).decode("utf-8", "replace") if found else ""

    def texts(self, number: int) -> list[str]:
        """All texts of this field."""
        return [bytes(one).decode("utf-8", "replace") for one in self.pieces.get(number, ())]


@dataclass(frozen=True, slots=True)
class Tensor:
    """Numbers stored in a network: what they are called, of which type, how many each way, how many bytes."""

    name: str
    data_type: int
    dims: tuple[int, ...]
    stored_bytes: int
    raw: memoryview | None


def fields(message: memoryview) -> Fields:
    """The fields of a message; ``ValueError`` where it is none."""
    found = Fields()
    for number, value in _walk(message):
        if isinstance(value, int):
            found.numbers.setdefault(number, []).append(value)
        else:
            found.pieces.setdefault(number, []).append(value)
    return found


def tensor(message: memoryview) -> Tensor:
    """A tensor whose numbers are in this file, all of them; ``ValueError`` for any other."""
    found = fields(message)
    name, kinds = found.text(8), found.numbers.get(2, [0])
    if 13 in found.pieces or 14 in found.numbers or 3 in found.pieces:
        raise ValueError(f"the numbers of {name!a} lie outside of the file")
    dims = (*found.numbers.get(1, ()), *(n for piece in found.pieces.get(1, ()) for n in _packed(piece)))
    if kinds[-1] not in _ITEM_BYTES or not all(0 <= side < 2**40 for side in dims):
        raise ValueError(f"{name!a} has data type {kinds[-1]} and {dims[:8]} numbers")
    raw = found.pieces.get(9, [None])[-1]
    typed = (4, 5, 7, 10, 11)
    stored = sum(len(piece) for n in typed for piece in found.pieces.get(n, ()))
    stored += sum(4 if n == 4 else 8 for n in typed for _ in found.numbers.get(n, ()))
    count = math.prod(dims)
    if raw is not None and len(raw) != count * _ITEM_BYTES[kinds[-1]]:
        raise ValueError(f"{name!a} has {len(raw)} bytes for {dims[:8]} numbers")
    if raw is None and stored < count:
        raise ValueError(f"{name!a} has too few numbers for {dims[:8]}")
    return Tensor(name, kinds[-1], dims, len(message), raw)


def encoded(number: int, value: int | bytes) -> bytes:
    """A field as it is written."""
    if isinstance(value, int):
        return _varint(number << 3 | _VARINT) + _varint(value)
    return _varint(number << 3 | _BYTES) + _varint(len(value)) + value


def _walk(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    at, end = 0, len(message)
    while at < end:
        key, at = _number(message, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _number(message, at)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            length, at = _number(message, at)
        elif kind in (_EIGHT, _FOUR):
            length = 8 if kind == _EIGHT else 4
        else:
            raise ValueError("it is not an ONNX file")
        if length > end - at:
            raise ValueError("it is cut short")
        piece = message[at : at + length]
        at += length
        yield key >> 3, piece if kind == _BYTES else int.from_bytes(piece, "little")


def _number(message: memoryview, at: int) -> tuple[int, int]:
    """A number of variable length and where it ends."""
    value = shift = 0
    while at < len(message) and shift < 70:
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    raise ValueError("it is cut short, or not an ONNX file")


def _packed(piece: memoryview) -> Iterator[int]:
    at = 0
    while at < len(piece):
        value, at = _number(piece, at)
        yield value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
