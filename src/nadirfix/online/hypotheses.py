"""Views a photo may show: from its middle, from a sweep over altitudes, and from all of its frame."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from nadirfix.altitude.posterior import Level, believed, likely_altitudes
from nadirfix.altitude.sweep import AltitudePosterior, posterior_of
from nadirfix.online.altitude import estimate_altitude, sweep_altitudes
from nadirfix.online.answer import Evidence
from nadirfix.online.prior import rows_in_question
from nadirfix.options.locate import LocateOptions
from nadirfix.options.sweep import SweepOptions
from nadirfix.options.voting import VoteOptions
from nadirfix.retrieval.crops import PhotoCrops, ReferenceSearch, Scale
from nadirfix.retrieval.hypotheses import hypotheses, hypotheses_of_middle, hypotheses_of_sweep
from nadirfix.retrieval.voting import Votes, merged
from nadirfix.timing import Stopwatch
from nadirfix.types import AltitudeEstimate, Hypothesis, KnownAltitude

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle
    from nadirfix.bundle.plan import Plan

__all__ = ["PhotoHypotheses"]

#: Low references propose views from up to so many times the altitude at which a frame covers a usual one, and
#: usual ones from this share of it: between both, both do.
_LOW_UP_TO, _USUAL_FROM = 1.3, 0.9
#: The whole frame votes at so many altitudes among each of two sets of references.
_PROMISING = 3


class PhotoHypotheses:
    """Views one photo may show, each kind made when it is asked for; its crops are described once."""

    def __init__(
        self, evidence: Evidence, bundle: Bundle, plan: Plan, options: LocateOptions, watch: Stopwatch
    ) -> None:
        self._evidence, self._photo, self._altitude = evidence, evidence.photo, evidence.altitude
        self._bundle, self._plan, self._options, self._watch = bundle, plan, options, watch

    def from_middle(self, options: VoteOptions) -> list[Hypothesis]:
        """From the crop that was retrieved with, at the altitude it was cut for, among all cells."""
        if not self._plan.cropped or self._altitude.gsd_m is None:
            return []
        with self._watch.stage("votes"):
            return hypotheses_of_middle(self._crops, Scale(self._altitude.gsd_m, 1.0), options)

    def from_sweep(self, options: VoteOptions) -> list[Hypothesis]:
        """From the photo's middle at every altitude: the likeliest by the map and all else that is known."""
        sweep = self._sweep
        if sweep is None:
            return []
        votes = self._swept
        altitude_m = votes.gsd_m * self._photo.camera.altitude_m(1.0)
        trusted = believed(
            altitude_m, self._estimate, self._altitude.known, options, floor=sweep.spectrum_floor
        )
        return self._of_sweep(replace(votes, weight=votes.weight * trusted), sweep)

    def from_spectrum(self, options: VoteOptions) -> list[Hypothesis]:
        """From the photo's middle at altitudes by spectrum and tags alone: where the ground has changed the
        map may point elsewhere.
        """
        levels = likely_altitudes(self._estimate, self._altitude.known, options)
        with self._watch.stage("votes"):
            return hypotheses(self._crops, self._scales(levels, options), options)

    def from_frame(self, options: VoteOptions) -> list[Hypothesis]:
        """From the whole frame, at every altitude in question."""
        levels = self._levels(options)
        low = None if self._sweep is None else self._low_crops
        with self._watch.stage("votes"):
            if low is None:
                return hypotheses(self._crops, self._scales(levels, options), options)
            covered_m = self.covered_m
            usual = [one for one in levels if one.altitude_m >= _USUAL_FROM * covered_m]
            lower = [one for one in levels if one.altitude_m <= _LOW_UP_TO * covered_m]
            fewer = replace(options, promising=min(options.promising, _PROMISING))
            found = [
                hypotheses(crops, self._scales(some, fewer), fewer)
                for crops, some in ((self._crops, usual), (low, lower))
                if some
            ]
            return found[0] if len(found) == 1 else merged(found[0], found[1], options)

    def from_frame_by_spectrum(self, options: VoteOptions) -> list[Hypothesis]:
        """From the whole frame at altitudes by spectrum and tags alone; nothing where that was all there was.

        Where the map pointed to wrong altitudes the frame has not voted at the right one yet.
        """
        if self._sweep is None:
            return []
        levels = likely_altitudes(self._estimate, self._altitude.known, options)
        with self._watch.stage("votes"):
            return hypotheses(self._crops, self._scales(levels, options), options)

    @property
    def altitude_by_map(self) -> AltitudePosterior | None:
        """The altitude by the map alone; None where none was swept for."""
        if self._sweep is None:
            return None
        return _posterior(self._of_sweep(self._swept, self._sweep), self._sweep)

    @property
    def altitude(self) -> AltitudePosterior | None:
        """The altitude by the map and all else that is known; None where none was swept for."""
        if self._sweep is None:
            return None
        return _posterior(self.from_sweep(self._options.votes), self._sweep)

    @property
    def swept_altitude(self) -> KnownAltitude | None:
        """What the map says of the altitude, to be reported; None where it did not come to that."""
        if self._sweep is None or "_swept" not in vars(self):
            return None
        posterior = self.altitude_by_map
        assert posterior is not None
        return KnownAltitude(posterior.altitude_m, posterior.sigma * posterior.altitude_m, "map")

    @property
    def levels(self) -> list[PhotoCrops]:
        """The photo's crops among usual references and, where there are any, among low ones."""
        return [self._crops] if self._low_crops is None else [self._crops, self._low_crops]

    @property
    def _sweep(self) -> SweepOptions | None:
        return self._options.sweep if self._plan.sweeps else None

    def _of_sweep(self, votes: Votes, sweep: SweepOptions) -> list[Hypothesis]:
        return hypotheses_of_sweep(
            votes, self._photo.camera, self._bundle.epsg, self._options.votes, scale=sweep.scale
        )

    @cached_property
    def _swept(self) -> Votes:
        """The votes of the photo's middle at every altitude."""
        assert self._sweep is not None
        with self._watch.stage("sweep"):
            return sweep_altitudes(self.levels, self._bundle, self._sweep)

    @cached_property
    def _crops(self) -> PhotoCrops:
        """The photo's crops, of which the middle that was retrieved with is embedded already."""
        search, within = self._bundle.reference_search, self._evidence.found.within
        if within is not None:
            search = replace(search, nearest=partial(self._bundle.index.nearest, within=within))
        crops = PhotoCrops(self._photo.pixels, self._photo.camera, search)
        if self._plan.cropped and self._altitude.gsd_m is not None:
            crops.cache_middle(self._altitude.gsd_m, self._evidence.found.embedding)
        return crops

    @cached_property
    def _low_crops(self) -> PhotoCrops | None:
        """The same among references for photos from low above."""
        search = self._bundle.low_reference_search
        return None if search is None else self._crops.sharing(self._restricted(search))

    def _restricted(self, search: ReferenceSearch) -> ReferenceSearch:
        """The low references that what is known leaves in question."""
        rows = rows_in_question(
            self._evidence.known, self._photo.camera, self._altitude, self._bundle, self._options.priors,
            among=search,
        )  # fmt: skip
        return search if rows is None else replace(search, nearest=partial(search.nearest, within=rows))

    @cached_property
    def _estimate(self) -> AltitudeEstimate | None:
        """The spectrum's estimate; made now where an altitude was given, and that not exactly."""
        altitude, estimate = self._altitude, self._altitude.estimate
        if estimate is None and (altitude.sigma_m or not altitude.known):
            return estimate_altitude(self._photo, self._bundle).estimate
        return estimate

    def _levels(self, options: VoteOptions) -> list[Level]:
        """Altitudes in question: by the spectrum, by what is known and, where it is wanted, by the map."""
        known, sweep = self._altitude.known, self._sweep
        if sweep is None:
            return likely_altitudes(self._estimate, known, options)
        return likely_altitudes(
            self._estimate, known, options, sweep=self.altitude_by_map, beyond_classes=sweep.beyond_classes
        )

    def _scales(self, levels: Sequence[Level], options: VoteOptions) -> list[Scale]:
        camera = self._photo.camera
        return [Scale(camera.gsd_m(self._as_cut(level.altitude_m, options)), level.share) for level in levels]

    @property
    def covered_m(self) -> float:
        """The altitude at which the frame just covers a usual reference."""
        camera = self._photo.camera
        wide_m, high_m = self._bundle.canonical.footprint_m
        return max(wide_m * camera.fx_px / camera.width_px, high_m * camera.fy_px / camera.height_px)

    def _as_cut(self, altitude_m: float, options: VoteOptions) -> float:
        """The altitude, or the one the middle was cut for where they are as good as the same."""
        before_m = self._altitude.altitude_m
        same = before_m is not None and abs(math.log(altitude_m / before_m)) < options.scale / 2
        return before_m if same and before_m is not None else altitude_m


def _posterior(found: Sequence[Hypothesis], sweep: SweepOptions) -> AltitudePosterior:
    altitude_m = np.array([one.view.altitude_m for one in found])
    return posterior_of(altitude_m, np.array([one.score for one in found]), sweep)
