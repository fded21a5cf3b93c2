"""What a reader needs to know who sees such a report for the first time."""

from __future__ import annotations

__all__ = ["CAUTION", "TERMS"]

#: Every term of the report, in the order a reader meets them.
TERMS = (
    (
        "Truth",
        "The centre of the photo on the ground, from the manifest. Not the aircraft, which is elsewhere "
        "as soon as the camera tilts.",
    ),
    (
        "Position error",
        "Metres between the answer and the truth, on the map plane.",
    ),
    (
        "Within 100 m",
        "Share of all photos whose answer lies less than 100 m from the truth. A photo without an "
        "answer is a miss. At 5, 10, 25 and 50 m the limit itself counts as within.",
    ),
    (
        "R@1, R@5",
        "Share of all photos where the most similar reference, or one of the first five, lies less "
        "than 100 m from the truth.",
    ),
    (
        "WCE, top-1",
        "Weighted coordinate estimation drops references that lie far from the others and averages "
        "the rest by similarity. Top-1 takes the place of the most similar reference as it is.",
    ),
    (
        "Wrong fix",
        "An answer more than 100 m off. It is counted on its own because a wrong answer does more harm "
        "than none.",
    ),
    (
        "Altitude error",
        "Metres between the altitude found and the true one, above ground; the mean is over photos that "
        "got an estimate.",
    ),
    (
        "Median, all photos",
        "Half of all photos are better than this; where half of them got no answer there is none.",
    ),
    (
        "Distance, weight",
        "Under a reference: how unlike the photo its descriptor is (Euclidean, smaller is more alike), "
        "and its share in the weighted answer.",
    ),
)

#: What figures like these do not say.
CAUTION = (
    "Photos of the map's own date flatter any method. Figures of different places do not rank "
    "methods: they say how hard the places are."
)
