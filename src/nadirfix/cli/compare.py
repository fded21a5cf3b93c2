"""``nadirfix compare``: other methods of place recognition on the same map and photos, beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from nadirfix.camera import Camera
from nadirfix.cli.common import Overwrite, Quiet, print_note, print_result
from nadirfix.cli.evaluate import SourceFormat
from nadirfix.cli.progress import progress_bar
from nadirfix.cli.tables import print_methods
from nadirfix.errors import InputError
from nadirfix.options.recipe import load_recipe

__all__ = ["KnownFrom", "compare"]

#: A log hears from long work at least this often.
_HEARTBEAT_S = 4.0


class KnownFrom(StrEnum):
    """How the scale of photos is known."""

    estimated = "estimated"
    true = "true"
    none = "none"


_Source = Annotated[Path, typer.Argument(metavar="MANIFEST|DIR", help="Photos with their truth.")]
_Maps = Annotated[
    list[Path], typer.Option("--map", metavar="MAP", help="The map; may be repeated for several files.")
]
_Out = Annotated[Path, typer.Option(metavar="DIR", help="Folder for bundle, answers, table and report.")]
_Methods = Annotated[
    str, typer.Option(metavar="A,B,C", help="Which; compared with the first. Else all that can run.")
]
_Weights = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=PATH", help="The checkpoint of a published method; may be repeated."),
]
_Altitude = Annotated[KnownFrom, typer.Option(help="How the scale of photos is known.")]
_Recipe = Annotated[str, typer.Option(metavar="NAME|FILE", help="How references and our own rows are made.")]
_Camera = Annotated[
    str | None, typer.Option(metavar="WxH@F|FILE", help="The photos' camera; else their own tags.")
]
_Kind = Annotated[SourceFormat, typer.Option("--format", help="How the photos say where they were taken.")]
_Epsg = Annotated[int | None, typer.Option(help="Coordinate system of names without a zone.")]
_Resume = Annotated[
    bool, typer.Option("--resume", help="Go on with a comparison that was stopped, or add methods to it.")
]


def compare(
    source: _Source,
    maps: _Maps,
    out: _Out,
    *,
    methods: _Methods = "",
    weights: _Weights = None,
    altitude: _Altitude = KnownFrom.estimated,
    recipe: _Recipe = "standard",
    camera: _Camera = None,
    kind: _Kind = SourceFormat.auto,
    epsg: _Epsg = None,
    resume: _Resume = False,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Locate the same photos with several methods, and say which is better and how sure that is."""
    from nadirfix.evaluation.datasets import read_queries

    rows = read_queries(source, kind=kind.value, epsg=epsg)
    settings = {
        "maps": maps,
        "methods": [name.strip() for name in methods.split(",") if name.strip()],
        "altitude": altitude.value,
        "recipe": load_recipe(recipe),
        "camera": Camera.parse(camera) if camera else None,
    }
    folder = source if source.is_dir() else source.parent
    run = {"folder": folder, "resume": resume, "overwrite": overwrite}
    with progress_bar(quiet, heartbeat_s=_HEARTBEAT_S) as progress:
        table = _run(rows, settings, weights or [], out, progress=progress, **run)
    _print_summary(table, out, quiet=quiet)
    print_result({"out": str(out), **table})
    if any(row.get("errors") for row in table["methods"]):
        raise typer.Exit(InputError.exit_number)


def _run(rows: Any, settings: Mapping[str, Any], weights: list[str], out: Path, **run: Any) -> Any:
    """Networks are imported here, not with the command line."""
    from nadirfix.evaluation.methods.registry import parsed_weights
    from nadirfix.evaluation.study.methods import MethodStudy, run_methods

    return run_methods(rows, MethodStudy(weights=parsed_weights(weights), **settings), out, **run)


def _print_summary(table: Mapping[str, Any], out: Path, *, quiet: bool) -> None:
    if not quiet:
        print_methods(table)
    waiting = [row["name"] for row in table["methods"] if not row["measured"]]
    if waiting:
        print_note(f"await a checkpoint (--weights NAME=PATH): {', '.join(waiting)}", quiet=quiet)
    print_note(f"look at {out / 'report.html'}", quiet=quiet)
