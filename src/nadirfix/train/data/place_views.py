"""Sampling views to learn places from: at the canonical scale, anywhere in a cell, at any heading."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nadirfix.altitude.bins import AltitudeBins
from nadirfix.geo.coverage import MapCoverage, held_out
from nadirfix.geo.grid import ClassOrder, Grid, lattice_places
from nadirfix.geo.views import Views
from nadirfix.random_numbers import uniform
from nadirfix.train.data.batches import Sampling, no_views

__all__ = ["Lattice", "PlaceSampler", "lattice_places", "scales_within_bins"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Blocks along a cell's side; a block is trained on or held out as a whole.
_BLOCKS_PER_CELL = 5


@dataclass(frozen=True, slots=True)
class Lattice:
    """The places and headings references have: what the published protocol trains on."""

    stride_m: float
    headings: int


@dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """Training places, sorted by class: those of class i are ``count[i]`` from ``first[i]`` on."""

    east_m: Floats
    north_m: Floats
    first: Ints
    count: Ints


class PlaceSampler:
    """Views of places with the class of the cell they lie in.

    ``scales`` are how much higher than the middle of its altitude class a photo may be: it is cropped by the
    middle, so it shows a little more or less ground than a reference.
    """

    def __init__(
        self,
        coverage: MapCoverage,
        sampling: Sampling,
        grid: Grid,
        *,
        altitude_m: float,
        scales: Floats,
        lattice: Lattice | None = None,
    ) -> None:
        self.coverage, self.sampling, self.grid = coverage, sampling, grid
        self.altitude_m, self.scales, self.lattice = altitude_m, scales, lattice
        self.block_m = grid.cell_m / _BLOCKS_PER_CELL
        self._places = {flag: self._find(validation=flag) for flag in (False, True)}
        self._groups: list[dict[bool, _Places]] = []

    def order(self) -> ClassOrder:
        """A class for every cell that has views to learn from."""
        cells = self.grid.cells_of(*self._places[False])
        return ClassOrder.from_cells(self.grid, {(int(e), int(n)) for e, n in cells})

    def use(self, order: ClassOrder) -> None:
        """Sort the places by these classes; a class without any is an error."""
        self._groups = [{flag: self._sorted(cells, flag) for flag in (False, True)} for cells in order.cells]
        for cells, places in zip(order.cells, self._groups, strict=True):
            empty = cells[places[False].count == 0]
            if len(empty):
                raise no_views("place", _named(empty), self.sampling.valid_share)

    def places(self, group: int) -> int:
        """How many training places a group has."""
        return len(self._groups[group][False].east_m)

    def draw(
        self, index: Ints, group: int, *, validation: bool = False, label: Ints | None = None
    ) -> tuple[Views, Ints]:
        """The views of these indices, and the class within the group of each, unless it is given."""
        places, lattice = self._groups[group][validation], None if validation else self.lattice
        u = uniform(self.sampling.seed, f"place {group} {validation}", index, 8)
        label = _picked(places, u[:, 0]) if label is None else label
        spot = places.first[label] + (u[:, 1] * places.count[label]).astype(np.int64)
        jitter_m = 0.0 if lattice else self.block_m
        east_m = places.east_m[spot] + jitter_m * (u[:, 2] - 0.5)
        north_m = places.north_m[spot] + jitter_m * (u[:, 3] - 0.5)
        scale = self.scales[(u[:, 4] * len(self.scales)).astype(np.int64)]
        heading = 360 * u[:, 5]
        if lattice:
            heading = np.floor(u[:, 5] * lattice.headings) * 360 / lattice.headings
        tilt = self.sampling.tilt_deg * u[:, 6]
        return Views(east_m, north_m, self.altitude_m * scale, heading, tilt, 360 * u[:, 7]), label

    def _find(self, *, validation: bool) -> tuple[Floats, Floats]:
        """Places where the map covers enough of a view at any heading."""
        if self.lattice and not validation:
            east, north = self._lattice(self.lattice.stride_m)
            usable = np.ones(len(east), np.bool_)
        else:
            east, north = self._lattice(self.block_m)
            usable = held_out(*self.grid.local_m(east, north).T, block_m=self.block_m) == validation
        usable &= self._covered(east, north)
        return east[usable], north[usable]

    def _lattice(self, stride_m: float) -> tuple[Floats, Floats]:
        return lattice_places(self.coverage.bounds, stride_m, origin_m=self.grid.origin_m)

    def _covered(self, east: Floats, north: Floats) -> Flags:
        altitude = np.full(len(east), self.altitude_m)
        turned = (Views.level(east, north, altitude, np.full(len(east), deg)) for deg in (0.0, 90.0))
        shares = [self.coverage.valid_share(views, self.sampling.camera) for views in turned]
        return np.asarray(np.minimum(*shares) >= self.sampling.valid_share)

    def _sorted(self, cells: Ints, validation: bool) -> _Places:
        east, north = self._places[validation]
        class_of = {(int(e), int(n)): i for i, (e, n) in enumerate(cells)}
        label = np.array(
            [class_of.get((int(e), int(n)), -1) for e, n in self.grid.cells_of(east, north)], np.int64
        )
        row = np.flatnonzero(label >= 0)
        row = row[np.argsort(label[row], kind="stable")]
        count = np.bincount(label[row], minlength=len(cells))
        return _Places(east[row], north[row], np.cumsum(count) - count, count)


def scales_within_bins(bins: AltitudeBins, *, step_m: float = 1.0) -> Floats:
    """How much higher than its class's middle each altitude of the range is."""
    altitudes = np.arange(bins.min_m, bins.max_m, step_m)
    return np.asarray(altitudes / bins.centers_m[bins.indices_of(altitudes)])


def _picked(places: _Places, by_class: Floats) -> Ints:
    """A class that has places, each as often as the next."""
    filled = np.flatnonzero(places.count)
    return np.asarray(filled[(by_class * len(filled)).astype(np.int64)])


def _named(cells: Ints) -> str:
    some = ", ".join(f"({e}, {n})" for e, n in cells[:5])
    return f"{len(cells)} cells, among them {some}" if len(cells) > 5 else f"cell {some}"
