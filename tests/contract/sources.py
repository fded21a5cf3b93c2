"""The package as text: its modules, their syntax trees and the repository's tracked files."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "nadirfix"
BIN = Path(sys.executable).parent


def module_name(path: Path) -> str:
    """``nadirfix.geo.grid`` for its file; a package is named by its folder."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, ast.Module]:
    """Every module of the package with its syntax tree."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {module_name(p): ast.parse(p.read_text(encoding="utf-8"), str(p)) for p in paths}


def module_path(name: str) -> Path:
    """The file a module lives in."""
    base = PACKAGE.parent.joinpath(*name.split("."))
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")


def room(name: str) -> str:
    """The part of the house a module belongs to: ``geo`` for ``nadirfix.geo.grid``."""
    return [*name.split("."), ""][1]


def tracked_files() -> list[Path]:
    """What git tracks, without what is deleted in the working tree; all files where there is no git."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        return [p for p in ROOT.rglob("*") if p.is_file() and not _made(p)]
    return [p for p in map(ROOT.joinpath, listed.stdout.splitlines()) if p.is_file()]


def _made(path: Path) -> bool:
    return any(part.startswith(".") or part == "demo" for part in path.relative_to(ROOT).parts)
