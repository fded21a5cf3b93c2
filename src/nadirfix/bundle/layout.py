"""What a bundle's folder holds, and how to tell that it is whole (ADR 1).

The manifest names every part with its size and hash, and carries a seal over itself.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nadirfix.errors import BundleError

__all__ = [
    "ALTITUDE",
    "ALTITUDE_CLASSES",
    "ALTITUDE_WEIGHTS",
    "DESCRIPTORS",
    "FORMAT",
    "LOW_DESCRIPTORS",
    "LOW_PROJECTION",
    "LOW_REFERENCES",
    "MANIFEST",
    "MATCHER",
    "OLDEST",
    "PARQUET",
    "PLACE",
    "PLACE_WEIGHTS",
    "PROJECTION",
    "PROTOTYPES",
    "REFERENCES",
    "TEXTURE",
    "check_hash",
    "check_sizes",
    "damaged",
    "int8_part",
    "read_manifest",
    "seal_of",
    "sha256_of",
    "unknown",
]

#: The version of the folder's layout, and the oldest that is read as well; bundles of others are refused.
#: 2: descriptors may be whitened by a projection, which a reader of 1 would leave out.
#: 3: networks may be there in int8 as well, and the recipe says how they are quantised.
#: 4: references may lie on whole steps of a view, and the manifest says how they were described.
#: 5: references and the index of cells are numpy arrays; the recipe says in which precision networks run.
FORMAT, OLDEST = 5, 1
MANIFEST = "manifest.json"
TEXTURE = "texture.ntx"
ALTITUDE, ALTITUDE_WEIGHTS = "altitude.onnx", "altitude.safetensors"
ALTITUDE_CLASSES = "altitude_classes.npy"
PLACE, PLACE_WEIGHTS = "place.onnx", "place.safetensors"
MATCHER = "matcher.onnx"
PROTOTYPES, DESCRIPTORS, REFERENCES = "prototypes.npy", "descriptors.npy", "references.npy"
#: What references were in up to layout 4.
PARQUET = "references.parquet"
PROJECTION = "projection.npy"
#: The same of the references for photos from low above, where the bundle has them (ADR 53).
LOW_DESCRIPTORS, LOW_REFERENCES = "low_descriptors.npy", "low_references.npy"
LOW_PROJECTION = "low_projection.npy"

Manifest = dict[str, Any]

#: Bytes of a manifest: its cells take some forty each, and there may be a million of them.
_LONGEST_MANIFEST = 2**28


def int8_part(name: str) -> str:
    """The part that holds a network quantised to int8, beside the one that holds it as it was made."""
    return name.replace(".onnx", ".int8.onnx")


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, read piece by piece."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a bundle this nadirfix can read; anything else is a clear error."""
    if not folder.is_dir():
        raise BundleError(
            "bundle.missing",
            "there is no such bundle",
            seen=str(folder),
            do="name the NAME.nadir folder that nadirfix build made",
        )
    manifest = _parsed(folder / MANIFEST)
    _check_version(manifest, folder)
    if manifest.pop("seal", None) != _computed_seal(manifest):
        raise damaged(folder, f"{MANIFEST} is not what was written")
    return manifest


def _computed_seal(manifest: Manifest) -> str | None:
    """The seal it should have; None where it holds what no manifest can: NaN, or half a letter."""
    try:
        return seal_of(manifest)
    except (ValueError, RecursionError):
        return None


def check_sizes(folder: Path, manifest: Manifest) -> None:
    """Make sure that every part is there and as long as it should be; cheap enough for every opening."""
    for name in manifest["parts"]:
        _check(folder, manifest, name, lambda path: path.stat().st_size, "bytes")


def check_hash(folder: Path, manifest: Manifest, name: str) -> None:
    """Make sure that a part is what was written, byte by byte."""
    _check(folder, manifest, name, sha256_of, "sha256")


def damaged(folder: Path, seen: str) -> BundleError:
    """The error for a bundle with a part that is missing or is not what was written."""
    return BundleError(
        "bundle.damaged",
        "the bundle is damaged",
        seen=f"{folder}: {seen}",
        do="copy it again, or build it anew",
    )


def unknown(folder: Path, seen: str) -> BundleError:
    """The error for a bundle with something in it that only a later nadirfix knows."""
    return BundleError(
        "bundle.version",
        "the bundle holds something this nadirfix does not know",
        seen=f"{folder}: {seen}",
        do="update nadirfix, or build the bundle anew",
    )


def _check(folder: Path, manifest: Manifest, name: str, measure: Callable[[Path], object], key: str) -> None:
    path, known = folder / name, manifest["parts"][name]
    try:
        found = measure(path) if path.is_file() else None
    except OSError as error:
        raise damaged(folder, f"{name} cannot be read ({error.strerror})") from error
    if found is None:
        raise damaged(folder, f"{name} is missing")
    if found != known[key]:
        raise damaged(folder, f"{name} has {key} {found}, the manifest has {known[key]}")


def _parsed(path: Path) -> Manifest:
    try:
        if not path.is_file():
            raise damaged(path.parent, f"{path.name} is missing")
        if path.stat().st_size > _LONGEST_MANIFEST:
            raise damaged(path.parent, f"{path.name} is {path.stat().st_size} bytes long")
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(path.parent, f"{path.name} cannot be read ({error})") from error
    if not isinstance(manifest, dict):
        raise damaged(path.parent, f"{path.name} holds no table")
    return manifest


def _check_version(manifest: Manifest, folder: Path) -> None:
    found = manifest.get("format")
    if isinstance(found, int) and OLDEST <= found <= FORMAT:
        return
    newer = isinstance(found, int) and found > FORMAT
    found, made_by = str(found)[:40], str(manifest.get("nadirfix", "an unknown version"))[:40]
    raise BundleError(
        "bundle.version",
        f"the bundle's format is {'newer' if newer else 'older'} than this nadirfix reads",
        seen=f"{folder}: format {found}, made by nadirfix {made_by}; this one reads {OLDEST} to {FORMAT}",
        do="update nadirfix" if newer else "build the bundle anew from its map",
    )


def seal_of(manifest: Manifest) -> str:
    """The SHA-256 of a manifest without its seal, however its file is laid out."""
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
