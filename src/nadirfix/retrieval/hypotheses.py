"""Where a photo may lie, from all of its frame: crop, describe, search, let the nearest references vote."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nadirfix.camera import Camera
from nadirfix.options.voting import VoteOptions
from nadirfix.retrieval.crops import PhotoCrops, Scale
from nadirfix.retrieval.voting import Votes, hypotheses_from, merged
from nadirfix.types import Hypothesis

__all__ = ["hypotheses", "hypotheses_of_middle", "hypotheses_of_sweep"]


def hypotheses_of_middle(photo: PhotoCrops, scale: Scale, options: VoteOptions) -> list[Hypothesis]:
    """Views the photo may show according to its middle alone, which has been described: for nothing."""
    votes = photo.votes_of_middle(scale, options)
    return hypotheses_from(votes, photo.camera, photo.search.epsg, options)


def hypotheses_of_sweep(
    votes: Votes, camera: Camera, epsg: int, options: VoteOptions, *, scale: float
) -> list[Hypothesis]:
    """Views the photo may show according to its middle at every altitude that was swept.

    Crops of neighbouring altitudes look alike: their votes for one place count together.
    """
    return hypotheses_from(votes, camera, epsg, replace(options, scale=scale))


def hypotheses(photo: PhotoCrops, scales: Sequence[Scale], options: VoteOptions) -> list[Hypothesis]:
    """Views the photo may show, the likeliest first.

    The likeliest scale votes first, with few crops. Where those votes do not agree, all crops vote, at the
    scales at which the photo's middle is most similar to anything on the map; and where they agree on
    another scale than was tried, the photo votes once more at that. Where few could never agree enough
    (``consensus`` above 1), all vote at once.
    """

    def voted(tried: Sequence[Scale], crops: int) -> list[Hypothesis]:
        votes = photo.votes(tried, options, crops=crops)
        return hypotheses_from(votes, photo.camera, photo.search.epsg, options)

    if options.consensus <= 1:
        best = voted(scales[:1], options.first_crops)
        no_more = len(scales) == 1 and options.crops <= options.first_crops and options.extra_altitudes == 0
        if no_more or _agreed(best, options):
            return best
    promising = scales if options.crops == 1 else _promising(photo, scales, options)
    best, tried_m = voted(promising, options.crops), [scale.gsd_m for scale in promising]
    for _ in range(options.extra_altitudes):
        gsd_m = photo.camera.gsd_m(best[0].view.altitude_m)
        if min(abs(math.log(gsd_m / other)) for other in tried_m) < options.scale / 2:
            break
        tried_m.append(gsd_m)
        best = merged(voted([Scale(gsd_m, 1.0)], options.crops), best, options)
    return best


def _promising(photo: PhotoCrops, scales: Sequence[Scale], options: VoteOptions) -> Sequence[Scale]:
    """Scales that are likely and at which the photo's middle is most similar to references, both together."""
    if len(scales) <= options.promising:
        return scales
    similarity = photo.similarity_of_middle(scales, options)
    share = np.array([scale.share for scale in scales]) * np.exp(
        (similarity - similarity.max()) / options.temperature
    )
    best = sorted(np.argsort(-share, kind="stable")[: options.promising])
    return [scales[i] for i in best]


def _agreed(best: Sequence[Hypothesis], options: VoteOptions) -> bool:
    """Whether one hypothesis stands far above all others."""
    second = best[1].score if len(best) > 1 else 0.0
    return best[0].score >= options.consensus and best[0].score >= 3 * second
