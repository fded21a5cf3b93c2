"""Text from outside, such as names of files, as it may be shown on a terminal or put into a table (ADR 59).

A name can hold characters that move a terminal's cursor or turn its writing around, and a cell that begins
like a formula is one to a spreadsheet. Both are escaped; the text can be read back.
"""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["from_cell", "json_text", "printable", "to_cell"]

#: Controls, marks without a width, marks that turn the direction of writing, and halves of characters.
_STEERING = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
#: How they are written: as in Python and in most other languages.
_CODE = r"x[0-9a-f]{2}|u[0-9a-f]{4}|U00(?:0[0-9a-f]|10)[0-9a-f]{4}"
_ESCAPE, _ALREADY_ESCAPED = re.compile(rf"\\({_CODE})"), re.compile(rf"\\(?={_CODE})")
_FORMULA = "=+-@＝＋－＠"
#: Where semicolons separate cells, what follows one is another cell.
_AFTER_SEMICOLON = re.compile(rf"(?<=;)( *)([{re.escape(_FORMULA)}])")
_ENDS = re.compile(r"\A\s+|\s+\Z")
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?", re.ASCII)


def printable(text: str) -> str:
    """The text in one line, with nothing in it that could steer a terminal."""
    return _STEERING.sub(_codes, text)


def json_text(value: Any, **settings: Any) -> str:
    """The value as JSON that steers no terminal either; reading it gives the same value."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, **settings)
    return text if text.isprintable() else _STEERING.sub(_json_codes, text)


def to_cell(value: Any) -> Any:
    """The value as a cell of a table: numbers as they are, text so that no spreadsheet calculates it."""
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return value
    text = _STEERING.sub(_codes, _ALREADY_ESCAPED.sub(lambda _: r"\x5c", value))
    text = _ENDS.sub(_codes, text)  # readers of tables drop blanks there
    text = _AFTER_SEMICOLON.sub(lambda match: match[1] + _code(match[2]), text)
    begins_so = text[:1] and (text[0] in _FORMULA or (text[0] == "'" and text[1:2] in {*_FORMULA, "'"}))
    return f"'{text}" if begins_so else text


def from_cell(cell: str) -> str:
    """The text that ``to_cell`` made this cell of; any other cell stays as it is."""
    quoted = cell[:1] == "'" and len(cell) > 1 and cell[1] in {*_FORMULA, "'"}
    return _ESCAPE.sub(lambda match: chr(int(match[1][1:], 16)), cell[1:] if quoted else cell)


def _codes(match: re.Match[str]) -> str:
    return "".join(map(_code, match[0]))


def _code(character: str) -> str:
    number = ord(character)
    return (
        f"\\x{number:02x}"
        if number < 0x100
        else f"\\u{number:04x}"
        if number < 0x10000
        else f"\\U{number:08x}"
    )


def _json_codes(match: re.Match[str]) -> str:
    """Between the strings of JSON there may be line ends, which are no part of them."""
    return match[0] if match[0] == "\n" else json.dumps(match[0])[1:-1]
