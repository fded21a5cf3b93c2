"""Locates photos from the command line: one answer per photo, whatever happens to the others."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from nadirfix.cli.messages import error_line, print_note, stdout_writer
from nadirfix.cli.photo_arguments import STANDARD_INPUT, check_no_folder, expand_folders, photo_source
from nadirfix.cli.progress import progress_bar
from nadirfix.cli.tune import ensure_benchmarked
from nadirfix.errors import InputError, NadirfixError, out_of_memory
from nadirfix.files import Progress, atomic_file, check_folder, check_target, output_errors
from nadirfix.formats import csv_text, error_record, geojson_text, json_line, kml_text, own_answers
from nadirfix.options.locate import LocateOptions, PriorOptions, TagOptions
from nadirfix.parallel import cores, map_in_order

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle
    from nadirfix.image.photo_source import Photo
    from nadirfix.prior import Prior
    from nadirfix.types import Fix

__all__ = ["Format", "LocateArguments", "locate_photos"]

#: From so many photos on it is worth some seconds to measure which backend is fastest.
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
class LocateArguments:
    """The arguments of ``nadirfix locate``."""

    photos: list[str]
    bundle: Path
    camera: str | None = None
    altitude: str | None = None
    near: str | None = None
    heading: str | None = None
    gimbal: str | None = None
    priors: Path | None = None
    use_exif_position: bool = False
    ground_height_m: float | None = None  # above the sea
    takeoff_height_m: float | None = None  # above the sea
    no_wce: bool = False
    no_vote: bool = False
    no_verify: bool = False
    output_format: Format = Format.JSONL
    out: Path | None = None
    explain_dir: Path | None = None
    overwrite: bool = False
    quiet: bool = False


def locate_photos(arguments: LocateArguments) -> int:
    """Write an answer for every photo; the exit number that says how it went."""
    from nadirfix.camera import Camera

    camera = Camera.parse(arguments.camera) if arguments.camera else None
    photos = expand_folders(arguments.photos)
    settings = {"camera": camera, "options": _options(arguments), "priors": _priors(arguments, photos)}
    _check_outputs(arguments, photos)
    workers = _workers(photos, arguments.explain_dir)
    if len(photos) >= _MANY:
        ensure_benchmarked(arguments.bundle, quiet=arguments.quiet)
    threads = 1 if workers > 1 else 0
    pictures = {} if arguments.explain_dir is None else _pictures(arguments.explain_dir, photos)
    locate_one = _make_locator(arguments.bundle, pictures, threads=threads, photos=len(photos), **settings)
    # Taken before the progress bar is drawn: the bar catches what is printed and sends it to stderr.
    with (
        _open_output(arguments.out, overwrite=arguments.overwrite) as write,
        progress_bar(arguments.quiet) as progress,
    ):
        answers = map_in_order(lambda photo: _answer(photo, locate_one), photos, workers=workers)
        return _write_all(
            answers, len(photos), arguments.output_format, write, progress, quiet=arguments.quiet
        )


def _check_outputs(arguments: LocateArguments, photos: list[str]) -> None:
    """Refuse, before anything is located, what must not be written: nothing but our own is replaced."""
    inputs = [Path(photo) for photo in photos if photo != STANDARD_INPUT]
    inputs += [path for path in (arguments.bundle, arguments.priors) if path is not None]
    if arguments.out is not None:
        overwrite = arguments.overwrite
        check_target(arguments.out, overwrite=overwrite, recognise=own_answers, inputs=inputs)
    if arguments.explain_dir is None:
        return
    check_folder(arguments.explain_dir, overwrite=arguments.overwrite)
    if arguments.explain_dir.exists():
        _check_pictures(_pictures(arguments.explain_dir, photos), inputs)


def _check_pictures(pictures: dict[str, Path], inputs: list[Path]) -> None:
    from nadirfix.report.png import own_picture

    used = {path.resolve() for path in inputs}
    for picture in pictures.values():
        inside = [picture] if picture.resolve() in used else []
        check_target(picture, overwrite=True, recognise=own_picture, inputs=inside)


def _options(arguments: LocateArguments) -> LocateOptions:
    """Each switch turns off one thing: the weighted coordinate, the votes, the verification."""
    return LocateOptions(
        weighted=not arguments.no_wce,
        whole_frame=False if arguments.no_vote else None,
        verify=not arguments.no_verify,
        tags=TagOptions(
            ground_height_m=arguments.ground_height_m, takeoff_height_m=arguments.takeoff_height_m
        ),
        priors=PriorOptions(exif_position=arguments.use_exif_position),
    )


def _priors(arguments: LocateArguments, photos: list[str]) -> dict[str, Prior]:
    """What is known of each photo: by the list, and where that says nothing, by the options."""
    from nadirfix.altitude.prior import above_ground, parse_altitude_prior
    from nadirfix.photo_list import read_priors
    from nadirfix.prior import Prior, parse_gimbal_prior, parse_heading, parse_near

    written = (
        (parse_near, arguments.near),
        (parse_heading, arguments.heading),
        (parse_gimbal_prior, arguments.gimbal),
        (parse_altitude_prior, arguments.altitude),
    )
    given = Prior()
    for parse, text in written:
        given = given if text is None else parse(text).over(given)
    given = above_ground(given, _options(arguments).tags)
    listed = read_priors(arguments.priors, photos) if arguments.priors else {}
    return {photo: listed.get(photo, Prior()).over(given) for photo in photos}


def _workers(photos: list[str], explain_dir: Path | None) -> int:
    """How many photos are located at the same time: one per core; explanations are drawn one by one."""
    return 1 if explain_dir is not None else min(cores(), len(photos))


def _make_locator(
    bundle: Path, pictures: dict[str, Path], *, threads: int, photos: int, **settings: Any
) -> Callable[[str], Fix]:
    """ONNX Runtime and OpenCV are imported here, not with the command line, while networks are loading."""
    from nadirfix.bundle import Bundle
    from nadirfix.bundle.plan import Plan

    options: LocateOptions = settings["options"]
    priors: dict[str, Prior] = settings.pop("priors")
    opened = Bundle.load(bundle, threads=threads, photos=photos)
    plan = Plan.of(opened, options, altitude_given=any(p.altitude_m is not None for p in priors.values()))
    with opened.networks_opening(plan):
        from nadirfix.online import locate as locate_photo
        from nadirfix.online import open_networks
        from nadirfix.types import Point

        _ = opened.cell_classifier, opened.index
    open_networks(opened, plan)  # here, so that no two photos open them at the same time
    Thread(target=lambda: Point(5e5, 5e6, opened.epsg).lonlat).start()  # PROJ, which is needed last

    def locate_one(photo: str) -> Fix:
        source = photo_source(photo)
        fix = locate_photo(source, bundle=opened, prior=priors[photo], **settings)
        if photo in pictures:
            _explain(source, fix, pictures[photo], opened, **settings)
        return replace(fix, photo=photo)

    return locate_one


def _explain(source: Photo, fix: Fix, target: Path, bundle: Bundle, **settings: Any) -> None:
    from nadirfix.report.explain import write_explanation

    with output_errors(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
    write_explanation(target, source, fix, bundle=bundle, **settings)


def _pictures(folder: Path, photos: list[str]) -> dict[str, Path]:
    """The picture of each photo: its name; photos of the same name in several folders are numbered."""
    pictures: dict[str, Path] = {}
    used_names: set[str] = set()
    for photo in dict.fromkeys(photos):
        name = stem = Path(photo).stem
        number = 1
        while name in used_names:
            number += 1
            name = f"{stem}-{number}"
        used_names.add(name)
        pictures[photo] = folder / f"{name}.png"
    return pictures


def _write_all(
    answers: Iterable[tuple[Record, NadirfixError | None]],
    count: int,
    output_format: Format,
    write: Write,
    progress: Progress,
    *,
    quiet: bool,
) -> int:
    """Every photo's answer in the order given; the exit number that says how it went."""
    records: list[Record] = []
    printed: set[str] = set()
    exit_number = 0
    progress("locating", 0, count)
    for done, (record, error) in enumerate(answers, 1):
        progress("locating", done, count)
        _print_problems(record, error, printed, quiet=quiet)
        if error is not None:
            exit_number = exit_number if exit_number == NadirfixError.exit_number else error.exit_number
        if output_format is Format.JSONL:
            write(json_line(record))
        else:
            records.append(record)
    if output_format is not Format.JSONL:
        write(_document(records, output_format))
    return exit_number


