"""Making the two pictures of a world, tile by tile, on all cores."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from nadirfix.errors import InputError
from nadirfix.files import Progress, quiet
from nadirfix.parallel import cores
from nadirfix.world.light import SHADOW_M, photographed
from nadirfix.world.paint_boxes import paint_boxes, paint_yards
from nadirfix.world.paint_land import paint_land
from nadirfix.world.paint_plants import paint_plants
from nadirfix.world.paint_roads import paint_river, paint_roads
from nadirfix.world.plan import WorldPlan, make_plan
from nadirfix.world.tile import Tile

__all__ = ["World", "make_world"]

_EPSG = 32633
_WEST_M, _NORTH_M = 452_000.0, 5_412_000.0
_TILE_PX = 1024


@dataclass(frozen=True, eq=False)
class World:
    """One place at two dates: pictures (height, width, 3), and the map coordinates of their pixels.

    ``affine`` is map_from_pixel in the order a, b, c, d, e, f: x = a·col + b·row + c, y = d·col + e·row + f.
    """

    old: NDArray[np.uint8]
    new: NDArray[np.uint8]
    affine: tuple[float, float, float, float, float, float]
    epsg: int


@dataclass(frozen=True)
class _TileJob:
    date: int
    row_px: int
    col_px: int
    height_px: int
    width_px: int


def make_world(*, size_m: float, gsd_m: float, seed: int, progress: Progress = quiet) -> World:
    """Make a place that never was, seen from above at two dates."""
    _check(size_m, gsd_m, seed)
    side_px = round(size_m / gsd_m)
    progress("planning the place", 0, 1)
    plan = make_plan(size_m=size_m, seed=seed)
    progress("planning the place", 1, 1)
    pictures = [np.zeros((side_px, side_px, 3), np.uint8) for _ in range(2)]
    jobs = list(_jobs(side_px))
    with ThreadPoolExecutor(min(cores(), 8)) as pool:
        painted = pool.map(lambda job: _paint(plan, job, gsd_m), jobs)
        for k, (job, pixels) in enumerate(zip(jobs, painted, strict=True)):
            rows, cols = (
                slice(job.row_px, job.row_px + job.height_px),
                slice(job.col_px, job.col_px + job.width_px),
            )
            pictures[job.date][rows, cols] = pixels
            progress("painting", k + 1, len(jobs))
    return World(pictures[0], pictures[1], (gsd_m, 0.0, _WEST_M, 0.0, -gsd_m, _NORTH_M), _EPSG)


def _check(size_m: float, gsd_m: float, seed: int) -> None:
    fits = 500 <= size_m <= 10_000 and 0.05 <= gsd_m <= 2.0 and size_m / gsd_m <= 20_000 and seed >= 0
    if not fits:
        raise InputError(
            "options.invalid",
            "a world of this size cannot be made",
            seen=f"{size_m / 1000:g} km at {gsd_m:g} m per pixel, seed {seed}",
            do="choose 0.5 to 10 km, 0.05 to 2 m per pixel, at most 20000 pixels a side, a seed from 0",
        )


def _jobs(side_px: int) -> Iterator[_TileJob]:
    starts = range(0, side_px, _TILE_PX)
    for date, row, col in product((0, 1), starts, starts):
        yield _TileJob(date, row, col, min(_TILE_PX, side_px - row), min(_TILE_PX, side_px - col))


def _paint(plan: WorldPlan, job: _TileJob, gsd_m: float) -> NDArray[np.uint8]:
    """One tile, painted with a margin so that shadows and blur come in from outside."""
    margin_px = math.ceil(SHADOW_M / gsd_m) + 2
    tile = Tile(
        (job.col_px - margin_px) * gsd_m,
        (job.row_px - margin_px) * gsd_m,
        gsd_m,
        job.width_px + 2 * margin_px,
        job.height_px + 2 * margin_px,
        job.date,
        plan.noise,
    )
    for painter in (paint_land, paint_river, paint_yards, paint_roads, paint_boxes, paint_plants):
        painter(tile, plan)
    inner = slice(margin_px, margin_px + job.height_px), slice(margin_px, margin_px + job.width_px)
    return photographed(tile, plan)[inner]
