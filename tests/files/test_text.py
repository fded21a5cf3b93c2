"""What comes from outside steers no terminal and is no formula, and can be read back."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nadirfix.files.text import from_cell, json_text, printable, to_cell

STEERING = ["\x1b[2J", "\x07", "\r", "\n", "\x9b31m", "\u202e", "\u2066", "\u2028", "\udc80", "\x00", "\x7f"]
TEXT = st.text(
    st.one_of(st.characters(codec=None), st.sampled_from("=+-@'\"\\;\t\r\n\x1b x1bU0u")), max_size=20
)


def harmless(text: str) -> bool:
    return all(c.isprintable() or c == "\xa0" or c.isspace() or ord(c) > 0x2FFF for c in text) and not any(
        c in text for c in "\x00\x1b\x07\r\n\t\x9b\u202e\u2066\u2028\x7f\udc80"
    )


@pytest.mark.parametrize("text", STEERING)
def test_nothing_steers_a_terminal(text: str) -> None:
    for written in (printable(text), to_cell(text), json_text({text: [text]})):
        assert harmless(written), written
    assert json.loads(json_text({text: [text]})) == {text: [text]}


@given(TEXT)
@settings(max_examples=500)
def test_a_cell_is_read_back_and_is_no_formula(text: str) -> None:
    file = io.StringIO()
    csv.writer(file).writerow([to_cell(text), 1])
    (row,) = csv.reader(io.StringIO(file.getvalue(), newline=""), strict=True)
    assert from_cell(row[0].strip()) == text
    assert row[0][:1] not in {*"=+-@\t\r"} or float(row[0]) is not None
    assert not any(part.lstrip(" ")[:1] in {*"=+@"} for part in row[0].split(";")[1:])
    assert "\x1b" not in row[0]
    row[0].encode()  # no halves of characters are left


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=1+1", "'=1+1"), ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"), ("@SUM(A1)", "'@SUM(A1)"),
        ("-x", "'-x"),
        ("'=", "''="), ("'s", "'s"), ("-12.5", "-12.5"), ("+3e4", "+3e4"), (-12.5, -12.5), (None, None),
        ("a;=1+1", "a;\\x3d1+1"), ("\t=1", "\\x09=1"), ("C:\\users\\a.jpg", "C:\\users\\a.jpg"),
        ("C:\\xab.jpg", "C:\\x5cxab.jpg"), (" a ", "\\x20a\\x20"), ("a.jpg", "a.jpg"),
        ("Öhre 日本.jpg", "Öhre 日本.jpg"),
    ],
)  # fmt: skip
def test_cells(value: object, cell: object) -> None:
    assert to_cell(value) == cell
    assert value is None or not isinstance(cell, str) or from_cell(cell) == value


@given(TEXT)
def test_json_is_the_same_value(text: str) -> None:
    assert json.loads(json_text({"a": text}, indent=1)) == {"a": text}


@given(TEXT)
def test_cells_of_others_that_hold_no_escapes_stay_as_they_are(text: str) -> None:
    plain = text.replace("\\", "").replace("'", "")
    assert from_cell(plain) == plain
