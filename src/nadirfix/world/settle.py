"""Who lives where: plots with houses along the streets, farms along the lanes, halls and car parks in town."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from nadirfix.world.boxes import BOTH, Box, Claims
from nadirfix.world.layout import Array
from nadirfix.world.parcels import Block
from nadirfix.world.roads import Road, along

__all__ = ["Settlement", "settle"]

Rgb = tuple[float, float, float]

_ROOFS: tuple[Rgb, ...] = (
    (158, 92, 70), (172, 104, 78), (140, 82, 66), (182, 118, 92), (120, 78, 66), (104, 98, 96), (84, 82, 86),
    (134, 124, 116), (150, 86, 62), (164, 110, 88),
)  # fmt: skip
_FLATS: tuple[Rgb, ...] = (
    (176, 174, 168),
    (150, 148, 146),
    (196, 194, 188),
    (128, 126, 122),
    (168, 160, 146),
)
_HALLS: tuple[Rgb, ...] = ((188, 192, 196), (150, 160, 168), (136, 96, 84), (170, 170, 160), (206, 206, 204))
_CARS: tuple[Rgb, ...] = (
    (220, 220, 222), (196, 198, 202), (56, 58, 62), (84, 88, 94), (120, 30, 30), (40, 62, 104), (150, 152, 156),
    (30, 32, 36), (240, 240, 240), (96, 104, 84),
)  # fmt: skip


@dataclass
class Settlement:
    """Everything built, and where gardens want hedges and trees."""

    claims: Claims
    boxes: list[Box] = field(default_factory=list)
    hedges: list[tuple[Array, float]] = field(default_factory=list)  # line, height
    gardens: list[tuple[float, float, float]] = field(default_factory=list)  # middle and reach

    def put(self, box: Box, *, grown_m: float = 0.5) -> None:
        """Build it and claim its ground."""
        self.boxes.append(box)
        self.claims.take(box, grown_m=grown_m)


@dataclass(frozen=True)
class _Spot:
    """A place beside a road: where, which way the road runs, and which way is away from it."""

    x_m: float
    y_m: float
    angle: float
    side: int

    def at(self, away_m: float, along_m: float = 0.0) -> tuple[float, float]:
        c, s = math.cos(self.angle), math.sin(self.angle)
        return (
            self.x_m + c * along_m - s * self.side * away_m,
            self.y_m + s * along_m + c * self.side * away_m,
        )


def settle(
    blocks: tuple[Block, ...], roads: tuple[Road, ...], river: Road, *, size_m: float, seed: int
) -> Settlement:
    """Build on every block and along every road, biggest things first."""
    town = Settlement(Claims(size_m))
    for road in (*roads, river):
        town.claims.take_line(road.points, road.width_m + (3 if road.kind != "river" else 14))
    for block in blocks:
        rng = np.random.default_rng([seed, 4, block.number])
        if block.use in ("works", "centre"):
            _large_block(town, block, rng)
    for road in roads:
        rng = np.random.default_rng([seed, 5, road.salt])
        _line_road(town, road, {b.number: b for b in blocks}, rng)
    return town


def _large_block(town: Settlement, block: Block, rng: np.random.Generator) -> None:
    """Halls, shops and car parks inside a block."""
    for _ in range(26):
        u, v = rng.uniform(-48, 48), rng.uniform(-36, 36)
        x = block.x_m + math.cos(block.angle) * u - math.sin(block.angle) * v
        y = block.y_m + math.sin(block.angle) * u + math.cos(block.angle) * v
        kind = rng.choice(["hall", "parking", "flat"])
        if kind == "parking":
            _parking(town, x, y, block.angle, rng)
            continue
        long_m, wide_m = (
            (rng.uniform(28, 62), rng.uniform(18, 32)) if kind == "hall" else (rng.uniform(16, 34), 12.0)
        )
        turned = block.angle + (math.pi / 2 if rng.random() < 0.4 else 0)
        palette = _HALLS if kind == "hall" else _FLATS
        box = Box(
            kind=str(kind), x_m=x, y_m=y, angle=turned, length_m=long_m, width_m=wide_m, here=_changes(rng),
            rgb=_pick(palette, rng), eave_m=rng.uniform(5, 13), rise_m=1.2, salt=int(rng.integers(1 << 30)),
        )  # fmt: skip
        if town.claims.is_free(box, grown_m=4):
            _apron(town, box, rng)
            town.put(box, grown_m=3)


def _apron(town: Settlement, box: Box, rng: np.random.Generator) -> None:
    """Paved ground around a large building."""
    rgb = _pick(((138, 136, 132), (118, 118, 118), (156, 150, 140)), rng)
    pad = rng.uniform(3, 9)
    town.boxes.append(
        Box(
            kind="paving",
            x_m=box.x_m,
            y_m=box.y_m,
            angle=box.angle,
            length_m=box.length_m + 2 * pad,
            width_m=box.width_m + 2 * pad,
            rgb=rgb,
            salt=box.salt,
        )  # fmt: skip
    )


def _parking(town: Settlement, x_m: float, y_m: float, angle: float, rng: np.random.Generator) -> None:
    rows = int(rng.integers(1, 4))
    lot = Box(
        kind="parking", x_m=x_m, y_m=y_m, angle=angle, length_m=2.6 * int(rng.integers(8, 22)), width_m=16.4 * rows,
        rgb=_pick(((92, 94, 98), (112, 112, 112), (130, 126, 120)), rng),
    )  # fmt: skip
    if not town.claims.is_free(lot, grown_m=1):
        return
    town.put(lot)
    busy = rng.uniform(0.2, 0.9, 2)
    for row in range(rows):
        for side in (-1, 1):
            v = (row - (rows - 1) / 2) * 16.4 + side * 5.6
            _stalls(town, lot, v, busy, rng)


def _stalls(town: Settlement, lot: Box, v_m: float, busy: Array, rng: np.random.Generator) -> None:
    c, s = math.cos(lot.angle), math.sin(lot.angle)
    for k in range(round(lot.length_m / 2.6)):
        u = -0.5 * lot.length_m + (k + 0.5) * 2.6 + rng.normal(0, 0.12)
        v = v_m + rng.normal(0, 0.25)
        x, y = lot.x_m + c * u - s * v, lot.y_m + s * u + c * v
        _park_car(town, x, y, lot.angle + math.pi / 2, busy, rng)


def _park_car(
    town: Settlement, x_m: float, y_m: float, angle: float, busy: Array, rng: np.random.Generator
) -> None:
    """One car on some dates and another, or none, on others."""
    for date in (0, 1):
        if rng.random() < busy[date]:
            here = (date == 0, date == 1)
            town.boxes.append(_car(x_m, y_m, angle + rng.normal(0, 0.03), here, rng))


def _car(x_m: float, y_m: float, angle: float, here: tuple[bool, bool], rng: np.random.Generator) -> Box:
    van = rng.random() < 0.08
    return Box(
        kind="car", x_m=x_m, y_m=y_m, angle=angle, length_m=5.8 if van else rng.uniform(4.0, 4.8),
        width_m=2.0 if van else 1.8, rgb=(232, 232, 230) if van else _pick(_CARS, rng),
        eave_m=2.3 if van else 1.45, here=here,
    )  # fmt: skip


def _line_road(town: Settlement, road: Road, blocks: dict[int, Block], rng: np.random.Generator) -> None:
    """Plots along one road, as dense as the neighbourhood is."""
    uses = _uses_beside(road, blocks)
    for spot in _spots(road, rng):
        use = uses.get(spot.side, "field")
        if use in ("housing", "village", "centre"):
            _plot(town, spot, road, use, rng)
        elif road.kind in ("lane", "gravel") and rng.random() < 0.02:
            _farm(town, spot, rng)
        if road.kind == "street" and rng.random() < 0.35:
            _park_car(town, *spot.at(0.5 * road.width_m - 1.0), spot.angle, np.array([0.5, 0.5]), rng)


def _uses_beside(road: Road, blocks: dict[int, Block]) -> dict[int, str]:
    """What lies on either side of a road's middle."""
    k = len(road.points) // 2
    (x, y), (dx, dy) = road.points[k], road.points[k] - road.points[k - 1]
    found = {}
    for block in (blocks[n] for n in road.blocks if n in blocks):
        right = dx * (block.y_m - y) - dy * (block.x_m - x) > 0
        found[1 if right else -1] = block.use
    return found


