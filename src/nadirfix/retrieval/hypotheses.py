"""Where a photo may lie, from all of its frame: cut, describe, look up, let the lookalikes vote."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from nadirfix.options.voting import VoteOptions
from nadirfix.retrieval.crops import Frame, Scale
from nadirfix.retrieval.voting import hypotheses_from, merged
from nadirfix.types import Hypothesis

__all__ = ["hypotheses", "hypotheses_of_middle"]


def hypotheses_of_middle(frame: Frame, scale: Scale, options: VoteOptions) -> list[Hypothesis]:
    """Views the photo may show according to its middle alone, which has been described: for nothing."""
    votes = frame.votes_of_middle(scale, options)
    return hypotheses_from(votes, frame.camera, frame.lookup.epsg, options)


def hypotheses(frame: Frame, scales: Sequence[Scale], options: VoteOptions) -> list[Hypothesis]:
    """Views the photo may show, the likeliest first.

    The likeliest scale is asked first, with few crops. Where they do not agree, all crops are, at the scales
    at which the photo's middle looks most like anything on the map; and where those agree on another scale
    than was asked for, the photo is looked at once more from there. Where few could never be sure enough
    (``sure`` above 1), all are asked at once.
    """

    def ask(asked: Sequence[Scale], crops: int) -> list[Hypothesis]:
        votes = frame.votes(asked, options, crops=crops)
        return hypotheses_from(votes, frame.camera, frame.lookup.epsg, options)

    if options.sure <= 1:
        found = ask(scales[:1], options.first_crops)
        nothing_more = len(scales) == 1 and options.crops <= options.first_crops and options.looks == 0
        if nothing_more or _sure(found, options):
            return found
    kept = scales if options.crops == 1 else _promising(frame, scales, options)
    found, asked_m = ask(kept, options.crops), [scale.gsd_m for scale in kept]
    for _ in range(options.looks):
        gsd_m = frame.camera.gsd_m(found[0].view.altitude_m)
        if min(abs(math.log(gsd_m / other)) for other in asked_m) < options.scale / 2:
            break
        asked_m.append(gsd_m)
        found = merged(ask([Scale(gsd_m, 1.0)], options.crops), found, options)
    return found


def _promising(frame: Frame, scales: Sequence[Scale], options: VoteOptions) -> Sequence[Scale]:
    """Scales at which the photo's middle looks most like a reference, and which are likely, both together."""
    if len(scales) <= options.promising:
        return scales
    alike = frame.likeness_of_middle(scales, options)
    share = np.array([scale.share for scale in scales]) * np.exp((alike - alike.max()) / options.temperature)
    best = sorted(np.argsort(-share, kind="stable")[: options.promising])
    return [scales[i] for i in best]


def _sure(found: Sequence[Hypothesis], options: VoteOptions) -> bool:
    """Whether one hypothesis stands far above all others."""
    second = found[1].score if len(found) > 1 else 0.0
    return found[0].score >= options.sure and found[0].score >= 3 * second
