"""``nadirfix world``: a place that never was, as two maps of different dates."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from nadirfix.world import World

__all__ = ["world"]


def world(
    out: Annotated[Path, typer.Option(help="Folder for old.tif and new.tif.")],
    *,
    size_km: Annotated[float, typer.Option(help="Side of the square, 0.5 to 10 km.")] = 3.0,
    gsd: Annotated[float, typer.Option(help="Metres of ground per pixel, 0.2 to 2.")] = 0.5,
    seed: Annotated[int, typer.Option(help="Another number is another place.")] = 0,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the folder if it is there.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")] = False,
) -> None:
    """Make a place that never was: one map of it, and another of a later date."""
    from nadirfix.cli.progress import progress_bar
    from nadirfix.geo.geotiff import write_geotiff
    from nadirfix.output import atomic_dir, check_target
    from nadirfix.world import make_world

    started = time.monotonic()
    check_target(out, overwrite=overwrite)
    with progress_bar(quiet) as progress:
        made = make_world(size_m=size_km * 1000, gsd_m=gsd, seed=seed, progress=progress)
        with atomic_dir(out, overwrite=overwrite) as folder:
            for k, name in enumerate(("old", "new")):
                progress("writing", k, 2)
                write_geotiff(folder / f"{name}.tif", getattr(made, name), affine=made.affine, epsg=made.epsg)
            progress("writing", 2, 2)
    summary = _summary(out, made) | {"seed": seed, "seconds": round(time.monotonic() - started, 1)}
    sys.stdout.write(json.dumps(summary) + "\n")


def _summary(out: Path, made: World) -> dict[str, Any]:
    rows, cols = made.old.shape[:2]
    gsd_m, west_m, north_m = made.affine[0], made.affine[2], made.affine[5]
    return {
        "old": str(out / "old.tif"),
        "new": str(out / "new.tif"),
        "epsg": made.epsg,
        "bounds": [west_m, north_m - rows * gsd_m, west_m + cols * gsd_m, north_m],
        "width_px": cols,
        "height_px": rows,
        "gsd_m": gsd_m,
    }
