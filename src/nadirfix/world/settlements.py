"""Settlements: plots with houses along the streets, second rows behind them, farms along the lanes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from nadirfix.world.boxes import BOTH, Box, OccupancyGrid, Placement, Rgb, changes, pick
from nadirfix.world.layout import Array
from nadirfix.world.parcels import Block
from nadirfix.world.roads import Road, along
from nadirfix.world.yards import fill_block, park_car

__all__ = ["Settlement", "place_buildings"]

_ROOFS: tuple[Rgb, ...] = (
    (158, 92, 70),
    (168, 104, 80),
    (140, 82, 66),
    (176, 120, 96),
    (120, 78, 66),
    (104, 98, 96),
    (84, 82, 86),
    (134, 124, 116),
    (150, 88, 66),
    (112, 86, 74),
)
_BARNS: tuple[Rgb, ...] = ((188, 190, 190), (150, 156, 160), (136, 96, 84), (152, 110, 92), (110, 104, 100))
_PAVED: tuple[Rgb, ...] = ((160, 154, 146), (140, 138, 136), (176, 164, 148), (120, 118, 116))
_GREENS: tuple[Rgb, ...] = ((98, 112, 66), (112, 116, 74), (90, 104, 60))
_YARD: dict[str, tuple[tuple[float, float], Rgb]] = {
    "shed": ((4.2, 3.0), (126, 108, 92)),
    "pool": ((8.0, 4.0), (96, 160, 178)),
    "bed": ((7.5, 5.0), (112, 92, 70)),
}


@dataclass
class Settlement:
    """Everything built, and where gardens get hedges and trees."""

    occupancy: OccupancyGrid
    boxes: list[Box] = field(default_factory=list)
    hedges: list[tuple[Array, float]] = field(default_factory=list)  # line, height
    gardens: list[tuple[float, float, float]] = field(default_factory=list)  # middle and reach

    def put(self, box: Box, *, grown_m: float = 0.5) -> None:
        """Build it and mark its ground as occupied."""
        self.boxes.append(box)
        self.occupancy.take(box, grown_m=grown_m)


@dataclass(frozen=True)
class _Plot:
    """A piece of ground at the road: ``edge`` points along the road, ``side`` is the plot's side of it."""

    edge: Placement
    side: int
    wide_m: float
    deep_m: float
    use: str

    def at(self, away_m: float, along_m: float = 0.0) -> Placement:
        return self.edge.moved(along_m, self.side * away_m)


def place_buildings(
    blocks: tuple[Block, ...], roads: tuple[Road, ...], river: Road, *, size_m: float, seed: int
) -> Settlement:
    """Build on every block and along every road, biggest things first."""
    town = Settlement(OccupancyGrid(size_m))
    for road in (*roads, river):
        town.occupancy.take_line(road.points, road.width_m + (3 if road.kind != "river" else 14))
    for block in blocks:
        fill_block(town.boxes, town.occupancy, block, np.random.default_rng([seed, 4, block.number]))
    by_number = {b.number: b for b in blocks}
    for road in roads:
        _line_road(town, road, by_number, np.random.default_rng([seed, 5, road.salt]))
    for block in blocks:
        _second_row(town, block, np.random.default_rng([seed, 7, block.number]))
    return town


def _line_road(town: Settlement, road: Road, blocks: dict[int, Block], rng: np.random.Generator) -> None:
    """Plots along one road, as dense as the neighbourhood is."""
    for plot in _plots(road, _uses_beside(road, blocks), rng):
        if plot.use in ("housing", "village", "centre"):
            _build_plot(town, plot, rng)
        elif road.kind in ("lane", "gravel") and rng.random() < 0.02:
            _farm(town, plot, rng)
        if road.kind == "street" and rng.random() < 0.4:
            park_car(town.boxes, plot.at(-1.0), np.array([0.5, 0.5]), rng)


def _uses_beside(road: Road, blocks: dict[int, Block]) -> dict[int, str]:
    """What lies on either side of a road's middle."""
    k = len(road.points) // 2
    (x, y), (dx, dy) = road.points[k], road.points[k] - road.points[k - 1]
    uses = {}
    for block in (blocks[n] for n in road.blocks if n in blocks):
        right = dx * (block.y_m - y) - dy * (block.x_m - x) > 0
        uses[1 if right else -1] = block.use
    return uses


