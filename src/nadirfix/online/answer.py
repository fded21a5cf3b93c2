"""The answer, put together once: what retrieval, votes or verification found becomes one Fix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nadirfix.image.photo_source import Photo
from nadirfix.online.altitude import PhotoAltitude
from nadirfix.online.photo import DecodedPhoto
from nadirfix.prior import Prior
from nadirfix.types import Fix, Hypothesis, KnownAltitude, Point, ReasonCode, status_of
from nadirfix.verify.result import VerifiedPlace

if TYPE_CHECKING:
    from nadirfix.online.retrieve import Retrieved
    from nadirfix.retrieval.wce import Fused

__all__ = ["Answer", "Evidence", "Placement", "assemble_fix", "refused", "retrieved", "verified", "voted"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What every answer about one photo rests on, whichever stage has the last word."""

    photo: DecodedPhoto
    altitude: PhotoAltitude
    found: Retrieved
    fused: Fused | None  # None: the cells that were searched hold no references
    crop_clamped: bool
    known: Prior = field(default_factory=Prior)  # what the pilot knows, and the search was narrowed by

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the pilot should know of the photo and its estimated altitude."""
        return self.photo.warnings + self.altitude.warnings

    @property
    def weights(self) -> Floats | None:
        """What each candidate counts in the weighted coordinate."""
        return self.fused.weights if self.fused else None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Placement:
    """Where one stage puts the photo, and how sure it is; without a position, why there is none."""

    position: Point | None
    altitude_m: float | None
    gsd_m: float | None
    heading_deg: float | None
    footprint_m: tuple[float, float] | None
    weights: Floats | None
    reason: str | None = None
    reason_code: ReasonCode | None = None
    verified: bool | None = None
    confidence: float | None = None
    inliers: int | None = None
    place: VerifiedPlace | None = None  # what the map adds: radius, tilt, aircraft


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """The placement that is answered, and others that came into question."""

    best: Placement
    others: tuple[Placement, ...] = ()
    warnings: tuple[str, ...] = ()
    altitude_by_map: KnownAltitude | None = None  # where the map was swept for it


def assemble_fix(name: Photo, evidence: Evidence, answer: Answer, timings_ms: Mapping[str, float]) -> Fix:
    """The only place where an answer becomes a Fix."""
    others = tuple(_fix(name, evidence, other, warnings=evidence.warnings) for other in answer.others)
    return _fix(
        name, evidence, answer.best, warnings=answer.warnings, others=others, timings_ms=timings_ms,
        by_map=answer.altitude_by_map,
    )  # fmt: skip


def _fix(
    name: Photo,
    evidence: Evidence,
    placement: Placement,
    *,
    warnings: tuple[str, ...],
    others: tuple[Fix, ...] = (),
    timings_ms: Mapping[str, float] | None = None,
    by_map: KnownAltitude | None = None,
) -> Fix:
    place = placement.place
    return Fix(
        photo=str(name) if isinstance(name, str | Path) else "",
        status=status_of(placement.position, placement.verified),
        position=placement.position,
        altitude=evidence.altitude.estimate,
        altitude_sources=(*evidence.altitude.sources, *([by_map] if by_map else [])),
        altitude_m=placement.altitude_m,
        # As fine as the photo's own pixels are, however it was decoded.
        gsd_m=None if placement.gsd_m is None else placement.gsd_m / evidence.photo.reduction,
        heading_deg=placement.heading_deg,
        footprint_m=placement.footprint_m,
        candidates=evidence.found.candidates,
        weights=placement.weights,
        confidence=placement.confidence,
        radius95_m=place.radius95_m if place else None,
        covariance_m2=place.covariance_m2 if place else None,
        hypotheses=others,
        verified=placement.verified,
        inliers=placement.inliers,
        tilt_deg=place.view.tilt_deg if place else None,
        tilt_toward_deg=place.view.tilt_toward_deg if place else None,
        aircraft=place.aircraft if place else None,
        reason=placement.reason,
        reason_code=placement.reason_code,
        crop_clamped=evidence.crop_clamped,
        warnings=warnings,
        timings_ms=dict(timings_ms or {}),
    )


def retrieved(evidence: Evidence) -> Placement:
    """Where the references put the photo: the published answer."""
    fused, altitude_m = evidence.fused, evidence.altitude.altitude_m
    if fused is None:
        return refused("off_map", _without_references(evidence))
    return Placement(
        position=fused.position,
        altitude_m=altitude_m,
        gsd_m=evidence.altitude.gsd_m,
        heading_deg=float(evidence.found.candidates.heading_deg[0]) % 360,
        footprint_m=None if altitude_m is None else evidence.photo.camera.footprint_m(altitude_m),
        weights=evidence.weights,
    )


def _without_references(evidence: Evidence) -> str:
    """Why there are no references to compare the photo with."""
    if evidence.found.within is None:
        return "the likeliest cells hold no references: 0 of the map's lie in them"
    return "the map has no ground where the photo was said to be taken: no reference agrees with that"


def voted(evidence: Evidence, best: Hypothesis) -> Placement:
    """Where the frame's votes put the photo; an altitude that was given is believed."""
    view, camera, altitude = best.view, evidence.photo.camera, evidence.altitude
    altitude_m = altitude.altitude_m if altitude.estimate is None else view.altitude_m
    assert altitude_m is not None  # without an altitude nothing votes
    return Placement(
        position=view.center,
        altitude_m=altitude_m,
        gsd_m=altitude.gsd_m if altitude.estimate is None else camera.gsd_m(altitude_m),
        heading_deg=view.heading_deg,
        footprint_m=camera.footprint_m(altitude_m),
        weights=evidence.weights,
    )


def verified(evidence: Evidence, place: VerifiedPlace, *, confirmed: bool) -> Placement:
    """Where the map puts the photo; a place that is not confirmed is only worth telling."""
    view, camera = place.view, evidence.photo.taken_by
    return Placement(
        position=view.center,
        altitude_m=view.altitude_m,
        gsd_m=camera.gsd_m(view.altitude_m),
        heading_deg=view.heading_deg,
        footprint_m=camera.footprint_m(view.altitude_m),
        weights=evidence.weights,
        verified=confirmed,
        confidence=place.confidence,
        inliers=place.inliers,
        place=place,
    )


def refused(
    code: ReasonCode, reason: str, *, verified: bool | None = None, inliers: int | None = None
) -> Placement:
    """No fix, and why: nothing that reads like an answer goes with it, neither altitude nor confidence."""
    return Placement(
        position=None, altitude_m=None, gsd_m=None, heading_deg=None, footprint_m=None, weights=None,
        reason=reason, reason_code=code, verified=verified, inliers=inliers,
    )  # fmt: skip
