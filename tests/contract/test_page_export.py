"""What the page saves has the fields that ``nadirfix locate`` writes, in the same order."""

import re
from pathlib import Path

from nadirfix import formats

EXPORT = Path(__file__).parents[2] / "web" / "src" / "pure" / "export.ts"


def listed(name: str) -> tuple[str, ...]:
    """The strings of a constant list in the page's source."""
    found = re.search(rf"const {name} = \[(.*?)\] as const", EXPORT.read_text(encoding="utf-8"), re.DOTALL)
    assert found, f"{EXPORT.name} has no list {name}"
    return tuple(re.findall(r'"([^"]+)"', found[1]))


def test_the_page_s_tables_have_the_columns_of_locate() -> None:
    assert listed("FLAT") == formats._FLAT
    assert listed("ERROR") == formats._ERROR
