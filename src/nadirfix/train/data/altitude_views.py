"""Sampling views to learn altitude from: every altitude, any heading, anywhere on the map."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nadirfix.altitude.bins import AltitudeBins
from nadirfix.geo.coverage import BLOCK_M, MapCoverage, held_out
from nadirfix.geo.views import Views, half_extent_m
from nadirfix.random_numbers import uniform
from nadirfix.train.data.batches import Sampling, no_views

__all__ = ["AltitudeSampler"]

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Draws before a view is taken from the pool of its class, and draws that go into a pool.
_TRIES = 12
_POOL_DRAWS = 20_000
_FIRST_SEARCH = 1_000


class AltitudeSampler:
    """Views from every altitude.

    Each altitude is as frequent as the next, however few places a high view fits in: where draws keep
    falling off the map, views that fit come from a pool made for their class. ``within_m`` leaves out what
    this map cannot teach: views finer than its pixels, or wider than its ground.
    """

    def __init__(
        self,
        coverage: MapCoverage,
        sampling: Sampling,
        bins: AltitudeBins,
        *,
        step_m: float = 0.0,
        within_m: tuple[float, float] = (0.0, np.inf),
    ) -> None:
        self.coverage, self.sampling, self.step_m = coverage, sampling, step_m
        self.low_m = np.maximum(bins.edges_m[:-1], within_m[0])
        self.high_m = np.minimum(np.minimum(bins.edges_m[1:], bins.max_m), within_m[1])
        width = np.maximum(self.high_m - self.low_m, 0.0)
        self._cumulative = np.cumsum(width) / width.sum()
        self._pools: dict[tuple[int, bool], Views] = {}

    def __len__(self) -> int:
        return len(self.low_m)

    def check(self) -> None:
        """Make sure that every class has views to learn from."""
        for label in np.flatnonzero(self.high_m > self.low_m).tolist():
            if not len(self._search(label, False, _FIRST_SEARCH)):
                self._pool(label, validation=False)

    def draw(self, index: Ints, *, validation: bool = False) -> tuple[Views, Ints]:
        """The views of these indices, and the altitude class of each."""
        pick = uniform(self.sampling.seed, f"class {validation}", index, 1)[:, 0]
        last = len(self) - 1
        label = np.minimum(np.searchsorted(self._cumulative, pick, side="right"), last).astype(np.int64)
        views, fits = self._attempt(label, index, "0", validation)
        for k in range(1, _TRIES):
            missing = ~fits
            if not missing.any():
                break
            again, fit = self._attempt(label[missing], index[missing], str(k), validation)
            views, fits[missing] = views.replaced(missing, again), fit
        return self._filled(views, label, index, ~fits, validation), label

    def _filled(self, views: Views, label: Ints, index: Ints, missing: Flags, validation: bool) -> Views:
        """The views, with those that never fitted taken from their class's pool."""
        for i in np.flatnonzero(missing):
            pool = self._pool(int(label[i]), validation=validation)
            pick = uniform(self.sampling.seed, f"spare {validation}", index[i : i + 1], 1)[0, 0]
            spare = pool.take(np.array([int(pick * len(pool))]))
            views = views.replaced(np.arange(len(views)) == i, spare)
        return views

    def _pool(self, label: int, *, validation: bool) -> Views:
        """Every view of a class that a long search finds; none at all is an error."""
        if (label, validation) not in self._pools:
            views = self._search(label, validation, _POOL_DRAWS)
            if not len(views):
                which = f"{self.low_m[label]:g} to {self.high_m[label]:g} m"
                raise no_views("altitude", which, self.sampling.valid_share)
            self._pools[label, validation] = views
        return self._pools[label, validation]

    def _search(self, label: int, validation: bool, draws: int) -> Views:
        labels = np.full(draws, label, np.int64)
        views, fits = self._attempt(labels, np.arange(draws), f"pool {label}", validation)
        return views.take(fits)

    def _attempt(self, label: Ints, index: Ints, stream: str, validation: bool) -> tuple[Views, Flags]:
        """One draw for each, and which of them are of use."""
        views = self._drawn(label, index, f"view {validation} {stream}")
        west, south, _, _ = self.coverage.bounds  # blocks are counted from the map, so that they move with it
        reserved = held_out(views.east_m - west, views.north_m - south)
        share = self.coverage.valid_share(views, self.sampling.camera)
        return views, (share >= self.sampling.valid_share) & (reserved == validation)

    def _drawn(self, label: Ints, index: Ints, stream: str) -> Views:
        u = uniform(self.sampling.seed, stream, index, 6)
        low, high = self.low_m[label], self.high_m[label]
        altitude = low + u[:, 0] * (high - low)
        if self.step_m > 0:
            altitude = np.maximum(np.floor(altitude / self.step_m) * self.step_m, low)
        heading = 360 * u[:, 1]
        west, south, east, north = self.coverage.bounds
        reach_e, reach_n = half_extent_m(self.sampling.camera, altitude, heading)
        room_e = np.maximum((east - west) / 2 - reach_e, BLOCK_M)
        room_n = np.maximum((north - south) / 2 - reach_n, BLOCK_M)
        east_m = (west + east) / 2 + room_e * (2 * u[:, 2] - 1)
        north_m = (south + north) / 2 + room_n * (2 * u[:, 3] - 1)
        return Views(east_m, north_m, altitude, heading, self.sampling.tilt_deg * u[:, 4], 360 * u[:, 5])
