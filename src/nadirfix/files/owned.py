"""What of ours lies at a path, and what lies there besides: only what we wrote is ever replaced (ADR 59).

A folder is ours if it carries our marker (or, a bundle, its manifest) and holds nothing but what that lists;
a file if it begins as ours do. Links are nobody's.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from nadirfix.errors import InputError, OutputError

__all__ = [
    "MARKER",
    "Contents",
    "Recognise",
    "any_file",
    "check_name",
    "check_ours",
    "check_unused",
    "is_empty",
    "marked",
    "output_exists",
    "remove_listed",
    "write_marker",
]

#: The files below a folder of ours by name, each with the fingerprint of what was written, or None where any
#: content is ours. A file of ours holds no others.
Contents = Mapping[str, str | None]
#: What of ours lies at a path; None where that is not ours.
Recognise = Callable[[Path], Contents | None]

#: The file that says which folder is ours, and what we put into it.
MARKER = ".nadirfix.json"

_UNFINISHED = re.compile(r"\.(.+)\.[0-9a-f]{8}\.part")
#: Bytes of either end of a file that its fingerprint is made of.
_ENDS = 65_536


def any_file(path: Path) -> Contents | None:
    """For files inside a folder that is known to be ours: whatever file is there."""
    return {} if path.is_file() else None


def marked(kind: str) -> Recognise:
    """Recognises folders that ``atomic_dir`` wrote as this kind, and empty ones."""

    def recognise(folder: Path) -> Contents | None:
        if is_empty(folder):
            return {}
        marker = _read_marker(folder / MARKER)
        return {**marker["files"], MARKER: None} if marker and marker["kind"] == kind else None

    return recognise


def is_empty(folder: Path) -> bool:
    """Whether this is a folder with nothing in it."""
    return folder.is_dir() and not any(folder.iterdir())


def check_name(target: Path) -> None:
    """Refuse a target that is the folder one is in, or the one above it."""
    if target.name in {"", ".."}:
        raise InputError(
            "options.invalid",
            "the output needs a name of its own",
            seen=f"'{target}' (an empty name is the folder you are in)",
            do="name a new file or folder with --out",
        )


def check_ours(
    path: Path, recognise: Recognise, *, overwrite: bool = True, target: Path | None = None
) -> None:
    """Refuse what we did not write, or not alone; advise nothing that would not help.

    ``target`` is how it is called where it has been set aside.
    """
    name = target or path
    if path.is_symlink():
        raise output_exists("the output is a link, and links are not followed", name)
    contents = recognise(path)
    if contents is None:
        what = "what is there was not written by this command" if overwrite else "the output is already there"
        raise output_exists(what, name)
    stranger = next(_strangers(path, contents), None) if path.is_dir() else None
    if stranger is not None:
        what = "the output is already there and holds more than was written there, or something changed since"
        raise output_exists(what, f"{name} ({stranger})")


def check_unused(target: Path, inputs: Iterable[Path]) -> None:
    """Refuse what is read from, or what holds it: replacing it would take the input with it."""
    used = [*inputs]
    with suppress(FileNotFoundError):  # the folder one is in may be gone
        used.append(Path.cwd())
    above = dict.fromkeys(place for path in used for place in (path.resolve(), *path.resolve().parents))
    there = target.stat()
    for path in above:
        with suppress(FileNotFoundError, NotADirectoryError):
            if os.path.samestat(path.stat(), there):
                raise output_exists("the output is, or holds, what is being used", target)


def output_exists(what: str, seen: object, *, overwrite_helps: bool = False) -> OutputError:
    """The error for a target that is there; it advises --overwrite only where that would do it."""
    last = "allow replacing it with --overwrite" if overwrite_helps else "move it away"
    return OutputError("output.exists", what, seen=str(seen), do=f"name another one with --out, or {last}")


def _strangers(target: Path, contents: Contents) -> Iterator[str]:
    """What lies below a folder that we did not write, or that has changed since."""
    folders = {str(above) for name in contents for above in Path(name).parents}
    for here, below, names in os.walk(target, onerror=_raise):
        relative = Path(here).relative_to(target)
        for name in list(below):
            if str(relative / name) not in folders or (Path(here) / name).is_symlink():
                yield str(relative / name)
        for name in names:
            known = _listed_name(relative / name, contents)
            if known is None or not _is_as_written(Path(here) / name, contents[known]):
                yield str(relative / name)


def _raise(error: OSError) -> None:
    raise error


def _listed_name(path: Path, contents: Contents) -> str | None:
    """The name under which a file is listed; what was left half-written counts as the file it was to be."""
    unfinished = _UNFINISHED.fullmatch(path.name)
    for candidate in (path, path.with_name(unfinished[1]) if unfinished else path):
        if candidate.as_posix() in contents:
            return candidate.as_posix()
    return None


def _is_as_written(path: Path, fingerprint: str | None) -> bool:
    """Whether this is a plain file, with the content it was given where that is known."""
    if not stat.S_ISREG(path.lstat().st_mode):
        return False
    return fingerprint is None or bool(_UNFINISHED.fullmatch(path.name)) or _fingerprint(path) == fingerprint


def _fingerprint(path: Path) -> str:
    """A hash of a file's size and of both its ends: cheap for any map, and no other file has it by chance."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        digest = hashlib.sha256(b"%d " % size + file.read(_ENDS))
        file.seek(max(0, size - _ENDS))
        digest.update(file.read(_ENDS))
    return digest.hexdigest()[:32]


def write_marker(folder: Path, kind: str) -> None:
    """List what the folder holds."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    listed = {path.relative_to(folder).as_posix(): _fingerprint(path) for path in files}
    text = json.dumps({"written_by": "nadirfix", "kind": kind, "files": listed}, indent=1)
    (folder / MARKER).write_text(text + "\n", encoding="utf-8")


def _read_marker(path: Path) -> dict[str, Any] | None:
    try:
        marker: Any = None if path.is_symlink() else json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(marker, dict) or marker.get("written_by") != "nadirfix":
        return None
    return marker if "kind" in marker and isinstance(marker.get("files"), dict) else None


def remove_listed(old: Path, contents: Contents) -> None:
    """Remove what is listed and nothing else; a folder that is not empty then stays."""
    if not old.is_dir():
        old.unlink(missing_ok=True)
        return
    for here, below, names in os.walk(old, topdown=False):
        for name in names:
            if _listed_name((Path(here) / name).relative_to(old), contents) is not None:
                (Path(here) / name).unlink()
        for name in below:
            with suppress(OSError):
                (Path(here) / name).rmdir()
    with suppress(OSError):
        old.rmdir()
