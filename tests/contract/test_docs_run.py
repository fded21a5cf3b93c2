"""Every bash and Python block in the README and the docs runs, in order, file by file."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sources import BIN, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.long]  # whole documents: `make long` runs them

FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
RUNS = {"bash", "python"}
NOT_RUN = {"text", "toml", "json", "csv"}
ELSEWHERE = {"gpu", "hub", "server"}
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "bench" / "README.md",
    *sorted(ROOT.glob("docs/**/*.md")),
]

#: In the docs ``make`` means this repository's; here it says what it would do, or tests would run themselves.
PRELUDE = f"set -euo pipefail\nmake() {{ command make -n -C '{ROOT}' \"$@\" >/dev/null; }}\n"


def blocks(page: Path) -> list[tuple[str, str]]:
    """(info string, text) of every fenced block."""
    return FENCE.findall(page.read_text(encoding="utf-8"))


def has_runnable(page: Path) -> bool:
    return any(runs_here(info) for info, _ in blocks(page))


def runs_here(info: str) -> bool:
    language, *marks = info.split() or [""]
    return language in RUNS and not ELSEWHERE & set(marks)


def run(info: str, text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    shell = ["bash", "-c", PRELUDE + text]
    command = [sys.executable, "-c", text] if info.startswith("python") else shell
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_blocks_say_what_they_are(page: Path) -> None:
    languages = {(info.split() or [""])[0] for info, _ in blocks(page)}
    assert languages <= RUNS | NOT_RUN, f"write bash or python where it can run: {languages}"


@pytest.mark.parametrize(
    "page", [p for p in PAGES if has_runnable(p)], ids=lambda p: str(p.relative_to(ROOT))
)
def test_blocks_run(page: Path, tmp_path: Path) -> None:
    for info, text in blocks(page):
        if runs_here(info):
            done = run(info, text, tmp_path)
            assert done.returncode == 0, f"{text}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8"))
    missing = [t for t in targets if not (page.parent / t).exists()]
    assert not missing
