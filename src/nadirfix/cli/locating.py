"""Placing photos from the command line: one answer per photo, whatever happens to the others."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from nadirfix.cli.messages import explain, remark
from nadirfix.cli.progress import progress_bar
from nadirfix.cli.tune import know_fastest
from nadirfix.errors import InputError, NadirfixError
from nadirfix.files import Progress, atomic_file, check_target, output_errors
from nadirfix.formats import csv_text, error_record, geojson_text, json_line, kml_text
from nadirfix.options.locate import LocateOptions, TagOptions
from nadirfix.parallel import cores, in_order

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle
    from nadirfix.types import Fix

__all__ = ["Asked", "Format", "place_photos"]

#: What counts as a photo when a folder is given.
_SUFFIXES = {".jpg", ".jpeg", ".jpe", ".png", ".tif", ".tiff", ".webp", ".jp2"}

#: From so many photos on it is worth some seconds to find out how they are placed fastest.
_MANY = 50

Record = dict[str, Any]
Write = Callable[[str], object]


class Format(StrEnum):
    """How answers are written."""

    JSONL = "jsonl"
    GEOJSON = "geojson"
    CSV = "csv"
    KML = "kml"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What ``nadirfix locate`` was asked for."""

    photos: list[str]
    bundle: Path
    camera: str | None = None
    altitude: str | None = None
    ground_height_m: float | None = None  # above the sea
    no_wce: bool = False
    no_verify: bool = False
    form: Format = Format.JSONL
    out: Path | None = None
    explain_in: Path | None = None
    overwrite: bool = False
    quiet: bool = False


def place_photos(asked: Asked) -> int:
    """Write an answer for every photo; the exit number that says how it went."""
    from nadirfix.altitude.prior import parse_altitude
    from nadirfix.camera import Camera

    taken_with = Camera.parse(asked.camera) if asked.camera else None
    altitude_m, sigma_m = parse_altitude(asked.altitude) if asked.altitude else (None, None)
    options = LocateOptions(
        weighted=not asked.no_wce,
        whole_frame=not asked.no_wce,
        verify=not asked.no_verify,
        tags=TagOptions(ground_height_m=asked.ground_height_m),
    )
    for target in (asked.out, asked.explain_in):
        if target is not None:
            check_target(target, overwrite=asked.overwrite)
    known = {"altitude_m": altitude_m, "altitude_sigma_m": sigma_m}
    expanded = _expanded(asked.photos)
    workers = _workers(expanded, asked.explain_in)
    settings = {"camera": taken_with, "options": options, **known}
    if len(expanded) >= _MANY:
        know_fastest(asked.bundle, quiet=asked.quiet)
    threads = 1 if workers > 1 else 0
    place = _placer(asked.bundle, asked.explain_in, threads=threads, photos=len(expanded), **settings)
    # Taken before the progress bar is drawn: the bar catches what is printed and sends it to stderr.
    with _sink(asked.out, overwrite=asked.overwrite) as write, progress_bar(asked.quiet) as progress:
        answers = in_order(lambda photo: _answer(photo, place), expanded, workers=workers)
        return _write_all(answers, len(expanded), asked.form, write, progress, quiet=asked.quiet)


def _workers(photos: list[str], explain_in: Path | None) -> int:
    """How many photos are placed at once: one on every core; explanations are drawn one by one."""
    return 1 if explain_in is not None else min(cores(), len(photos))


def _placer(
    bundle: Path, explain_in: Path | None, *, threads: int, photos: int, **settings: Any
) -> Callable[[str], Fix]:
    """ONNX Runtime and OpenCV are loaded here and not with the command line, and networks meanwhile."""
    from nadirfix.bundle import Bundle

    options: LocateOptions = settings["options"]
    opened = Bundle.load(bundle, threads=threads, photos=photos)
    with opened.networks_opening(altitude=options.crop, matcher=options.verify):
        from nadirfix.online import locate as locate_photo
        from nadirfix.online import open_parts
        from nadirfix.types import Point

        _ = opened.voter, opened.index
    open_parts(opened, options)  # here, so that no two photos do it at once
    Thread(target=lambda: Point(5e5, 5e6, opened.epsg).lonlat).start()  # PROJ, which is needed last
    taken: set[str] = set()

    def place(photo: str) -> Fix:
        fix = locate_photo(photo, bundle=opened, **settings)
        if explain_in is not None:
            shown = {name: settings[name] for name in ("camera", "options")}
            _explain(fix, _free_name(explain_in, photo, taken), opened, **shown)
        return fix

    return place