def _spots(road: Road, rng: np.random.Generator) -> Iterator[_Spot]:
    at = along(road.points)
    for side in (-1, 1):
        s = rng.uniform(8, 20)
        while s < at[-1] - 8:
            x, y = (float(np.interp(s, at, road.points[:, k])) for k in (0, 1))
            i = min(int(np.searchsorted(at, s)), len(at) - 1)
            dx, dy = road.points[i] - road.points[i - 1]
            yield _Spot(x, y, math.atan2(dy, dx), side)
            s += rng.uniform(15, 24)


def _plot(town: Settlement, spot: _Spot, road: Road, use: str, rng: np.random.Generator) -> None:
    """A house with its garden, drive, hedge, perhaps a shed or a pool."""
    dense = use == "centre"
    long_m, wide_m = (
        (rng.uniform(12, 18), rng.uniform(9, 12)) if dense else (rng.uniform(8.5, 14), rng.uniform(7.5, 10))
    )
    gap = 0.5 * road.width_m + (rng.uniform(1.8, 3) if dense else rng.uniform(3.5, 9)) + 0.5 * wide_m
    across = rng.random() < 0.3
    x, y = spot.at(gap + (0.5 * (long_m - wide_m) if across else 0))
    house = Box(
        kind="hip" if rng.random() < 0.25 else "gable", x_m=x, y_m=y, length_m=long_m, width_m=wide_m,
        angle=spot.angle + (math.pi / 2 if across else 0) + rng.normal(0, 0.03), rgb=_pick(_ROOFS, rng),
        eave_m=rng.uniform(5.5, 9) if dense else rng.uniform(3, 6), rise_m=wide_m * rng.uniform(0.28, 0.5),
        here=_changes(rng), salt=int(rng.integers(1 << 30)),
    )  # fmt: skip
    if not town.claims.is_free(house, grown_m=1.2):
        return
    _garden(town, spot, road, house, rng)
    town.put(house, grown_m=1.0)
    if rng.random() < 0.35 and not dense:
        _wing(town, house, rng)


