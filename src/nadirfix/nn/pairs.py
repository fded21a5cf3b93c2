"""Two looks at the same ground, as photo and map show it: where from, and which pixel is which.

Both looks are rendered, so that every pixel of the one is known in the other, and nobody has to label
anything. Where there are pictures of two dates the looks are of one each.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nadirfix.camera import Camera
from nadirfix.errors import TrainingError
from nadirfix.nn.draws import uniform
from nadirfix.nn.ground import Ground
from nadirfix.nn.host import ViewSource
from nadirfix.nn.views import Views, ground_from_pixel
from nadirfix.options_train import PairOptions

__all__ = ["PairedGround", "Pairs", "other_from_one", "square_camera"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Places that are tried out once, to know those that every date shows; looks are then moved by up to this.
_TRIED, _AROUND_M = 10_000, 20.0


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Two looks each: pictures (batch, colours, rows, columns; 0-255), what of them is map, and geometry."""

    one: Tensor
    other: Tensor
    one_there: Tensor  # (batch, 1, rows, columns), 0 or 1
    other_there: Tensor
    other_from_one: Tensor  # (batch, 3, 3), in pixels, corners at 0, 0
    aligned: Tensor  # (batch,) whether the two lie on each other to the pixel


class PairedGround:
    """One place, ready to be looked at twice."""

    def __init__(
        self,
        dates: Sequence[ViewSource],
        options: PairOptions,
        *,
        seed: int,
        soft_m: float = 0.0,
        aligned: bool = True,
    ) -> None:
        self.dates, self.options, self.seed, self.aligned = tuple(dates), options, seed, aligned
        texture = dates[0].texture
        finest_m = max(options.finest_map * max(texture.gsd_m, soft_m), options.finest_m)
        west, south, east, north = texture.bounds
        largest_m = 0.7 * min(east - west, north - south) / options.side_px
        self.gsd_m = finest_m, max(min(options.coarsest_m, largest_m), finest_m)
        self.camera = square_camera(options.side_px)
        self.places = self._shown()

    def draw(self, index: Ints) -> Pairs:
        """The pairs with these running numbers."""
        views = self._views(index)
        which = self._which(index)
        looks = [self._look(v, w) for v, w in zip(views, which, strict=True)]
        (one, one_there), (other, other_there) = looks
        geometry = other_from_one(*views, self.camera, (self.options.side_px,) * 2)
        device = one.device
        same = torch.from_numpy(which[0] == which[1]).to(device)
        matrix = torch.from_numpy(geometry.astype(np.float32)).to(device)
        aligned = same | torch.full_like(same, self.aligned)
        return Pairs(one, other, one_there, other_there, matrix, aligned)

    def _shown(self) -> tuple[Floats, Floats]:
        """Places in the middle of ground that every date shows."""
        west, south, east, north = self.dates[0].texture.bounds
        u = uniform(self.seed, "pair places", np.arange(_TRIED), 2)
        e, n = west + u[:, 0] * (east - west), south + u[:, 1] * (north - south)
        reach = np.full(_TRIED, self.gsd_m[0] * self.options.side_px)
        views = Views.level(e, n, reach, np.zeros(_TRIED))
        shares = [Ground(date.texture).valid_share(views, self.camera) for date in self.dates]
        kept = np.min(shares, axis=0) >= 0.9
        if not kept.any():
            raise _no_pairs(self.gsd_m[0] * self.options.side_px)
        return e[kept], n[kept]

    def _views(self, index: Ints) -> tuple[Views, Views]:
        """Where the two looks are from: the second is moved, turned, scaled and leans a little."""
        o, u = self.options, uniform(self.seed, "pairs", index, 12)
        spot = (u[:, 0] * len(self.places[0])).astype(np.int64)
        east, north = (p[spot] + _AROUND_M * (2 * u[:, 10 + i] - 1) for i, p in enumerate(self.places))
        gsd_m = self.gsd_m[0] * (self.gsd_m[1] / self.gsd_m[0]) ** u[:, 1]
        altitude, heading = gsd_m * self.camera.fx_px, 360.0 * u[:, 2]
        one = Views.level(east, north, altitude, heading)
        far = np.where(u[:, 3] < o.farther, 2.0, 1.0)
        away = np.minimum(o.shift_m, o.shift_share * gsd_m * o.side_px) * np.sqrt(u[:, 4])
        toward = 2 * np.pi * u[:, 5]
        turned = heading + far * o.turn_deg * (2 * u[:, 6] - 1)
        scaled = altitude * np.exp(far * o.scale * (2 * u[:, 7] - 1))
        other = Views.level(east + away * np.sin(toward), north + away * np.cos(toward), scaled, turned)
        leaning = dataclasses.replace(one, tilt_deg=o.tilt_deg * u[:, 8], tilt_toward_deg=360.0 * u[:, 9])
        return leaning, other

    def _which(self, index: Ints) -> tuple[Ints, Ints]:
        """Which dates: the first look is of any, the second of another or the same."""
        u, count = uniform(self.seed, "pair dates", index, 2), len(self.dates)
        one = (u[:, 0] * count).astype(np.int64)
        return one, np.where(u[:, 1] < self.options.other_date, (one + 1) % count, one)

    def _look(self, views: Views, which: Ints) -> tuple[Tensor, Tensor]:
        """What is seen; the little that lies off the map takes the mean of the rest."""
        size, device = (self.options.side_px,) * 2, self.dates[0].device
        seen = torch.empty((len(views), 3, size[1], size[0]), device=device)
        there = torch.empty((len(views), 1, size[1], size[0]), device=device)
        for date in np.unique(which):
            rows = np.flatnonzero(which == date)
            pixels, cover = self.dates[date].render_reduced(views.take(rows), self.camera, size)
            there_now, at = (cover >= 0.5).float(), torch.from_numpy(rows).to(device)
            mean = (pixels * there_now).sum((2, 3), keepdim=True)
            mean = mean / there_now.sum((2, 3), keepdim=True).clamp(min=1)
            seen[at], there[at] = torch.where(there_now > 0, pixels, mean), there_now
        return seen, there


def square_camera(side_px: int) -> Camera:
    """A camera whose altitude over its side is the size of a pixel on the ground."""
    return Camera(side_px, side_px, float(side_px), float(side_px))


def other_from_one(one: Views, other: Views, camera: Camera, size: tuple[int, int]) -> Floats:
    """For each pair the homography from pixels of the first look to pixels of the second."""
    ground_from_one, ground_from_other = (ground_from_pixel(v, camera, size) for v in (one, other))
    moved = np.tile(np.eye(3), (len(one), 1, 1))
    moved[:, 0, 2], moved[:, 1, 2] = one.east_m - other.east_m, one.north_m - other.north_m
    whole = np.linalg.inv(ground_from_other) @ moved @ ground_from_one
    return np.asarray(whole / whole[:, 2:, 2:], np.float64)


def _no_pairs(side_m: float) -> TrainingError:
    return TrainingError(
        "training.empty_class",
        "the matcher has no pairs of views to learn from",
        seen=f"no square of {side_m:.0f} m that all pictures of the place show",
        do="use a larger map, or a smaller side_px",
    )