def _explain(fix: Fix, target: Path, bundle: Bundle, **settings: Any) -> None:
    from nadirfix.report.explain import write_explanation

    with output_errors(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
    write_explanation(target, fix.photo, fix, bundle=bundle, **settings)


def _free_name(folder: Path, photo: str, taken: set[str]) -> Path:
    """The photo's name as a picture; photos of one name in several folders are numbered."""
    stem, number = Path(photo).stem, 1
    while (name := stem if number == 1 else f"{stem}-{number}") in taken:
        number += 1
    taken.add(name)
    return folder / f"{name}.png"


def _write_all(
    answers: Iterable[tuple[Record, NadirfixError | None]],
    count: int,
    form: Format,
    write: Write,
    progress: Progress,
    *,
    quiet: bool,
) -> int:
    """Every photo's answer in the order given; the exit number that says how it went."""
    kept: list[Record] = []
    said: set[str] = set()
    worst = 0
    progress("locating", 0, count)
    for done, (record, error) in enumerate(answers, 1):
        progress("locating", done, count)
        _remark_on(record, error, said, quiet=quiet)
        if error is not None:
            worst = worst if worst == NadirfixError.exit_number else error.exit_number
        if form is Format.JSONL:
            write(json_line(record))
        else:
            kept.append(record)
    if form is not Format.JSONL:
        write(_document(kept, form))
    return worst


def _document(records: list[Record], form: Format) -> str:
    """All answers as one document, for formats that are one."""
    return {Format.GEOJSON: geojson_text, Format.CSV: csv_text, Format.KML: kml_text}[form](records)


def _answer(photo: str, place: Callable[[str], Fix]) -> tuple[Record, NadirfixError | None]:
    """The photo's record; what is wrong with one photo stays with that photo."""
    try:
        if Path(photo).is_dir():
            raise _no_photos(photo, f"no {', '.join(sorted(_SUFFIXES))} in it")
        return place(photo).to_dict(), None
    except InputError as error:
        return error_record(photo, error), error
    except NadirfixError:
        raise  # the bundle's fault would be every photo's
    except Exception as error:  # even a fault of ours belongs to one photo
        if os.environ.get("NADIRFIX_DEBUG") == "1":
            traceback.print_exc()
        ours = _unexpected(photo, error)
        return error_record(photo, ours), ours


def _remark_on(record: Record, error: NadirfixError | None, said: set[str], *, quiet: bool) -> None:
    """Tell the pilot what went wrong, and each warning once: a thousand photos may share it."""
    if error is not None:
        remark(explain(error).removeprefix("nadirfix: "), quiet=quiet)
    for warning in set(record.get("warnings", ())) - said:
        remark(f"{record['photo']}: {warning}", quiet=quiet)
        said.add(warning)


def _expanded(arguments: list[str]) -> list[str]:
    """Folders become their photos, sorted by name; one without any stays, to be told about in its turn."""
    return [photo for argument in arguments for photo in _inside(argument) or [argument]]


def _inside(argument: str) -> list[str]:
    folder = Path(argument)
    if not folder.is_dir() or not os.access(folder, os.R_OK | os.X_OK):
        return []
    files = (entry for entry in folder.iterdir() if entry.is_file())
    names = sorted(entry.name for entry in files if entry.suffix.lower() in _SUFFIXES)
    return [os.path.join(argument, name) for name in names]  # noqa: PTH118 (keeps the argument as typed)


@contextmanager
def _sink(out: Path | None, *, overwrite: bool) -> Iterator[Write]:
    """Where answers go: standard output line by line, or a file that appears when it is whole."""
    if out is None:
        yield _straight_to(sys.stdout)
        return
    with atomic_file(out, overwrite=overwrite) as scratch, scratch.open("w", encoding="utf-8") as file:
        yield file.write


def _straight_to(stream: Any) -> Write:
    """Each answer leaves at once, so that whoever listens need not wait for the last photo."""

    def write(text: str) -> None:
        stream.write(text)
        stream.flush()

    return write


def _no_photos(folder: str, why: str) -> InputError:
    return InputError(
        "photo.missing", "the folder holds no photos", seen=f"{folder} ({why})", do="name a folder of photos"
    )


def _unexpected(photo: str, error: Exception) -> NadirfixError:
    return NadirfixError(
        "internal.error",
        "nadirfix did not expect this",
        seen=f"{photo}: {type(error).__name__}: {error}",
        do="run it again with this photo alone and NADIRFIX_DEBUG=1, and report what it prints",
    )
