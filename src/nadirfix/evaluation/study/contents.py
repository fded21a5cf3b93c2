"""What of ours lies in the folder of an evaluation (ADR 59)."""

from __future__ import annotations

import json
from pathlib import Path

from nadirfix.files.owned import Contents, is_empty
from nadirfix.offline.contents import bundle_contents, files_below, work_contents

__all__ = [
    "ABLATION",
    "COMPARED_BUNDLE",
    "COMPARISON",
    "METHODS",
    "METRICS",
    "QUERIES",
    "REPORT",
    "SETTINGS",
    "comparison_contents",
    "evaluation_contents",
    "read_settings",
]

QUERIES, METRICS, REPORT, SETTINGS = "queries.csv", "metrics.json", "report.html", "settings.json"
ABLATION = "ablation"
COMPARISON, COMPARED_BUNDLE, METHODS = "comparison.json", "standard.nadir", "methods"
#: What the settings of an evaluation say, whatever their values: a file that lacks one is somebody else's.
_KEYS = {"nadirfix", "bundle", "bundle_sha256", "camera", "exif_pose", "options"}
#: The same of a comparison of methods, and the kinds of files a method has.
_COMPARISON_KEYS = {"nadirfix", "altitude", "camera", "photos_sha256"}
_METHOD_SUFFIXES = {".json", ".jsonl", ".npy", ".npz", ""}


def evaluation_contents(folder: Path) -> Contents | None:
    """The tables and the report of an evaluation, and what it built to compare with."""
    if is_empty(folder):
        return {}
    if read_settings(folder) is None:
        return None
    files = dict.fromkeys((QUERIES, METRICS, REPORT, SETTINGS))
    return {**files, **_below(ABLATION, _ablation_contents(folder / ABLATION))}


def comparison_contents(folder: Path) -> Contents | None:
    """The table and the page of a comparison, its bundle, and what each method searched and answered."""
    if is_empty(folder):
        return {}
    if _read(folder / SETTINGS, _COMPARISON_KEYS) is None:
        return None
    work = f".{COMPARED_BUNDLE}.work"
    found: dict[str, str | None] = dict.fromkeys((SETTINGS, COMPARISON, REPORT))
    found |= _below(COMPARED_BUNDLE, bundle_contents(folder / COMPARED_BUNDLE) or {})
    if work_contents(folder / work) is not None:
        found |= _below(work, files_below(folder / work))
    methods = files_below(folder / METHODS)
    ours = {name: value for name, value in methods.items() if Path(name).suffix in _METHOD_SUFFIXES}
    return {**found, **_below(METHODS, ours)}


def read_settings(folder: Path) -> dict[str, object] | None:
    """The settings an evaluation in this folder was begun with; None where there is none."""
    return _read(folder / SETTINGS, _KEYS)


def _read(path: Path, keys: set[str]) -> dict[str, object] | None:
    try:
        settings = None if path.is_symlink() else json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return settings if isinstance(settings, dict) and settings.keys() >= keys else None


def _ablation_contents(folder: Path) -> Contents:
    """The map written again, a table for each variant, its bundle, and what a stopped build left."""
    if not folder.is_dir() or folder.is_symlink():
        return {}
    found: dict[str, str | None] = {"map.tif": None}
    for path in folder.iterdir():
        if path.suffix == ".csv":
            found[path.name] = None
        elif path.suffix == ".nadir" and not path.is_symlink():
            found |= _below(path.name, bundle_contents(path) or {})
        elif path.name.endswith(".nadir.work") and not path.is_symlink() and work_contents(path) is not None:
            found |= _below(path.name, files_below(path))
    return found


def _below(name: str, contents: Contents) -> Contents:
    return {f"{name}/{path}": fingerprint for path, fingerprint in contents.items()}