def _garden(town: Settlement, spot: _Spot, road: Road, house: Box, rng: np.random.Generator) -> None:
    plot_m, deep_m = rng.uniform(16, 22), rng.uniform(24, 34)
    x, y = spot.at(0.5 * road.width_m + 0.5 * deep_m + 1)
    green = tuple(float(v) for v in np.array([100, 116, 66]) + rng.normal(0, 9) + rng.normal(0, 4, 3))
    lawn = Box(
        kind="lawn", x_m=x, y_m=y, angle=spot.angle, length_m=plot_m, width_m=deep_m,
        rgb=(green[0], green[1], green[2]), salt=house.salt,
    )  # fmt: skip
    if not town.claims.is_free(lawn, grown_m=-6):
        return
    town.boxes.insert(0, lawn)
    town.gardens.append((x, y, 0.45 * deep_m))
    _drive(town, spot, road, house, plot_m, rng)
    _back_yard(town, spot, deep_m, plot_m, rng)
    if rng.random() < 0.6:
        ring = lawn.corners(grown_m=-0.6)
        town.hedges.append(
            (ring[[1, 2, 3, 0]] if spot.side > 0 else ring[[2, 1, 0, 3]], rng.uniform(1.2, 2.2))
        )


def _drive(
    town: Settlement, spot: _Spot, road: Road, house: Box, plot_m: float, rng: np.random.Generator
) -> None:
    """The paved way from the street to the house, with a car on some days."""
    deep_m = rng.uniform(7, 13)
    aside = float(rng.choice([-1, 1])) * (0.5 * plot_m - 2.2)
    x, y = spot.at(0.5 * road.width_m + 0.5 * deep_m, aside)
    rgb = _pick(((160, 154, 146), (140, 138, 136), (176, 164, 148), (120, 118, 116)), rng)
    town.boxes.append(
        Box(kind="paving", x_m=x, y_m=y, angle=spot.angle + math.pi / 2, length_m=deep_m, width_m=3.2, rgb=rgb,
            salt=house.salt, here=house.here)
    )  # fmt: skip
    _park_car(town, x, y, spot.angle + math.pi / 2, np.array([0.4, 0.4]), rng)