def _document(records: list[Record], output_format: Format) -> str:
    """All answers as one document, for formats that are one."""
    return {Format.GEOJSON: geojson_text, Format.CSV: csv_text, Format.KML: kml_text}[output_format](records)


def _answer(photo: str, locate_one: Callable[[str], Fix]) -> tuple[Record, NadirfixError | None]:
    """The photo's record; an error in one photo does not affect the others."""
    try:
        check_no_folder(photo)
        return locate_one(photo).to_dict(), None
    except InputError as error:
        return error_record(photo, error), error
    except NadirfixError:
        raise  # an error of the bundle would be every photo's
    except Exception as error:  # even a fault of ours concerns one photo
        if os.environ.get("NADIRFIX_DEBUG") == "1":
            traceback.print_exc()
        internal = _unexpected(photo, error)
        return error_record(photo, internal), internal


def _print_problems(record: Record, error: NadirfixError | None, printed: set[str], *, quiet: bool) -> None:
    """Print what went wrong, and each warning once: a thousand photos may share it."""
    if error is not None:
        print_note(error_line(error).removeprefix("nadirfix: "), quiet=quiet)
    for warning in set(record.get("warnings", ())) - printed:
        print_note(f"{record['photo']}: {warning}", quiet=quiet)
        printed.add(warning)


@contextmanager
def _open_output(out: Path | None, *, overwrite: bool) -> Iterator[Write]:
    """Where answers go: standard output line by line, or a file that appears when it is whole."""
    if out is None:
        yield stdout_writer()
        return
    with (
        atomic_file(out, overwrite=overwrite, recognise=own_answers) as scratch,
        scratch.open("w", encoding="utf-8") as file,
    ):
        yield file.write


def _unexpected(photo: str, error: Exception) -> NadirfixError:
    return out_of_memory(error, seen=photo) or NadirfixError(
        "internal.error",
        "nadirfix did not expect this",
        seen=f"{photo}: {type(error).__name__}: {error}",
        do="run it again with this photo alone and NADIRFIX_DEBUG=1, and report what it prints",
    )