def _plots(road: Road, uses: dict[int, str], rng: np.random.Generator) -> Iterator[_Plot]:
    at = along(road.points)
    for side in (-1, 1):
        use = uses.get(side, "none")
        s = rng.uniform(5, 12)
        while s < at[-1] - 6:
            wide_m = rng.uniform(11.5, 18) if use == "centre" else rng.uniform(15, 24)
            x, y = (float(np.interp(s + 0.5 * wide_m, at, road.points[:, k])) for k in (0, 1))
            i = min(int(np.searchsorted(at, s + 0.5 * wide_m)), len(at) - 1)
            dx, dy = road.points[i] - road.points[i - 1]
            edge = Placement(x, y, math.atan2(dy, dx)).moved(0, side * 0.5 * road.width_m)
            yield _Plot(edge, side, wide_m, rng.uniform(24, 34), use)
            s += wide_m


def _build_plot(town: Settlement, plot: _Plot, rng: np.random.Generator) -> None:
    """A house with its garden, drive, hedge, perhaps a shed or a pool; wall to wall in the centre."""
    dense = plot.use == "centre"
    long_m = plot.wide_m - 0.3 if dense else min(rng.uniform(8.5, 14), plot.wide_m - 3)
    wide_m = rng.uniform(9, 12.5) if dense else rng.uniform(7.5, 10)
    across = not dense and rng.random() < 0.3
    away = (rng.uniform(2.2, 2.8) if dense else rng.uniform(3.5, 9)) + 0.5 * (long_m if across else wide_m)
    placement = plot.at(away, rng.uniform(-1, 1) * (0 if dense else 1.5))
    placement = placement.turned() if across else placement
    house = _house(
        placement, (long_m, wide_m), rng, eave_m=rng.uniform(6, 10) if dense else rng.uniform(3, 6)
    )
    if not town.occupancy.is_free(house, grown_m=-0.6 if dense else 1.0):
        return
    if dense:
        town.put(house, grown_m=0.0)
        return
    _garden(town, plot, house, rng)
    town.put(house, grown_m=1.0)
    if rng.random() < 0.35:
        _wing(town, house, rng)


def _house(
    placement: Placement, size_m: tuple[float, float], rng: np.random.Generator, *, eave_m: float
) -> Box:
    return Box.on(
        Placement(placement.x_m, placement.y_m, placement.angle + rng.normal(0, 0.02)),
        "hip" if rng.random() < 0.25 else "gable",
        size_m,
        pick(_ROOFS, rng),
        eave_m=eave_m,
        rise_m=size_m[1] * rng.uniform(0.28, 0.5),
        here=changes(rng),
        salt=int(rng.integers(1 << 30)),
    )


def _garden(town: Settlement, plot: _Plot, house: Box, rng: np.random.Generator) -> None:
    middle = plot.at(0.5 * plot.deep_m + 1)
    green = np.array([100, 116, 66]) + rng.uniform(-12, 12) + rng.uniform(-5, 5, 3)
    rgb = float(green[0]), float(green[1]), float(green[2])
    lawn = Box.on(middle, "lawn", (plot.wide_m, plot.deep_m), rgb, salt=house.salt)
    if not town.occupancy.is_free(lawn, grown_m=-6):
        return
    town.boxes.insert(0, lawn)
    town.gardens.append((middle.x_m, middle.y_m, 0.45 * plot.deep_m))
    _drive(town, plot, house, rng)
    _back_yard(town, plot, rng)
    if rng.random() < 0.6:
        ring = lawn.corners(grown_m=-0.6)
        around = ring[[1, 2, 3, 0]] if plot.side > 0 else ring[[2, 1, 0, 3]]
        town.hedges.append((around, rng.uniform(1.2, 2.2)))


def _drive(town: Settlement, plot: _Plot, house: Box, rng: np.random.Generator) -> None:
    """The paved way from the street to the house, with a car on some days."""
    deep_m = rng.uniform(7, 13)
    placement = plot.at(0.5 * deep_m, float(rng.choice([-1, 1])) * (0.5 * plot.wide_m - 2.2)).turned()
    paved = pick(_PAVED, rng)
    town.boxes.append(Box.on(placement, "paving", (deep_m, 3.2), paved, salt=house.salt, here=house.here))
    park_car(town.boxes, placement, np.array([0.4, 0.4]), rng)


