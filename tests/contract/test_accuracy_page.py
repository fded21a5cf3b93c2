"""The accuracy page and the README's tables say what the results say."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import pytest
from sources import ROOT

from bench.page.readme_tables import README, blocks
from bench.page.tables import block, result

LINES = {"docs/accuracy.md": 250, "README.md": 120}


@pytest.mark.parametrize(("place", "part"), [("mine", "altitude"), ("mine", "place"), ("town", "place")])
def test_the_whole_chain_was_measured_with_the_networks_that_ship(place: str, part: str) -> None:
    shipped = (ROOT / "src" / "nadirfix" / "weights" / f"standard-{part}.safetensors").read_bytes()
    assert result(f"verify_{place}")["networks"][part]["sha256"] == hashlib.sha256(shipped).hexdigest()


@pytest.mark.parametrize("page", ["accuracy", "readme_tables"])
def test_pages_are_what_the_results_give(page: str) -> None:
    command = [sys.executable, "-m", f"bench.page.{page}", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", list(LINES))
def test_pages_that_grow_are_short(page: str) -> None:
    assert len((ROOT / page).read_text(encoding="utf-8").splitlines()) <= LINES[page]


@pytest.mark.parametrize("name", list(blocks()))
def test_the_readme_has_every_block(name: str) -> None:
    assert README.read_text(encoding="utf-8").count(f"<!-- {name}: begin -->") == 1


def test_a_block_is_replaced_and_the_rest_stays() -> None:
    page = "a\n<!-- x: begin -->\nold\n<!-- x: end -->\nb\n"
    assert block(page, "x", "new") == "a\n<!-- x: begin -->\nnew\n<!-- x: end -->\nb\n"
    assert block(page, "y", "new") == page
