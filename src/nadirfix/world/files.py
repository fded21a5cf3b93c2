"""A world as files: the two maps in one folder, whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nadirfix.files import Progress, atomic_dir, check_target, quiet
from nadirfix.files.owned import marked
from nadirfix.geo.geotiff import write_geotiff
from nadirfix.world.make import World, make_world

__all__ = ["KIND", "write_world"]

#: What the marker in the folder says.
KIND = "world"


def write_world(
    folder: Path,
    *,
    size_m: float,
    gsd_m: float,
    seed: int,
    overwrite: bool = False,
    progress: Progress = quiet,
) -> dict[str, Any]:
    """Make a world and write it as old.tif and new.tif; says what was written and where it lies."""
    check_target(folder, overwrite=overwrite, recognise=marked(KIND))
    made = make_world(size_m=size_m, gsd_m=gsd_m, seed=seed, progress=progress)
    with atomic_dir(folder, kind=KIND, overwrite=overwrite) as scratch:
        for k, (name, pixels) in enumerate({"old": made.old, "new": made.new}.items()):
            progress("writing", k, 2)
            write_geotiff(scratch / f"{name}.tif", pixels, affine=made.affine, epsg=made.epsg)
        progress("writing", 2, 2)
    return _summary(folder, made) | {"seed": seed}


def _summary(folder: Path, made: World) -> dict[str, Any]:
    rows, cols = made.old.shape[:2]
    gsd_m, west_m, north_m = made.affine[0], made.affine[2], made.affine[5]
    return {
        "old": str(folder / "old.tif"),
        "new": str(folder / "new.tif"),
        "epsg": made.epsg,
        "bounds": [west_m, north_m - rows * gsd_m, west_m + cols * gsd_m, north_m],
        "width_px": cols,
        "height_px": rows,
        "gsd_m": gsd_m,
    }