def _back_yard(town: Settlement, plot: _Plot, rng: np.random.Generator) -> None:
    """A shed, a pool or a vegetable bed behind the house."""
    luck = rng.random()
    kind = "shed" if luck < 0.4 else "pool" if luck < 0.46 else "bed" if luck < 0.75 else None
    if kind is None:
        return
    size, rgb = _YARD[kind]
    placement = plot.at(0.82 * plot.deep_m + 1, float(rng.uniform(-0.3, 0.3)) * plot.wide_m)
    tall = {"eave_m": 2.2, "rise_m": 0.7} if kind == "shed" else {}
    box = Box.on(placement, "gable" if kind == "shed" else kind, size, rgb, here=changes(rng), **tall)
    if town.occupancy.is_free(box, grown_m=0.5):
        town.put(box)


def _wing(town: Settlement, house: Box, rng: np.random.Generator) -> None:
    """A lower part at right angles to the house."""
    u, v = float(rng.uniform(-0.25, 0.25)) * house.length_m, 0.5 * house.width_m + 1.5
    placement = house.placement.moved(u, float(rng.choice([-1, 1])) * v).turned()
    lower = {"eave_m": house.eave_m - 0.4, "rise_m": 0.55 * house.rise_m}
    size = 6.0, 0.55 * house.width_m
    town.put(Box.on(placement, "gable", size, house.rgb, here=house.here, salt=house.salt, **lower))


def _second_row(town: Settlement, block: Block, rng: np.random.Generator) -> None:
    """Houses, garages and workshops inside a block, behind the ones at the street."""
    if block.use == "centre":
        _courtyards(town, block, rng)
    reach = 0.36 * np.ptp(block.outline, axis=0)
    per_hectare = {"housing": 14, "village": 7, "centre": 30}.get(block.use, 0)
    tries = int(per_hectare * float(np.prod(reach)) / 2000)
    for _ in range(tries):
        u, v = (float(rng.uniform(-r, r)) for r in reach)
        placement = Placement(block.x_m, block.y_m, block.angle).moved(u, v)
        placement = placement.turned() if rng.random() < 0.5 else placement
        small = rng.random() < 0.4
        size = (rng.uniform(5, 8), rng.uniform(3.5, 6)) if small else (rng.uniform(9, 15), rng.uniform(8, 11))
        house = _house(placement, size, rng, eave_m=2.8 if small else rng.uniform(3, 7))
        if town.occupancy.is_free(house, grown_m=2.5):
            town.put(house, grown_m=1.5)
            town.gardens.append((house.x_m, house.y_m, 15.0))


def _courtyards(town: Settlement, block: Block, rng: np.random.Generator) -> None:
    """Between the houses of the centre: paved yards, small gardens, sand."""
    reach = 0.45 * np.ptp(block.outline, axis=0)
    for _ in range(14):
        u, v = (float(rng.uniform(-r, r)) for r in reach)
        placement = Placement(block.x_m, block.y_m, block.angle).moved(u, v)
        size = rng.uniform(9, 26), rng.uniform(7, 17)
        green = rng.random() < 0.45
        yard = Box.on(placement, "paving", size, pick(_GREENS if green else _PAVED, rng))
        if town.occupancy.is_free(yard, grown_m=-5):
            town.boxes.insert(0, yard)
            town.gardens.extend([(*placement[:2], 8.0)] * green)


def _farm(town: Settlement, plot: _Plot, rng: np.random.Generator) -> None:
    """A farmstead: a yard, a house, barns and the trees around them."""
    yard = Box.on(plot.at(31), "dirt", (58, 52), (150, 138, 116))
    if not town.occupancy.is_free(yard):
        return
    town.boxes.insert(0, yard)
    town.gardens.append((yard.x_m, yard.y_m, 34.0))
    for k, (u, v) in enumerate(((-16, -14), (14, -12), (-12, 14), (16, 13))):
        placement = plot.at(31 + v + rng.uniform(-2, 2), u + rng.uniform(-3, 3))
        size = (13.0, 9.5) if k == 0 else (rng.uniform(18, 34), rng.uniform(10, 15))
        barn = Box.on(
            placement.turned() if k == 2 else placement,
            "gable",
            size,
            pick(_ROOFS if k < 2 else _BARNS, rng),
            eave_m=rng.uniform(4, 6),
            rise_m=0.24 * size[1],
            here=changes(rng) if k else BOTH,
            salt=int(rng.integers(1 << 30)),
        )
        if k == 0 or (town.occupancy.is_free(barn, grown_m=1.5) and rng.random() < 0.85):
            town.put(barn, grown_m=1)