def _back_yard(town: Settlement, spot: _Spot, deep_m: float, plot_m: float, rng: np.random.Generator) -> None:
    """A shed, a pool or a vegetable bed behind the house."""
    luck = rng.random()
    x, y = spot.at(0.82 * deep_m + 4, float(rng.uniform(-0.3, 0.3)) * plot_m)
    size = {"shed": (4.2, 3.0), "pool": (8.0, 4.0), "bed": (7.5, 5.0)}
    kind = "shed" if luck < 0.4 else "pool" if luck < 0.5 else "bed" if luck < 0.75 else None
    if kind is None:
        return
    rgb = {"shed": (126, 108, 92), "pool": (84, 168, 190), "bed": (112, 92, 70)}[kind]
    box = Box(
        kind="gable" if kind == "shed" else kind, x_m=x, y_m=y, angle=spot.angle, length_m=size[kind][0],
        width_m=size[kind][1], rgb=rgb, eave_m=2.2 if kind == "shed" else 0.0, rise_m=0.7, here=_changes(rng),
    )  # fmt: skip
    if town.claims.is_free(box, grown_m=0.5):
        town.put(box)


def _wing(town: Settlement, house: Box, rng: np.random.Generator) -> None:
    """A lower part at right angles to the house."""
    c, s = math.cos(house.angle), math.sin(house.angle)
    side, u = float(rng.choice([-1, 1])), float(rng.uniform(-0.25, 0.25)) * house.length_m
    v = side * (0.5 * house.width_m + 1.5)
    wing = Box(
        kind="gable", x_m=house.x_m + c * u - s * v, y_m=house.y_m + s * u + c * v, angle=house.angle + math.pi / 2,
        length_m=6.0, width_m=0.55 * house.width_m, rgb=house.rgb, eave_m=house.eave_m - 0.4,
        rise_m=0.55 * house.rise_m, here=house.here, salt=house.salt,
    )  # fmt: skip
    town.put(wing)


def _farm(town: Settlement, spot: _Spot, rng: np.random.Generator) -> None:
    """A farmstead: a yard, a house, barns and the trees around them."""
    x, y = spot.at(34)
    yard = Box(kind="dirt", x_m=x, y_m=y, angle=spot.angle, length_m=58, width_m=52, rgb=(150, 138, 116))
    if not town.claims.is_free(yard):
        return
    town.boxes.insert(0, yard)
    town.gardens.append((x, y, 34.0))
    for k, (u, v) in enumerate(((-16, -14), (14, -12), (-12, 14), (16, 13))):
        px, py = spot.at(34 + v + rng.uniform(-2, 2), u + rng.uniform(-3, 3))
        long_m, wide_m = (13.0, 9.5) if k == 0 else (rng.uniform(18, 34), rng.uniform(10, 15))
        turned = spot.angle + (math.pi / 2 if k == 2 else 0.0)
        barn = Box(
            kind="gable", x_m=px, y_m=py, angle=turned, length_m=long_m, width_m=wide_m, eave_m=rng.uniform(4, 6),
            rise_m=0.24 * wide_m, rgb=_pick(_ROOFS if k < 2 else _HALLS, rng), here=_changes(rng) if k else BOTH,
            salt=int(rng.integers(1 << 30)),
        )  # fmt: skip
        if k == 0 or (town.claims.is_free(barn, grown_m=1.5) and rng.random() < 0.85):
            town.put(barn, grown_m=1)


def _changes(rng: np.random.Generator) -> tuple[bool, bool]:
    """Most buildings are there at both dates; some come, some go."""
    luck = rng.random()
    return (False, True) if luck < 0.06 else (True, False) if luck < 0.1 else BOTH


def _pick(palette: tuple[Rgb, ...], rng: np.random.Generator) -> Rgb:
    base = np.array(palette[int(rng.integers(len(palette)))]) * rng.uniform(0.9, 1.08) + rng.normal(0, 3, 3)
    r, g, b = np.clip(base, 8, 246)
    return float(r), float(g), float(b)
