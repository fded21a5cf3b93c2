"""`make bench` runs what needs nothing given; every script is in the table, every result is cited."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sources import ROOT, tracked_files
from test_size import FUNCTION_LINES, MODULE_LINES, functions

from bench import run
from bench.lib import record
from bench.page import ablations, accuracy, networks, readme_tables, tables

BENCH = ROOT / "bench"
TABLE = (BENCH / "README.md").read_text(encoding="utf-8")
SCRIPTS = run.scripts(*record.FOLDERS)
NO_SCRIPT_ANY_MORE = {"matcher"}  # ADR 37 tells of it
FLAT, RESULTS = 8, 150


def results() -> list[Path]:
    return [path for path in tracked_files() if record.RESULTS in path.parents]


def is_script(path: Path) -> bool:
    return '__name__ == "__main__"' in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.stem)
def test_a_script_can_be_run_and_is_in_the_table(path: Path) -> None:
    assert is_script(path)
    assert TABLE.count(f"`python -m {run.module(path)}`") == 1


def test_the_table_names_only_what_is_there() -> None:
    named = re.findall(r"\| `python -m (bench\.[\w.]+)`", TABLE)
    assert all((ROOT / f"{name.replace('.', '/')}.py").is_file() for name in named)


def test_helpers_are_no_scripts_and_files_are_few() -> None:
    assert not [path for path in run.scripts("lib") if is_script(path)]
    assert len([path for path in BENCH.iterdir() if path.is_file()]) <= FLAT


@pytest.mark.parametrize("path", sorted(BENCH.rglob("*.py")), ids=lambda p: p.relative_to(BENCH).as_posix())
def test_scripts_are_as_small_as_the_package(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MODULE_LINES
    assert not {name: n for name, n in functions(ast.parse(text)) if n > FUNCTION_LINES}


def test_script_names_are_of_one_folder_each() -> None:
    stems = [path.stem for path in SCRIPTS]
    assert len(stems) == len(set(stems))


def test_what_needs_something_given_is_not_run_without(tmp_path: Path) -> None:
    script = tmp_path / "speed" / "script.py"
    script.parent.mkdir()
    for line, needed in {
        'o.add_argument("--map", required=True)': ["--map"],
        'o.add_argument("places", nargs="+")': ["places"],
        'o.add_argument("file", nargs="?")\no.add_argument("--name", default="a")': [],
        'for name in ("--a", "--b"):\n    o.add_argument(name, required=True)': ["name"],
    }.items():
        script.write_text(line, encoding="utf-8")
        assert run.required(script) == needed
        assert run.runs_alone(script) == (not needed)


def test_the_parsers_agree() -> None:
    """Scripts that refuse to run without something are those of which `make bench` thinks so."""
    cheap = [p for p in SCRIPTS if p.stem in {"same_answers", "registration_error", "worlds", "build"}]
    for path in cheap:
        command = [sys.executable, "-m", run.module(path)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 2, path
        assert "required" in done.stderr
        assert run.required(path)


def test_training_is_never_run_by_make() -> None:
    assert not [path for path in SCRIPTS if path.parent.name == "training" and run.runs_alone(path)]
    assert len([path for path in SCRIPTS if run.runs_alone(path)]) > 10


def cited_by_text() -> set[str]:
    """Files that pages, ADRs and the bench's table name; results are named by folder and file there."""
    pages = [ROOT / "README.md", BENCH / "README.md", *(ROOT / "docs").rglob("*.md")]
    texts = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    return set(re.findall(r"\b(?:speed|accuracy|training)/[\w.-]+\.(?:json|csv|log)\b", texts))


def read_by_pages(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Files that are read while pages and tables are written."""
    read: set[str] = set()

    def path_of(name: str, kind: str = "json", out_dir: Path | None = None) -> Path:
        path = record.path_of(name, kind, out_dir)
        read.add(path.relative_to(record.RESULTS).as_posix())
        return path

    monkeypatch.setattr(tables, "path_of", path_of)
    accuracy.page()
    networks.card_figures()
    readme_tables.blocks()
    assert ablations.ran(ablations.ALTITUDE)
    return read


def test_each_result_is_cited_and_each_citation_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {path.relative_to(record.RESULTS).as_posix() for path in results()}
    cited = cited_by_text()
    assert cited <= there, f"cited, but not there: {sorted(cited - there)}"
    known = {name.rpartition(".")[0] for name in cited | read_by_pages(monkeypatch)}
    assert not sorted(name for name in there if name.rpartition(".")[0] not in known), "cited nowhere"


def test_results_are_few_and_lie_with_their_script() -> None:
    assert len(results()) <= RESULTS
    for path in results():
        if path.stem.partition("_")[0] not in NO_SCRIPT_ANY_MORE:
            assert record.path_of(path.stem, path.suffix[1:]) == path
