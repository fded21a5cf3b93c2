"""``nadirfix relabel``: how far the places of a test set are off, and corrected ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from nadirfix.camera import Camera
from nadirfix.cli.common import Overwrite, Quiet, print_note, print_result
from nadirfix.cli.evaluate import SourceFormat
from nadirfix.cli.progress import progress_bar
from nadirfix.errors import InputError
from nadirfix.options.verify import LabelOptions

__all__ = ["relabel"]

_DEFAULT = LabelOptions()


def relabel(
    source: Annotated[Path, typer.Argument(metavar="MANIFEST|DIR", help="Photos with their labels.")],
    bundle: Annotated[Path, typer.Option(metavar="NAME.nadir", help="The bundle of the map to trust.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the corrected manifest.")],
    *,
    camera: Annotated[
        str | None, typer.Option(metavar="WxH@F|FILE", help="The photos' camera; else their own tags.")
    ] = None,
    reach: Annotated[
        float, typer.Option(metavar="M", help="How many metres off labels may be.")
    ] = _DEFAULT.reach_m,
    region: Annotated[
        float, typer.Option(metavar="M", help="Side of the squares that offsets are reported for.")
    ] = _DEFAULT.region_m,
    kind: Annotated[
        SourceFormat, typer.Option("--format", help="How the photos say where they were taken.")
    ] = SourceFormat.auto,
    epsg: Annotated[int | None, typer.Option(help="Coordinate system of names without a zone.")] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Measure how far labels are off, region by region, and write corrected ones with a deviation."""
    options = LabelOptions(reach_m=reach, region_m=region)
    rows = _labels(source, kind=kind.value, epsg=epsg)
    photo_camera = Camera.parse(camera) if camera else None
    with progress_bar(quiet) as progress:
        settings = {"camera": photo_camera, "options": options, "overwrite": overwrite}
        offsets = _run(rows, bundle, out, source=source, progress=progress, **settings)
    _print_summary(offsets, out, quiet=quiet)
    print_result({"out": str(out), **offsets})
    if offsets["unreadable"]:
        raise typer.Exit(InputError.exit_number)


def _labels(source: Path, **naming: Any) -> Any:
    """Photos and their labels; numpy is imported here, not with the command line."""
    from nadirfix.evaluation.datasets import read_queries

    return read_queries(source, **naming)


def _run(rows: Any, bundle: Path, out: Path, **settings: Any) -> Any:
    """ONNX Runtime and OpenCV are imported here, not with the command line."""
    from nadirfix.bundle import Bundle
    from nadirfix.evaluation.study.relabel import run_relabel

    return run_relabel(rows, Bundle.load(bundle), out, **settings)


def _print_summary(offsets: Mapping[str, Any], out: Path, *, quiet: bool) -> None:
    print_note(f"{offsets['matched']} of {offsets['photos']} photos found on the map", quiet=quiet)
    if offsets["east_m"] is not None:
        off = f"{offsets['east_m']:+.1f} m east, {offsets['north_m']:+.1f} m north"
        print_note(
            f"labels are off by {off} in the median, {offsets['residual_m']:.1f} m around that", quiet=quiet
        )
    if offsets["unreadable"]:
        print_note(f"{offsets['unreadable']} photos could not be used; their labels are kept", quiet=quiet)
    print_note(f"look at {out / 'labels.png'}", quiet=quiet)
