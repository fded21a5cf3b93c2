"""What of ours lies at the place of a bundle, and in the folder where one is being made (ADR 59)."""

from __future__ import annotations

import json
import os
from pathlib import Path

from nadirfix.bundle.layout import MANIFEST
from nadirfix.files.owned import Contents, is_empty

__all__ = ["STATE", "bundle_contents", "files_below", "work_contents"]

#: What a build remembers of its inputs: the marker of a work folder.
STATE = "state.json"


def bundle_contents(folder: Path) -> Contents | None:
    """The parts that its manifest lists, damaged or not; nothing for an empty folder."""
    if is_empty(folder):
        return {}
    manifest = _table(folder / MANIFEST)
    parts = manifest.get("parts") if manifest and "format" in manifest else None
    return {MANIFEST: None, **dict.fromkeys(parts)} if isinstance(parts, dict) else None


def work_contents(folder: Path) -> Contents | None:
    """Every file of a folder that a build has begun to fill."""
    return files_below(folder) if _table(folder / STATE) is not None or is_empty(folder) else None


def files_below(folder: Path) -> Contents:
    """Every file below a folder, and every folder (as if there were a file in it)."""
    found: dict[str, str | None] = {}
    for here, below, names in os.walk(folder):
        relative = Path(here).relative_to(folder)
        found |= {(relative / name).as_posix(): None for name in names}
        found |= {(relative / name / "*").as_posix(): None for name in below}
    return found


def _table(path: Path) -> dict[str, object] | None:
    try:
        table = None if path.is_symlink() else json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return table if isinstance(table, dict) else None
