"""Every reason for no fix is a code that the docs explain and the code gives, and no other is there."""

import ast
import re

from sources import ROOT, modules

from nadirfix.types import REASON_CODES

DOC = (ROOT / "docs" / "verification.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `([a-z_]+)` \| (.+) \| (.+) \|$", re.MULTILINE)


def given_by_code() -> set[str]:
    """Codes written out as text anywhere but where they are listed."""
    trees = [tree for name, tree in modules().items() if name != "nadirfix.types"]
    texts = {n.value for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Constant)}
    return set(REASON_CODES) & {text for text in texts if isinstance(text, str)}


def test_the_table_has_every_code_and_no_other() -> None:
    table = DOC.partition("| `reason_code` |")[2].partition("\n\n")[0]
    rows = ROW.findall(table)
    assert sorted(code for code, _, _ in rows) == sorted(REASON_CODES)
    assert all(len(measured) > 20 and len(what_to_do) > 20 for _, measured, what_to_do in rows)


def test_every_code_is_given_somewhere() -> None:
    assert given_by_code() == set(REASON_CODES)
