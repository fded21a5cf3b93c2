"""Where the constants of CalibrationOptions come from: places and photos on which nothing is evaluated.

Photos of the newer date are verified against the map of the older one, at their true view displaced as
retrieval leaves it (30 m, 15°, 12 %), and at other places. ``--degraded MAP.tif`` adds photos of a map's own
date that were blurred, hazed, shaded, recoloured and covered in part; ``--real OLD.tif MANIFEST.csv`` photos
of another date of a real map, other views than those that are evaluated.

Maps of two dates never lie exactly on each other, and all but the real ones would: every such photo is warped
against its map by a smooth field of its own, waves of 80 to 1200 m, 0.2 to 4 m strong (``--warp-m``). That
range is an assumption; what is calibrated is how much of such a warp the keypoints of a photo give away.

Confidence: a logistic curve over the inlier score, from how the tail of wrong matches falls off with it.
Radius: inflation, weight of the uncovered part of the frame and floor under which errors are likeliest, every
place counting alike, among those that hold 96 of 100 truths at every place: one more than is promised, as
places that matter are others. For each place, what the others alone would choose is reported as well.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import math
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.accuracy.verify import detector
from bench.lib.calibration_places import CAMERA, Place, places
from bench.lib.displaced import moved
from bench.lib.record import record
from nadirfix.options.verify import CalibrationOptions, SearchOptions, VerifyOptions
from nadirfix.verify.calibration import confidence_of, inlier_score, radii95_m, uncovered_m
from nadirfix.verify.features import Detector
from nadirfix.verify.registration import MAP_SAMPLING, MatchResult, Registration
from nadirfix.verify.search import match_view

RIGHT_M = 25.0
WRONG = 0.005
HELD = 0.96


@dataclasses.dataclass(frozen=True)
class Row:
    """One match of a photo with the map, and what is true about it."""

    result: MatchResult
    off_m: float
    right: bool
    place: str
    elsewhere: bool  # the view it was matched at shows nothing of the photo's ground


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--worlds", type=int, nargs="*", default=[31, 32, 33])
    options.add_argument("--size-m", type=float, default=1600.0)
    options.add_argument("--degraded", type=Path, nargs="*", default=[])
    options.add_argument("--real", type=Path, nargs=2, action="append", default=[])
    options.add_argument("--count", type=int, default=60, help="photos per place")
    options.add_argument("--wrong", type=int, default=6, help="other places each photo is matched at")
    options.add_argument("--warp-m", type=float, nargs=2, default=[0.2, 4.0])
    options.add_argument("--seed", type=int, default=77)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        keypoints = detector("xfeat", Path(name))
        rows = [row for place in places(given, Path(name)) for row in matches(place, keypoints, given)]
    measured = {"seed": given.seed, "worlds": given.worlds, "degraded": [p.stem for p in given.degraded]}
    measured |= {"real": [p.stem for p, _ in given.real]}
    measured |= {"warp_m": given.warp_m} | confidence(rows) | radius(rows)
    for key, value in measured.items():
        print(f"{key}: {value}")
    print(f"wrote {record('calibrate', measured)}")


def matches(place: Place, keypoints: Detector, given: argparse.Namespace) -> Iterator[Row]:
    """Each photo at its displaced true view, and at other places turned at random."""
    rng, options = np.random.default_rng(given.seed), VerifyOptions()
    ground, taken = place.map.rendered_with(MAP_SAMPLING), place.photos
    for i, (pixels, true) in enumerate(taken):
        registration = Registration(pixels, CAMERA, texture=ground, detector=keypoints, options=options.match)
        others = [taken[(i + 7 + k) % len(taken)][1].center for k in range(given.wrong)]
        others = others if i < given.count else []
        views = [moved(true, rng)]
        views += [
            dataclasses.replace(moved(true, rng), center=p, heading_deg=rng.uniform(0, 360)) for p in others
        ]
        for number, view in enumerate(views):
            match = match_view(view, registration, options)
            if number == 0 and match.fitted is None:
                continue  # no match where it is: it would be refused, and says nothing of wrong matches
            off_m = match.view.center.distance_m(true.center)
            right = match.fitted is not None and off_m < RIGHT_M  # a wide frame may be found from afar
            elsewhere = view.center.distance_m(true.center) > 2 * CAMERA.footprint_m(true.altitude_m)[0]
            yield Row(match, off_m, right, place.name, elsewhere)


def confidence(rows: Sequence[Row]) -> dict[str, Any]:
    """A logistic curve: beyond its 90th percentile the inlier score of wrong matches falls off geometrically.

    How fast follows from how far the tenth beyond it lies beyond it, on average. An answer is given from the
    score that any match of a photo elsewhere reaches for one photo in so many (``WRONG``). Matches at views
    that may show a part of the photo's own ground are left out.
    """
    calibration, search = CalibrationOptions(), SearchOptions()
    scores = np.array([inlier_score(row.result, calibration) for row in rows], float)
    right, elsewhere = np.array([row.right for row in rows]), np.array([row.elsewhere for row in rows])
    wrong = scores[elsewhere]
    start = float(np.percentile(wrong, 90))
    beyond = wrong[wrong > start] - start
    slope, share = 1 / float(beyond.mean()), len(beyond) / len(wrong)
    hypotheses = search.middle + search.swept + search.altitude_sweep + 2 * search.whole_frame
    enough = start + math.log(hypotheses * share / WRONG) / slope
    odds = math.log(search.min_confidence / (1 - search.min_confidence))
    return {
        "matches": {"right": int(right.sum()), "elsewhere": len(wrong)},
        "enough_score": round(enough, 2),
        "confidence_middle": round(enough - odds / slope, 2),
        "confidence_slope": round(slope, 3),
        "right_answered_percent": round(100 * float(np.mean(scores[right] >= enough)), 1),
        "score_right_percentiles": [round(float(np.percentile(scores[right], q)), 1) for q in (1, 5, 50)],
        "score_wrong_percentiles": np.percentile(wrong, (50, 90, 95, 99, 100)).round(1).tolist(),
    }


def radius(rows: Sequence[Row]) -> dict[str, Any]:
    """The constants under which errors are likeliest, of those that hold enough truths at every place."""
    calibration, enough = CalibrationOptions(), SearchOptions().min_confidence
    good = [row for row in rows if row.right and confidence_of(row.result, calibration) >= enough]
    every, names = Known(good), ("inflate", "uncovered", "floor_m")
    off_m = np.percentile(every.off_m, (50, 90, 95))
    return {
        "answers": len(good),
        "now": every.summary(calibration.inflate, calibration.uncovered, calibration.floor_m),
        "chosen": dict(zip(names, chosen(every), strict=True)),
        "held_where_the_others_choose": {
            name: Known([row for row in good if row.place == name]).summary(
                *chosen(Known([row for row in good if row.place != name]))
            )[name]
            for name in every.here
        },
        "error_m_percentiles": np.round(off_m, 2).tolist(),
    }


def chosen(known: Known) -> tuple[float, ...]:
    steps = (np.arange(0.0, 8.01, 0.5), np.arange(0.0, 2.01, 0.1), np.arange(0.0, 3.01, 0.1))
    holding = (constants for constants in itertools.product(*steps) if known.worst(*constants) >= HELD)
    best = max(holding, key=lambda constants: known.likelihood(*constants))
    return tuple(round(float(value), 2) for value in best)


class Known:
    """What is known of some answers, as arrays, so that many constants can be tried."""

    def __init__(self, good: Sequence[Row]) -> None:
        fits = [row.result.fitted for row in good]
        self.off_m = np.array([row.off_m for row in good])
        self.fit_m2 = np.array([np.linalg.eigvalsh(fit.covariance[:2, :2]) for fit in fits if fit])
        self.uncovered_m2 = np.array([uncovered_m(row.result, VerifyOptions()) for row in good]) ** 2
        places = np.array([row.place for row in good])
        self.here = {str(name): np.flatnonzero(places == name) for name in np.unique(places)}

    def spread_m2(self, inflate: float, uncovered: float, floor_m: float) -> np.ndarray:
        unknown_m2 = np.maximum(uncovered**2 * self.uncovered_m2, floor_m**2)
        return inflate**2 * self.fit_m2 + unknown_m2[:, None]

    def radii_m(self, *constants: float) -> np.ndarray:
        return radii95_m(self.spread_m2(*constants))

    def worst(self, *constants: float) -> float:
        """The share of truths inside, at the place that has the fewest."""
        inside = self.off_m <= self.radii_m(*constants)
        return min(float(inside[here].mean()) for here in self.here.values())

    def likelihood(self, *constants: float) -> float:
        """Logarithm of how likely the errors are, under plane Gaussians; every place counts alike."""
        spread = np.maximum(self.spread_m2(*constants).mean(axis=1), 1e-6)
        log_likelihood = -np.log(spread) - self.off_m**2 / (2 * spread)
        return float(np.mean([log_likelihood[here].mean() for here in self.here.values()]))

    def summary(self, *constants: float) -> dict[str, dict[str, float]]:
        radii = self.radii_m(*constants)
        inside = self.off_m <= radii
        return {
            name: {
                "coverage": round(100 * float(inside[here].mean()), 1),
                "radius_median_m": round(float(np.median(radii[here])), 2),
            }
            for name, here in self.here.items()
        }


if __name__ == "__main__":
    main()
