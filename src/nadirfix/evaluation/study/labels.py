"""Labels verified against the map: how far off they are, region by region, and corrected ones (ADR 25)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nadirfix.altitude.posterior import likely_altitudes
from nadirfix.bundle import Bundle
from nadirfix.camera import Camera
from nadirfix.errors import BundleError, InputError
from nadirfix.files import Progress, quiet
from nadirfix.online.altitude import estimate_altitude
from nadirfix.online.photo import DecodedPhoto, read_photo
from nadirfix.options.locate import LocateOptions
from nadirfix.options.verify import LabelOptions, VerifyOptions
from nadirfix.options.voting import VoteOptions
from nadirfix.photo_list import PhotoRecord
from nadirfix.types import Hypothesis, Point, View
from nadirfix.verify.calibration import centre_covariance_m2
from nadirfix.verify.features import Detector
from nadirfix.verify.registration import MatchResult, Registration
from nadirfix.verify.search import HypothesisStage, verify_hypotheses

__all__ = ["CheckedLabel", "check_labels", "regions_of", "summary_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedLabel:
    """A photo's label, and where the map has the photo; or why that cannot be said."""

    row: PhotoRecord
    found: View | None = None
    sigma_m: float | None = None  # deviation of the place found, along each axis
    inliers: int = 0
    why: str = ""  # the label is kept
    unreadable: bool = False

    @property
    def offset_m(self) -> tuple[float, float] | None:
        """Metres east and north from the label to where the photo was taken; None where it is not known."""
        if self.found is None:
            return None
        label = self.row.point.to(self.found.center.epsg)
        return self.found.center.east_m - label.east_m, self.found.center.north_m - label.north_m

    def label_in(self, epsg: int) -> Point | None:
        """The label in this zone; None where it lies too far away to be said in it."""
        try:
            return self.row.point.to(epsg)
        except InputError:
            return None

    def corrected(self) -> PhotoRecord:
        """The row with the place found, in the label's own zone; with its label where there is none."""
        if self.found is None:
            return self.row
        return replace(self.row, point=self.found.center.to(self.row.point.epsg))


def check_labels(
    rows: Sequence[PhotoRecord],
    bundle: Bundle,
    *,
    camera: Camera | None = None,
    options: LabelOptions,
    progress: Progress = quiet,
) -> list[CheckedLabel]:
    """Every label verified against the map around it; a photo that cannot be read keeps its label."""
    if bundle.matcher_name is None:
        raise _no_matcher(bundle)
    detector = bundle.keypoint_detector(replace(options.verification.features, keypoints=options.keypoints))
    checked: list[CheckedLabel] = []
    for row in rows:
        progress("checking labels", len(checked), len(rows))
        checked.append(_checked(row, bundle, camera, detector, options))
    progress("checking labels", len(rows), len(rows))
    return checked


def _checked(
    row: PhotoRecord, bundle: Bundle, camera: Camera | None, detector: Detector, options: LabelOptions
) -> CheckedLabel:
    try:
        photo = read_photo(row.photo, camera, bundle, LocateOptions())
        views, verification = _views(row, photo, bundle, options)
    except InputError as error:
        return CheckedLabel(row=row, why=str(error), unreadable=True)
    ground = bundle.texture
    registration = Registration(
        photo.pixels, photo.camera, texture=ground, detector=detector, options=verification.match
    )
    verdict = verify_hypotheses(
        [HypothesisStage([Hypothesis(view, 0.0) for view in views])], registration, verification
    )
    confirmed = verdict.confirmed
    if confirmed is None:
        return CheckedLabel(row=row, why=verdict.reason or "")
    return CheckedLabel(
        row=row, found=confirmed.view, inliers=confirmed.inliers, sigma_m=_sigma_m(confirmed, verification)
    )


def _views(
    row: PhotoRecord, photo: DecodedPhoto, bundle: Bundle, options: LabelOptions
) -> tuple[Iterator[View], VerifyOptions]:
    """Views to verify, those nearest the label first; and how far around each one the map is searched.

    One match reaches half a photo's width: beyond that the photo's own ground would be the lesser part of it.
    """
    altitudes = _altitudes_m(row, photo, bundle, options)
    wide_m = min(photo.camera.footprint_m(altitude)[0] for altitude in altitudes)
    match_reach_m = min(options.reach_m, wide_m / 2)
    points = list(_around(row.point.to(bundle.epsg), options.reach_m, match_reach_m))
    first, *others = headings = _headings_deg(row, options)
    known = row.heading_deg is not None
    tries = [(point, first) for point in points] if known else []
    tries += [(point, h) for point in points for h in (others if known else headings)]
    views = (View(point, a, h) for point, h in tries for a in altitudes)
    match = replace(options.verification.match, reach_m=match_reach_m)
    return views, replace(options.verification, match=match)


