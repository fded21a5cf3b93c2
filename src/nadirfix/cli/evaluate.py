"""``nadirfix evaluate``: how good the answers are, as numbers, a table and a page to look at."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from nadirfix.camera import Camera
from nadirfix.cli.common import Overwrite, Quiet, print_note, print_result
from nadirfix.cli.progress import progress_bar
from nadirfix.cli.tables import print_ablation, print_comparison
from nadirfix.errors import InputError

__all__ = ["SourceFormat", "evaluate"]


class SourceFormat(StrEnum):
    """How the photos say where they were taken."""

    auto = "auto"
    manifest = "manifest"
    utm_names = "utm-names"
    ae_vpr = "ae-vpr"
    uav_visloc = "uav-visloc"


def evaluate(
    source: Annotated[Path, typer.Argument(metavar="MANIFEST|DIR", help="Photos with their truth.")],
    bundle: Annotated[Path, typer.Option(metavar="NAME.nadir", help="The bundle to evaluate.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for metrics, queries and report.")],
    *,
    camera: Annotated[
        str | None, typer.Option(metavar="WxH@F|FILE", help="The photos' camera; else their own tags.")
    ] = None,
    use_exif_pose: Annotated[
        bool, typer.Option("--use-exif-pose", help="Take the altitude from the photos' tags.")
    ] = False,
    ablate: Annotated[
        bool, typer.Option("--ablate", help="Also train variants and compare: the method's own tables.")
    ] = False,
    kind: Annotated[
        SourceFormat, typer.Option("--format", help="How the photos say where they were taken.")
    ] = SourceFormat.auto,
    epsg: Annotated[int | None, typer.Option(help="Coordinate system of names without a zone.")] = None,
    device: Annotated[str, typer.Option(help="Where --ablate trains: auto, cpu or cuda.")] = "auto",
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an evaluation that was stopped.")
    ] = False,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Locate every photo of a test set and measure: metrics.json, queries.csv, report.html."""
    from nadirfix.evaluation.datasets import read_queries

    rows = read_queries(source, kind=kind.value, epsg=epsg)
    with progress_bar(quiet) as progress:
        given_camera = Camera.parse(camera) if camera else None
        locator = _locator(bundle, camera=given_camera, exif_pose=use_exif_pose)
        folder = source if source.is_dir() else source.parent
        study = {"ablate": ablate, "device": device, "resume": resume, "overwrite": overwrite}
        metrics = _run(rows, locator, out, folder=folder, progress=progress, **study)
    _print_summary(metrics, out, quiet=quiet)
    print_result({"out": str(out), **metrics})
    _exit_on_errors(metrics)


def _locator(bundle: Path, **photos: Any) -> Any:
    """Networks are imported here, not with the command line."""
    from nadirfix.bundle import Bundle
    from nadirfix.evaluation.study.run import Locator

    return Locator(bundle=Bundle.load(bundle), **photos)


def _run(rows: Any, locator: Any, out: Path, **settings: Any) -> Any:
    """Plots are imported here, not with the command line."""
    from nadirfix.evaluation.study.evaluation import run_evaluation

    return run_evaluation(rows, locator, out, **settings)


def _print_summary(metrics: Mapping[str, Any], out: Path, *, quiet: bool) -> None:
    if not quiet:
        print_comparison(metrics["comparison"])
        if "ablation" in metrics:
            print_ablation(metrics["ablation"])
    if metrics["errors"]:
        codes = ", ".join(f"{code} {count} times" for code, count in metrics["error_codes"].items())
        print_note(f"{metrics['errors']} photos could not be used: {codes}", quiet=quiet)
    print_note(f"look at {out / 'report.html'}", quiet=quiet)


def _exit_on_errors(metrics: Mapping[str, Any]) -> None:
    """Photos that could not be used end with the exit number of an input error, as everywhere."""
    if metrics["errors"]:
        raise typer.Exit(InputError.exit_number)
