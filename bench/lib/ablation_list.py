"""The rows of the accuracy page that need a training run of their own, and trials to choose settings by.

The first row of each kind is what the others differ from by one thing.
"""

from __future__ import annotations

from dataclasses import dataclass

from nadirfix.options.recipe import BinOptions, HeadOptions

USUAL_BINS, USUAL_HEAD = BinOptions(), HeadOptions()


@dataclass(frozen=True)
class Row:
    """What a row trains, and what it changes."""

    trains: str  # altitude, place, or contrast: places without cells
    label: str
    bins: BinOptions = USUAL_BINS
    head: HeadOptions = USUAL_HEAD
    input: str = "spectrum"
    encoder: str = "resnet50-stage3"
    start: str = "ImageNet"  # or random, or other places
    changes: str = "usual"
    imprint: int = 0
    views: str = "fixed"
    joint: bool = False  # altitudes: other places have half of every batch
    intensity: str = "bytes"  # what spectra are taken of
    steps: int = 0  # of its own; 0: as many as all
    rate: float = 3e-4  # of the extractor
    freeze_norm: bool = False


def altitude(label: str, **more) -> Row:
    return Row("altitude", label, **more)


def place(label: str, **more) -> Row:
    return Row("place", label, **more)


def without_contrast(changed: str, steps: int, **more) -> Row:
    """A trial whose spectra do not count contrast."""
    label = f"altitude, contrast not counted, {changed}, {steps} steps"
    return altitude(label, start="other places", views="own", intensity="contrast", steps=steps, **more)


CONTRAST_TRIALS: dict[str, Row] = {
    "try-altitude-contrast": without_contrast("usual changes", 250),
    "try-altitude-contrast-long": without_contrast("usual changes", 700),
    "try-altitude-contrast-beside": without_contrast("usual changes, with other places", 700, joint=True),
    "try-altitude-wide-contrast": without_contrast("wide changes", 250, changes="wide"),
    "try-altitude-wide-contrast-long": without_contrast("wide changes", 700, changes="wide"),
    "try-altitude-wide-contrast-beside": without_contrast(
        "wide changes, with other places", 700, changes="wide", joint=True
    ),
    "try-altitude-wide-contrast-gentle": without_contrast(
        "wide changes, a third of the rate", 250, changes="wide", rate=1e-4
    ),
    "try-altitude-wide-contrast-frozen": without_contrast(
        "wide changes, statistics kept", 250, changes="wide", freeze_norm=True
    ),
}
ABLATIONS: dict[str, Row] = {
    "bins50": altitude("spectrum, bins of 50 m, ImageNet"),
    "bins25": altitude("bins of 25 m", bins=BinOptions(width_m=25.0)),
    "bins75": altitude("bins of 75 m", bins=BinOptions(width_m=75.0)),
    "bins100": altitude("bins of 100 m", bins=BinOptions(width_m=100.0)),
    "variable": altitude("variable bins", bins=BinOptions(kind="variable")),
    "pixels": altitude("pixels, no spectrum", input="pixels"),
    "altitude-random": altitude("random start", start="random"),
    "qamc": place("QAMC, ResNet-50 to stage 3, ImageNet"),
    "aamc": place("additive margin (AAMC)", head=HeadOptions(kind="aamc")),
    "ce": place("cross-entropy (CE)", head=HeadOptions(kind="ce")),
    "contrastive": Row("contrast", "contrastive, no cells"),
    "place-random": place("random start", start="random"),
    "b5": place("EfficientNet-B5, random start", encoder="efficientnet-b5", start="random"),
}
TRIALS: dict[str, Row] = {
    "try-altitude-usual": altitude("altitude, usual changes", start="other places", views="own"),
    "try-altitude-soft": altitude("altitude, softened", start="other places", changes="soft", views="own"),
    "try-altitude-hazy": altitude("altitude, more haze", start="other places", changes="hazy", views="own"),
    "try-altitude-wide": altitude(
        "altitude, wide changes", start="other places", changes="wide", views="own"
    ),
    "try-altitude-usual-short": altitude(
        "altitude, usual changes, 80 steps", start="other places", views="own", steps=80
    ),
    "try-altitude-wide-short": altitude(
        "altitude, wide changes, 80 steps", start="other places", changes="wide", views="own", steps=80
    ),
    "try-altitude-usual-long": altitude(
        "altitude, usual changes, 700 steps", start="other places", views="own", steps=700
    ),
    "try-altitude-wide-long": altitude(
        "altitude, wide changes, 700 steps", start="other places", changes="wide", views="own", steps=700
    ),
    "try-altitude-beside": altitude(
        "altitude, usual changes, 700 steps, with other places",
        start="other places",
        views="own",
        steps=700,
        joint=True,
    ),
    "try-altitude-wide-beside": altitude(
        "altitude, wide changes, 700 steps, with other places",
        start="other places",
        changes="wide",
        views="own",
        steps=700,
        joint=True,
    ),
    **CONTRAST_TRIALS,
    "try-place-usual": place("places, usual changes", views="own"),
    "try-place-soft": place("places, changes of many places", changes="soft", views="own"),
    "try-place-hazy": place("places, more haze", changes="hazy", views="own"),
    "try-place-wide": place("places, wide changes", changes="wide", views="own"),
    "try-place-other": place("places, usual changes, begun elsewhere", start="other places", views="own"),
    "try-place-other-soft": place(
        "places, changes of many places, begun elsewhere", start="other places", changes="soft", views="own"
    ),
    "try-place-other-imprint": place(
        "places, usual changes, begun elsewhere, imprinted", start="other places", imprint=6, views="own"
    ),
    "try-place-imprint": place("places, wide changes, imprinted", changes="wide", imprint=6, views="own"),
}
KNOWN = ABLATIONS | TRIALS
SETS = {
    "all": list(ABLATIONS), "trials": list(TRIALS),
    "altitude": [name for name, row in ABLATIONS.items() if row.trains == "altitude"],
    "place": [name for name, row in ABLATIONS.items() if row.trains != "altitude"],
}  # fmt: skip