def _altitudes_m(row: PhotoRecord, photo: DecodedPhoto, bundle: Bundle, options: LabelOptions) -> list[float]:
    """The label's altitude; the few most likely from the picture where it has none."""
    if row.altitude_m is not None:
        return [row.altitude_m]
    estimate = estimate_altitude(photo, bundle).estimate
    few = VoteOptions(max_altitudes=options.altitudes)
    return [level.altitude_m for level in likely_altitudes(estimate, [], few)]


def _headings_deg(row: PhotoRecord, options: LabelOptions) -> list[float]:
    """The label's heading first, then all round: what a data set calls heading is often something else."""
    first = row.heading_deg or 0.0
    steps = sorted(range(options.headings), key=lambda k: min(k, options.headings - k))
    return [(first + 360.0 * k / options.headings) % 360 for k in steps]


def _around(label: Point, reach_m: float, match_reach_m: float) -> Iterator[Point]:
    """Points whose matches together cover the reach around a label, the nearest first."""
    side = math.ceil(max(reach_m - match_reach_m, 0.0) / (2 * match_reach_m) - 1e-9)
    steps = [(i, k) for i in range(-side, side + 1) for k in range(-side, side + 1)]
    for i, k in sorted(steps, key=lambda s: s[0] ** 2 + s[1] ** 2):
        yield label.moved(2 * match_reach_m * i, 2 * match_reach_m * k)


def _sigma_m(confirmed: MatchResult, verification: VerifyOptions) -> float:
    return math.sqrt(float(np.trace(centre_covariance_m2(confirmed, verification))) / 2)


def regions_of(checked: Sequence[CheckedLabel], *, epsg: int, region_m: float) -> list[dict[str, Any]]:
    """Offsets by squares of the zone, by where labels lie; from the south-west, row by row.

    Labels on the other side of the Earth lie in none.
    """
    squares: dict[tuple[int, int], list[CheckedLabel]] = {}
    for one in checked:
        if (label := one.label_in(epsg)) is None:
            continue
        square = math.floor(label.north_m / region_m), math.floor(label.east_m / region_m)
        squares.setdefault(square, []).append(one)
    return [
        {"easting_m": east * region_m, "northing_m": north * region_m, "side_m": region_m}
        | _offsets(squares[north, east])
        for north, east in sorted(squares)
    ]


def summary_of(checked: Sequence[CheckedLabel], *, epsg: int, options: LabelOptions) -> dict[str, Any]:
    """What was measured of all labels together, and region by region."""
    sigmas = [one.sigma_m for one in checked if one.sigma_m is not None]
    return {
        **_offsets(checked),
        "unreadable": sum(one.unreadable for one in checked),
        "sigma_m": round(float(np.median(sigmas)), 3) if sigmas else None,
        "epsg": epsg,
        "reach_m": options.reach_m,
        "regions": regions_of(checked, epsg=epsg, region_m=options.region_m),
    }


def _offsets(checked: Sequence[CheckedLabel]) -> dict[str, Any]:
    """The median offset of some labels, and how far single ones lie from it."""
    known = np.array([one.offset_m for one in checked if one.offset_m is not None]).reshape(-1, 2)
    counts = {"photos": len(checked), "matched": len(known)}
    if not len(known):
        return counts | dict.fromkeys(("east_m", "north_m", "offset_m", "residual_m", "residual_p90_m"))
    middle = np.median(known, axis=0)
    rest = np.hypot(*(known - middle).T)
    offsets = {
        "east_m": middle[0],
        "north_m": middle[1],
        "offset_m": np.median(np.hypot(*known.T)),
        "residual_m": np.median(rest),
        "residual_p90_m": np.percentile(rest, 90),
    }
    return counts | {name: round(float(value), 3) for name, value in offsets.items()}


def _no_matcher(bundle: Bundle) -> BundleError:
    return BundleError(
        "bundle.no_matcher",
        "the bundle carries no matcher to verify photos against its map with",
        seen=f"{bundle.path}: no matcher",
        do='build it with another recipe: "standard", or matcher = "standard" in one of your own',
    )
