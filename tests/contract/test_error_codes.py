"""Every error code has a heading in the docs, an exit number and an HTTP status, and they agree."""

import ast
import re
from collections.abc import Iterator

import pytest
from sources import ROOT, modules

from nadirfix.errors import HTTP_STATUS, NadirfixError

DOC = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
HEADING = re.compile(r"^### `([a-z_.]+)`\n+Exit (\d+), HTTP (\d+)\.", re.MULTILINE)
FAMILIES = {kind.__name__: kind for kind in [NadirfixError, *NadirfixError.__subclasses__()]}


def exit_number(code: str) -> int:
    [kind] = [k for k in FAMILIES.values() if code.partition(".")[0] in k.families]
    return kind.exit_number


def test_every_code_has_one_heading_and_no_heading_is_left_over() -> None:
    headings = re.findall(r"^### `(.+)`$", DOC, re.MULTILINE)
    assert sorted(headings) == sorted(HTTP_STATUS)


@pytest.mark.parametrize("code", sorted(HTTP_STATUS))
def test_docs_exit_and_http_agree(code: str) -> None:
    documented = {c: (int(exits), int(http)) for c, exits, http in HEADING.findall(DOC)}
    assert documented[code] == (exit_number(code), HTTP_STATUS[code])


def test_exit_numbers_are_in_the_table() -> None:
    table = dict(re.findall(r"^\| (\d+) \| `(\w+)` \|", DOC, re.MULTILINE))
    assert table == {str(kind.exit_number): name for name, kind in FAMILIES.items()}


def test_statuses_are_errors() -> None:
    assert all(400 <= status < 600 for status in HTTP_STATUS.values())


def raised() -> Iterator[tuple[str, str]]:
    """Every (error class, code) written out in the package."""
    for tree in modules().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FAMILIES:
                first = node.args[0] if node.args else None
                if isinstance(first, ast.Constant):
                    yield node.func.id, str(first.value)


def test_raised_codes_belong_to_their_class() -> None:
    wrong = {
        (k, c) for k, c in raised() if c not in HTTP_STATUS or c.split(".")[0] not in FAMILIES[k].families
    }
    assert not wrong
