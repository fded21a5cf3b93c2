"""From matched keypoints and a homography most of them agree with to the view they fit (ADR 56).

Most photos are taken straight down, and a fit that expects that is the surer one. Where the keypoints speak
against it, the view is fitted again from the tilt the homography itself asks for, with hardly anything
expected.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.geo.angle import compass_deg, wrap_deg
from nadirfix.options.verify import MatchOptions
from nadirfix.types import Point, View
from nadirfix.verify.matching import ModelEstimate
from nadirfix.verify.pose import FittedView, fit_view, ground_residuals_m, solve_view, view_from_homography
from nadirfix.verify.tilt import TiltPrior, tilted_view_from_homography

__all__ = ["Matches", "fitted_view"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
_Fit = tuple[FittedView | None, Flags]

#: Times that inliers are chosen anew by the fitted view.
_RESELECTIONS = 3
#: A view farther from its hypothesis than this is chance.
_MAX_SCALE, _MAX_TURN_DEG = 1.4, 35.0
#: Matches below which nothing can be fitted.
_FEWEST = 4
#: A usual tilt is at most so many deviations.
_USUAL = 3.0
#: A homography with so many times the inliers of the upright view speaks against it.
_MORE = 1.15
#: So many inliers at least must speak for a tilt: fewer find one by chance.
_FEWEST_TILTED = 12
#: How far from straight down photos are that are not upright, in degrees: a deviation.
_TILTED_SIGMA_DEG = 15.0


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """Matched keypoints of photo and ground, and how a view is fitted to those that agree with it.

    Where the photo was rectified, its pixels are those of the photo as it was taken all the same.
    """

    photo_px: Floats
    ground_m: Floats
    origin: Point
    camera: Camera
    gsd_m: float  # per pixel of the picture that was matched, over the altitude it was matched at
    options: MatchOptions
    known: TiltPrior | None = None  # by the gimbal
    matched_from_photo: Floats | None = None  # homography to the picture that was matched, if rectified

    def fitted(self, start: View, inliers: Flags, tilt: TiltPrior) -> _Fit:
        """Fit to the inliers, choose those of that fit, and again: a homography bends after its points."""
        view = start
        for _ in range(_RESELECTIONS):
            if np.count_nonzero(inliers) < _FEWEST:
                return None, inliers
            view = solve_view(*self._those(inliers), camera=self.camera, start=view, tilt=tilt)
            before, inliers = inliers, self._inliers(view)
            if np.array_equal(before, inliers):
                break
        if np.count_nonzero(inliers) < _FEWEST:
            return None, inliers
        return fit_view(*self._those(inliers), camera=self.camera, start=view, tilt=tilt), inliers

    def _those(self, inliers: Flags) -> tuple[Floats, Floats, Point]:
        return self.photo_px[inliers], self.ground_m[inliers], self.origin

    def _inliers(self, view: View) -> Flags:
        off_m = ground_residuals_m(self.photo_px, self.ground_m, self.origin, camera=self.camera, view=view)
        return np.asarray(off_m <= self.options.inlier_px * self.gsd_m * view.altitude_m, np.bool_)


def fitted_view(
    model: ModelEstimate, ground_from_map: Floats, hypothesis: View, camera: Camera, matches: Matches
) -> _Fit:
    """The view a homography stands for, fitted to its inliers; None where it is far from the hypothesis.

    ``camera`` took the picture that was matched: the photo, or what it was rectified to.
    """
    homography = ground_from_map @ model.map_from_photo
    start = view_from_homography(homography, camera, hypothesis.center)
    expected = matches.known or TiltPrior(matches.options.tilt_sigma_deg)
    usual: _Fit = None, model.inliers
    if _plausible(start, hypothesis):
        usual = matches.fitted(_as_tilted(start, expected), model.inliers, expected)
    found = (
        _freely_fitted(homography, hypothesis, model, matches) if _strained(usual, model, expected) else None
    )
    best = usual if found is None or _inliers(found) < _inliers(usual) else found
    return best if best[0] is None or _plausible(best[0].view, hypothesis) else (None, best[1])


def _strained(usual: _Fit, model: ModelEstimate, expected: TiltPrior) -> bool:
    """Whether keypoints speak against the tilt that is expected: by a gimbal, else straight down."""
    if usual[0] is None or expected.deviations(usual[0].view) > _USUAL:
        return True
    return bool(np.count_nonzero(model.inliers) > _MORE * _inliers(usual))


def _freely_fitted(
    homography: Floats, hypothesis: View, model: ModelEstimate, matches: Matches
) -> _Fit | None:
    """Fitted from the tilt the homography itself asks for; so a wrong gimbal is overruled as well."""
    if matches.matched_from_photo is not None:
        homography = homography @ matches.matched_from_photo
    begin = tilted_view_from_homography(homography, matches.camera, matches.origin)
    if begin is None or not _plausible(begin, hypothesis):
        return None
    free = matches.fitted(begin, model.inliers, TiltPrior(_TILTED_SIGMA_DEG))
    return free if free[0] is not None and _inliers(free) >= _FEWEST_TILTED else None


def _inliers(fit: _Fit) -> int:
    return 0 if fit[0] is None else int(np.count_nonzero(fit[1]))


def _as_tilted(level: View, known: TiltPrior) -> View:
    """The view of the photo as it was taken, from an upright one of the same ground."""
    toward_deg = compass_deg(level.heading_deg + known.toward_top_deg)
    return replace(level, tilt_deg=known.tilt_deg, tilt_toward_deg=toward_deg)


def _plausible(view: View, hypothesis: View) -> bool:
    """Whether a view is one that the hypothesis could have meant; one far from it is chance."""
    ratio = view.altitude_m / hypothesis.altitude_m
    turned_deg = abs(wrap_deg(view.heading_deg - hypothesis.heading_deg))
    return 1 / _MAX_SCALE <= ratio <= _MAX_SCALE and turned_deg <= _MAX_TURN_DEG
