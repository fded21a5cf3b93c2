"""``nadirfix world``: a place that never was, as two maps of different dates."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from nadirfix.cli.common import Overwrite, Quiet, print_result
from nadirfix.options.map import WorldOptions

__all__ = ["world"]

_DEFAULT = WorldOptions()


def world(
    *,
    out: Annotated[Path, typer.Option(help="Folder for old.tif and new.tif.")],
    size_km: Annotated[float, typer.Option(help="Side in km, 0.5 to 10.")] = _DEFAULT.size_m / 1000,
    gsd: Annotated[float, typer.Option(help="Metres of ground per pixel, 0.2 to 2.")] = _DEFAULT.gsd_m,
    seed: Annotated[int, typer.Option(help="Another number is another place.")] = _DEFAULT.seed,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Make a place that never was: one map of it, and another of a later date."""
    from nadirfix.cli.progress import progress_bar
    from nadirfix.world.files import write_world

    started_s = time.monotonic()
    with progress_bar(quiet) as progress:
        made = write_world(
            out, size_m=size_km * 1000, gsd_m=gsd, seed=seed, overwrite=overwrite, progress=progress
        )
    print_result(made | {"seconds": round(time.monotonic() - started_s, 1)})
