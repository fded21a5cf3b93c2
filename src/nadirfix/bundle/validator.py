"""The door of a bundle: nothing behind it sees a part that is missing, altered, or cannot be meant (ADR 54).

What the manifest says of its parts is compared with their headers each time, which takes a millisecond. What
is in them is compared with the manifest's hashes, and looked into, once for each state of a file.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from nadirfix.bundle import layout as parts
from nadirfix.bundle.contents import check_content
from nadirfix.bundle.file_states import known_states, remember_states, state_of
from nadirfix.bundle.schema import check_manifest
from nadirfix.bundle.shapes import check_shapes
from nadirfix.options.recipe import NETWORK_MATCHERS, Recipe
from nadirfix.parallel import cores, map_in_order

__all__ = ["check_all_parts", "check_parts", "read_checked_manifest"]

#: Endings of files that a bundle reads: one of these that is not listed may have been meant to be read.
_READ = (".npy", ".onnx", ".ntx")


def read_checked_manifest(folder: Path) -> parts.Manifest:
    """The manifest, with every entry that is read and every part that is used."""
    manifest = parts.read_manifest(folder)
    try:
        check_manifest(manifest)
        _check_listed(manifest)
    except ValueError as error:
        raise parts.damaged(folder, f"{parts.MANIFEST}: {error}") from error
    parts.check_sizes(folder, manifest)
    return manifest


def check_parts(
    folder: Path, manifest: parts.Manifest, recipe: Recipe, *, bins: int, cells: Sequence[int]
) -> None:
    """Make sure that parts fit each other and are what was written, where that is not known already.

    There are so many altitude classes, and so many cells in each group.
    """
    check_shapes(folder, manifest, recipe, bins=bins, cells=cells)
    _check_states(folder, manifest, known_states())


def check_all_parts(folder: Path, manifest: parts.Manifest) -> None:
    """Make sure that every part is what was written, whatever was remembered, and that all are listed."""
    listed = manifest["parts"]
    stray = sorted(p.name for p in folder.iterdir() if p.name.endswith(_READ) and p.name not in listed)
    if stray:
        raise parts.damaged(folder, f"{parts.MANIFEST} does not list {', '.join(map(ascii, stray[:3]))}")
    _check_states(folder, manifest, {})


def _check_listed(manifest: parts.Manifest) -> None:
    """The parts without which this bundle answers nothing, or something else."""
    listed, low = manifest["parts"], manifest.get("low_references")
    needed = {parts.TEXTURE, parts.ALTITUDE, parts.PLACE, parts.PROTOTYPES, parts.DESCRIPTORS}
    needed |= set() if parts.PARQUET in listed else {parts.REFERENCES}
    needed |= {parts.LOW_REFERENCES, parts.LOW_DESCRIPTORS} if low else set()
    matcher = (manifest.get("matcher") or {}).get("name")
    needed |= {parts.MATCHER} if matcher in NETWORK_MATCHERS else set()
    missing = sorted(needed - set(listed))
    if missing:
        raise ValueError(f"it lists no {', '.join(missing)}")
    sizes = [len(cells) for cells in manifest["classes"]["cells"]]
    if len(sizes) != len(manifest["classes"]["groups"]):
        raise ValueError("classes has more groups than lists of cells, or fewer")


def _check_states(folder: Path, manifest: parts.Manifest, known: Mapping[str, tuple[str, float]]) -> None:
    """Read every part in a state that is not known, and remember those that are what was written."""
    began_s, listed = time.time(), manifest["parts"]
    try:
        states = {name: state_of(folder / name) for name in sorted(listed)}
    except OSError as error:  # gone since its size was looked at
        raise parts.damaged(folder, f"a part cannot be read ({error})") from error
    unknown = [n for n, state in states.items() if known.get(state, ("",))[0] != listed[n]["sha256"]]
    if not unknown:
        return
    for _ in map_in_order(lambda name: _check_part(folder, manifest, name), unknown, workers=cores()):
        pass
    remember_states(
        {folder / name: (states[name], listed[name]["sha256"]) for name in unknown}, began_s=began_s
    )


def _check_part(folder: Path, manifest: parts.Manifest, name: str) -> None:
    parts.check_hash(folder, manifest, name)
    try:
        check_content(folder / name)
    except (OSError, ValueError) as error:
        raise parts.damaged(folder, f"{name}: {error}") from error
