"""Walking through the hypotheses until the map confirms one, or saying that it confirms none."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol

from nadirfix.geo.angle import turn_deg
from nadirfix.options.verify import VerifyOptions
from nadirfix.options.voting import VoteOptions
from nadirfix.types import Hypothesis, View
from nadirfix.verify.calibration import confidence_of, support_of
from nadirfix.verify.registration import Comparison, Sighting

__all__ = ["Guesses", "Verdict", "Wave", "decide", "from_middle_to_whole", "look_at"]


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """What the map says to all hypotheses: the one it confirms, or why there is none."""

    sightings: tuple[Sighting, ...]  # everything that was looked at, the best supported first
    reason: str | None  # None: the first sighting is confirmed

    @property
    def confirmed(self) -> Sighting | None:
        """The sighting that is believed, if there is one."""
        return self.sightings[0] if self.reason is None else None

    @property
    def places(self) -> tuple[Sighting, ...]:
        """The best sighting of each place the map shows anything of the photo at, best supported first."""
        kept: list[Sighting] = []
        for one in self.sightings:
            if one.fitted is not None and not any(_same_place(one.view, other.view) for other in kept):
                kept.append(one)
        return tuple(kept)


@dataclass(frozen=True, slots=True, eq=False)
class Wave:
    """Hypotheses that were thought of together, the likeliest first, and how many of them are looked at."""

    hypotheses: Sequence[Hypothesis]
    looks: int = sys.maxsize


class Guesses(Protocol):
    """Where hypotheses come from."""

    def of_middle(self, how: VoteOptions) -> list[Hypothesis]:
        """What looks like the middle of the photo, for nothing: it has been asked already."""

    def voted(self, how: VoteOptions) -> list[Hypothesis]:
        """What the whole frame votes for."""


def from_middle_to_whole(guess: Guesses, votes: VoteOptions, options: VerifyOptions) -> Iterator[Wave]:
    """What looks like the photo's middle; if the map confirms none of that, its middle at every altitude.

    And if it confirms none of those either, the whole frame at every altitude. Each wave costs ten times the
    one before and is asked for only when it comes to that.
    """
    if options.middle:
        yield Wave(guess.of_middle(votes), options.middle)
    if options.ladder:
        yield Wave(guess.voted(replace(votes, crops=1, sure=math.inf)), options.ladder)
    if options.whole:
        yield Wave(guess.voted(replace(votes, sure=math.inf)), options.whole)


def decide(waves: Iterable[Wave], compare: Comparison, options: VerifyOptions) -> Verdict:
    """Look at hypotheses in their order and stop at the first the map confirms and no other rivals.

    Waves are taken one by one, so that those it never comes to need never be thought of.
    """
    points = compare.points()
    if points < options.min_points:
        return Verdict((), f"too little texture in the photo: {points} points to go by")
    seen = _looks(waves, compare, options)
    best_first = sorted(seen, key=lambda s: (-support_of(s, options.trust), -s.inliers))
    return Verdict(tuple(best_first), _objection(best_first, options))


def _looks(waves: Iterable[Wave], compare: Comparison, options: VerifyOptions) -> list[Sighting]:
    """Sightings until one is sure and enough other places were tried and found wanting."""
    seen: list[Sighting] = []
    asked: list[View] = []
    for wave in waves:
        fresh = _fresh(wave, asked, options)
        while some := list(islice(fresh, options.abreast)):
            found, sure = _abreast(some, asked, compare, options)
            seen += found
            if sure is not None:
                rivals = _rivals(*sure, wave, asked, options)
                return seen + [look_at(view, compare, options) for view in rivals]
    return seen


def _abreast(
    some: Sequence[Hypothesis], asked: list[View], compare: Comparison, options: VerifyOptions
) -> tuple[list[Sighting], tuple[Sighting, float] | None]:
    """A look at each of a few, then closer ones, until one is sure: that one and its score come second.

    A wrong place costs closer looks when some points agree by chance; often the next is right beyond doubt.
    """
    firsts: list[tuple[Sighting, float]] = []
    for one, found in zip(some, compare.first_looks([h.view for h in some]), strict=False):
        asked.append(one.view)
        firsts.append((found, one.score))
        if support_of(found, options.trust) >= options.beyond_doubt:
            return [found for found, _ in firsts], firsts[-1]
    seen = [found for found, _ in firsts]
    for i in sorted(range(len(seen)), key=lambda i: -support_of(seen[i], options.trust)):
        seen[i] = _closer(seen[i], compare, options)
        if confidence_of(seen[i], options.trust) >= options.sure_confidence:
            return seen, (seen[i], firsts[i][1])
    return seen, None


def look_at(view: View, compare: Comparison, options: VerifyOptions) -> Sighting:
    """One look, and closer ones where they are worth it."""
    return _closer(compare.first_look(view), compare, options)


def _closer(found: Sighting, compare: Comparison, options: VerifyOptions) -> Sighting:
    """A finer look where something agrees but not beyond doubt, and a coarse one where doubt is left."""
    for again in (compare.second_look, compare.coarse_look):
        doubtful = support_of(found, options.trust) < options.beyond_doubt
        if not (options.second and doubtful and found.inliers >= options.promising_inliers):
            break
        found = max(found, again(found), key=lambda seen: support_of(seen, options.trust))
    return found


def _fresh(wave: Wave, asked: Sequence[View], options: VerifyOptions) -> Iterator[Hypothesis]:
    """What a wave has that would show something new: nothing much like it has been or will be looked at."""
    taken: list[View] = []
    for one in wave.hypotheses[: wave.looks]:
        if not any(_alike(one.view, before, options) for before in (*asked, *taken)):
            taken.append(one.view)
            yield one


def _rivals(
    sure: Sighting, score: float, wave: Wave, asked: Sequence[View], options: VerifyOptions
) -> list[View]:
    """Other places that must be looked at before a sure one is believed: the next likeliest.

    None where another was looked at in vain already. Where the map shows the photo beyond doubt, only a place
    that looks about as much like it to begin with: a twin would.
    """
    twins = support_of(sure, options.trust) >= options.beyond_doubt
    wanted = options.rivals - sum(not _same_place(view, sure.view) for view in asked)
    least = options.twin_share * score if twins else -math.inf
    others = [h.view for h in wave.hypotheses if h.view not in asked and h.score >= least]
    return [view for view in others if not _same_place(view, sure.view)][: max(wanted, 0)]


def _alike(a: View, b: View, options: VerifyOptions) -> bool:
    """Whether what is found from one view would be found from the other as well."""
    turned_deg = abs(turn_deg(a.heading_deg - b.heading_deg))
    ratio = max(a.altitude_m, b.altitude_m) / min(a.altitude_m, b.altitude_m)
    near = a.center.distance_m(b.center) <= options.alike_m
    return near and turned_deg <= options.alike_deg and ratio <= options.alike_scale


def _same_place(a: View, b: View) -> bool:
    """Whether two frames show much of the same ground; how they are turned does not matter."""
    return a.center.distance_m(b.center) <= 0.5 * min(a.altitude_m, b.altitude_m)


def _objection(best_first: Sequence[Sighting], options: VerifyOptions) -> str | None:
    """Why the best sighting is not believed; None where it is."""
    if not best_first:
        return "there is no hypothesis to look at"
    best = best_first[0]
    if confidence_of(best, options.trust) < options.min_confidence:
        return (
            f"the map confirms none of {len(best_first)} places: "
            f"at best {best.inliers} of {best.matches} matched points agree"
        )
    rival = next((s for s in best_first[1:] if not _same_place(s.view, best.view)), None)
    if rival is None or confidence_of(rival, options.trust) < options.min_confidence:
        return None
    if support_of(rival, options.trust) < options.rival_share * support_of(best, options.trust):
        return None
    apart_m = best.view.center.distance_m(rival.view.center)
    return f"two places {apart_m:.0f} m apart look alike: {best.inliers} and {rival.inliers} points agree"
