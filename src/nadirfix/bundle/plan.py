"""Which stages a photo goes through, decided once: everybody who needs to know asks the plan (ADR 44)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from nadirfix.options.locate import LocateOptions

__all__ = ["AnsweredBy", "Plan", "PlannedBundle", "answered_by"]

#: Who has the last word: geometric verification, the votes of the whole frame, or the retrieved references.
AnsweredBy = Literal["verification", "voting", "retrieval"]

_USUAL = LocateOptions()


class PlannedBundle(Protocol):
    """What of a bundle the plan depends on."""

    @property
    def matcher_name(self) -> str | None:
        """The keypoint extractor it carries, if any."""

    @property
    def described(self) -> bool:
        """Whether its place network never saw the map."""

    @property
    def reference_count(self) -> int:
        """How many reference views there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How one photo will be located, from what the bundle carries, what is wanted, and what is known."""

    cropped: bool  # to the references' scale; False: the whole photo, as if its altitude were not known
    cells: int  # how many of the likeliest are searched; 0: all
    answered_by: AnsweredBy
    sweeps: bool = False  # over altitudes, to let the map say how high, where the first hypotheses fail

    @classmethod
    def of(
        cls, bundle: PlannedBundle, options: LocateOptions = _USUAL, *, altitude_given: bool = False
    ) -> Plan:
        """The plan for a photo on this bundle."""
        decides = answered_by(bundle, options, altitude_given=altitude_given)
        known = altitude_given or not options.crop
        return cls(
            cropped=options.crop,
            cells=_cells(bundle, options),
            answered_by=decides,
            sweeps=decides == "verification" and not known and options.sweep is not None and bundle.described,
        )

    @property
    def estimates_altitude(self) -> bool:
        """Whether the altitude network is opened beforehand."""
        return self.cropped

    @property
    def verifies(self) -> bool:
        """Whether the map confirms the answer, or refuses it."""
        return self.answered_by == "verification"

    @property
    def votes(self) -> bool:
        """Whether the whole frame proposes views: to answer, or to be verified."""
        return self.answered_by != "retrieval"

    @property
    def ties_matter(self) -> bool:
        """Whether the last candidate decides, so that rounding must not choose it."""
        return self.answered_by == "retrieval"


def answered_by(
    bundle: PlannedBundle, options: LocateOptions = _USUAL, *, altitude_given: bool = False
) -> AnsweredBy:
    """Who has the last word. Without an altitude there is no scale at which to match or to vote."""
    if not (options.crop or altitude_given):
        return "retrieval"
    if options.verify and bundle.matcher_name is not None:
        return "verification"
    # Networks that never saw the map tell its cells apart badly; all crops of the frame together do not.
    voting = bundle.described if options.whole_frame is None else options.whole_frame
    return "voting" if voting else "retrieval"


def _cells(bundle: PlannedBundle, options: LocateOptions) -> int:
    """As many as wanted; else three, or all of a map that is small enough and that nothing was trained on."""
    if options.cells is not None:
        return options.cells
    everywhere = bundle.described and bundle.reference_count <= options.search_all_up_to
    return 0 if everywhere else options.published_cells
