"""The large things inside a block: halls, shops, a church, car parks, sports grounds, solar parks."""

from __future__ import annotations

import math

import numpy as np

from nadirfix.world.boxes import Box, OccupancyGrid, Placement, Rgb, changes, pick
from nadirfix.world.layout import Array
from nadirfix.world.parcels import Block

__all__ = ["fill_block", "park_car"]

_FLATS: tuple[Rgb, ...] = ((176, 174, 168), (150, 148, 146), (196, 194, 188), (128, 126, 122))
_HALLS: tuple[Rgb, ...] = ((188, 192, 196), (150, 160, 168), (136, 96, 84), (170, 170, 160), (206, 206, 204))
_ASPHALT: tuple[Rgb, ...] = ((92, 94, 98), (112, 112, 112), (130, 126, 120))
_CARS: tuple[Rgb, ...] = (
    (220, 220, 222),
    (196, 198, 202),
    (56, 58, 62),
    (84, 88, 94),
    (120, 30, 30),
    (40, 62, 104),
    (150, 152, 156),
    (30, 32, 36),
    (240, 240, 240),
    (96, 104, 84),
)
_STALL_M, _AISLE_M = 2.6, 16.4
#: What is tried on a block of each use, as often as it is named.
_FEATURES_BY_USE = {
    "works": ("hall",) * 12 + ("parking",) * 5 + ("flat",) * 6 + ("tank",) * 4,
    "centre": ("church", "parking", "flat", "block", "parking", "block", "flat", "block"),
    "park": ("pitch", "court", "court", "flat", "parking"),
    "housing": (),
    "field": ("panels", "greenhouse"),
    "meadow": ("panels",),
}
_RARE = {"church": 0.12, "pitch": 0.7, "panels": 0.035, "greenhouse": 0.03}


def fill_block(boxes: list[Box], occupancy: OccupancyGrid, block: Block, rng: np.random.Generator) -> None:
    """Try the things that belong on a block of this use, each at a few places."""
    for feature in _FEATURES_BY_USE.get(block.use, ()):
        if rng.random() > _RARE.get(feature, 1.0):
            continue
        for _ in range(7):
            placement = _somewhere(block, rng)
            if _place(boxes, occupancy, feature, placement, rng):
                break


def _somewhere(block: Block, rng: np.random.Generator) -> Placement:
    reach_u, reach_v = 0.36 * np.ptp(block.outline, axis=0)
    middle = Placement(block.x_m, block.y_m, block.angle)
    placement = middle.moved(float(rng.uniform(-reach_u, reach_u)), float(rng.uniform(-reach_v, reach_v)))
    return placement.turned() if rng.random() < 0.35 else placement


def _place(
    boxes: list[Box], occupancy: OccupancyGrid, feature: str, placement: Placement, rng: np.random.Generator
) -> bool:
    box = _feature(feature, placement, rng)
    if not occupancy.is_free(box, grown_m=2.5):
        return False
    if feature in ("hall", "flat", "block"):
        boxes.append(_apron(box, rng))
    boxes.append(box)
    occupancy.take(box, grown_m=2)
    if feature == "parking":
        _park(boxes, box, rng)
    if feature == "church":
        tower = placement.moved(0.5 * box.length_m + 2.5, 0)
        boxes.append(Box.on(tower, "hip", (6.5, 6.5), box.rgb, eave_m=17.0, rise_m=7.0))
    return True


def _feature(feature: str, placement: Placement, rng: np.random.Generator) -> Box:
    salt = int(rng.integers(1 << 30))
    here = changes(rng)
    if feature == "parking":
        size = _STALL_M * int(rng.integers(7, 22)), _AISLE_M * int(rng.integers(1, 4))
        return Box.on(placement, "parking", size, pick(_ASPHALT, rng))
    if feature in ("pitch", "court"):
        size = (100.0, 64.0) if feature == "pitch" else (36.0, 18.0)
        return Box.on(placement, feature, size, (96, 126, 62) if feature == "pitch" else (164, 98, 72))
    if feature in ("panels", "greenhouse"):
        size = rng.uniform(60, 130), rng.uniform(40, 90)
        return Box.on(
            placement, feature, size, (44, 54, 82) if feature == "panels" else (206, 212, 208), here=here
        )
    if feature == "church":
        return Box.on(placement, "gable", (26.0, 12.0), (118, 84, 70), eave_m=9.0, rise_m=6.0, salt=salt)
    if feature == "tank":
        return Box.on(placement, "tank", (r := rng.uniform(7, 15), r), (206, 206, 202), eave_m=8.0, salt=salt)
    size = {"hall": (rng.uniform(26, 64), rng.uniform(16, 34)), "flat": (rng.uniform(16, 36), 12.0)}.get(
        feature, (rng.uniform(22, 40), rng.uniform(13, 18))
    )
    kind, palette = ("hall", _HALLS) if feature == "hall" else ("flat", _FLATS)
    tall = {"eave_m": rng.uniform(5, 13), "rise_m": 1.2}
    return Box.on(placement, kind, size, pick(palette, rng), here=here, salt=salt, **tall)


def _apron(box: Box, rng: np.random.Generator) -> Box:
    """Paved ground around a large building."""
    rgb = pick(((138, 136, 132), (118, 118, 118), (156, 150, 140)), rng)
    pad = rng.uniform(2, 7)
    return Box.on(
        box.placement, "paving", (box.length_m + 2 * pad, box.width_m + 2 * pad), rgb, salt=box.salt
    )


def _park(boxes: list[Box], lot: Box, rng: np.random.Generator) -> None:
    """Fill a car park, as busy as each day is."""
    busy = rng.uniform(0.15, 0.9, 2)
    rows = round(lot.width_m / _AISLE_M)
    for row, side, k in np.ndindex(rows, 2, round(lot.length_m / _STALL_M)):
        u = -0.5 * lot.length_m + (k + 0.5) * _STALL_M + rng.normal(0, 0.12)
        v = (row - (rows - 1) / 2) * _AISLE_M + (2 * side - 1) * 5.6 + rng.normal(0, 0.25)
        park_car(boxes, lot.placement.moved(u, v).turned(), busy, rng)


def park_car(boxes: list[Box], placement: Placement, busy: Array, rng: np.random.Generator) -> None:
    """One car at some dates and another, or none, at others."""
    for date in (0, 1):
        if rng.random() < busy[date]:
            here = (date == 0, date == 1)
            facing = placement.angle + math.pi * (rng.random() < 0.5) + rng.normal(0, 0.03)
            boxes.append(_car(placement._replace(angle=facing), here, rng))


def _car(placement: Placement, here: tuple[bool, bool], rng: np.random.Generator) -> Box:
    if rng.random() < 0.08:
        return Box.on(placement, "car", (5.8, 2.0), (232, 232, 230), eave_m=2.3, here=here)
    return Box.on(placement, "car", (rng.uniform(4.0, 4.8), 1.8), pick(_CARS, rng), eave_m=1.45, here=here)
