"""What a season does to colours: leaves, crops, grass, soil, light.

Colours are display values 0-255; painting squares them to something like reflectance and the picture takes
the root again, so that shadows and shading mix as light does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["CROPS", "SEASONS", "Crop", "Season", "linear"]

Rgb = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class Crop:
    """How one crop looks in one season."""

    rgb: Rgb
    cover: float  # share of the soil it hides
    row_m: float = 0.75
    row_amp: float = 0.0
    pass_m: float = 3.0
    pass_amp: float = 0.06
    tram: float = 0.0  # how clearly tramlines show
    mottle: float = 0.10
    height_m: float = 0.1
    bales: float = 0.0  # share of the parcels that carry bales
    worked: float = 0.0  # share of the parcels where work stopped halfway


@dataclass(frozen=True, kw_only=True)
class Season:
    """Colours and light of one date."""

    name: str
    sun_elevation_deg: float
    crops: tuple[Crop, ...]
    grass: Rgb
    lawn: Rgb
    verge: Rgb
    broadleaf: tuple[Rgb, ...]
    conifer: tuple[Rgb, ...]
    leafless_share: float = 0.0  # broad-leaved trees without leaves
    water: Rgb = (52, 66, 60)
    haze: float = 0.03
    warmth: float = 0.0


def linear(rgb: Rgb | NDArray[np.floating]) -> NDArray[np.float32]:
    """Display values as something light can be multiplied with."""
    return np.square(np.asarray(rgb, np.float32) / 255)


CROPS = ("wheat", "barley", "rape", "maize", "beet", "sunflower", "ley", "fallow", "potato")

_CONIFER: tuple[Rgb, ...] = ((46, 62, 42), (52, 68, 48), (40, 56, 42))

_SPRING = (
    Crop(rgb=(84, 118, 52), cover=0.95, row_m=1.5, row_amp=0.03, tram=0.8, mottle=0.10, height_m=0.3),
    Crop(rgb=(98, 128, 62), cover=0.85, row_m=1.5, row_amp=0.05, tram=0.7, mottle=0.14, height_m=0.3),
    Crop(rgb=(186, 176, 50), cover=0.96, pass_amp=0.04, tram=0.7, mottle=0.09, height_m=0.9),
    Crop(rgb=(150, 128, 100), cover=0.05, row_m=3.0, row_amp=0.05, pass_amp=0.10, mottle=0.07),
    Crop(rgb=(120, 130, 80), cover=0.22, row_m=2.0, row_amp=0.10, pass_amp=0.06, mottle=0.10),
    Crop(rgb=(150, 130, 104), cover=0.05, row_m=2.4, row_amp=0.08, pass_amp=0.09, mottle=0.06),
    Crop(rgb=(92, 120, 56), cover=0.97, pass_amp=0.03, mottle=0.16, height_m=0.2),
    Crop(rgb=(128, 122, 84), cover=0.75, pass_amp=0.02, mottle=0.24),
    Crop(rgb=(124, 104, 82), cover=0.10, row_m=1.8, row_amp=0.22, pass_amp=0.08, mottle=0.05),
)
_SUMMER = (
    Crop(rgb=(176, 152, 92), cover=0.97, row_m=1.5, row_amp=0.02, tram=0.9, mottle=0.07, height_m=0.7),
    Crop(
        rgb=(190, 172, 118),
        cover=0.9,
        row_m=6.0,
        row_amp=0.08,
        pass_m=6.0,
        pass_amp=0.10,
        bales=0.6,
        worked=0.2,
    ),
    Crop(rgb=(128, 128, 76), cover=0.97, pass_amp=0.05, tram=0.6, mottle=0.10, height_m=1.2),
    Crop(rgb=(74, 106, 48), cover=0.66, row_m=1.5, row_amp=0.20, pass_amp=0.05, mottle=0.12, height_m=0.8),
    Crop(rgb=(66, 108, 46), cover=0.93, row_m=2.0, row_amp=0.10, pass_amp=0.04, tram=0.4, mottle=0.10),
    Crop(rgb=(104, 122, 50), cover=0.9, row_m=1.5, row_amp=0.10, mottle=0.10, height_m=1.2),
    Crop(
        rgb=(128, 138, 76),
        cover=0.97,
        row_m=8.0,
        row_amp=0.09,
        pass_m=8.0,
        pass_amp=0.07,
        bales=0.3,
        worked=0.3,
    ),
    Crop(rgb=(136, 130, 88), cover=0.85, pass_amp=0.02, mottle=0.26),
    Crop(rgb=(82, 108, 58), cover=0.72, row_m=1.8, row_amp=0.24, mottle=0.08),
)
_LATE = (
    Crop(
        rgb=(194, 174, 128),
        cover=0.78,
        row_m=6.0,
        row_amp=0.09,
        pass_m=6.0,
        pass_amp=0.10,
        bales=0.6,
        worked=0.3,
    ),
    Crop(rgb=(146, 122, 92), cover=0.15, row_m=3.0, row_amp=0.08, pass_amp=0.13, mottle=0.06, worked=0.3),
    Crop(rgb=(168, 148, 112), cover=0.6, row_m=3.0, row_amp=0.10, pass_amp=0.10, mottle=0.10),
    Crop(rgb=(64, 90, 42), cover=0.97, row_m=1.5, row_amp=0.12, pass_amp=0.04, mottle=0.10, height_m=2.4),
    Crop(rgb=(58, 98, 42), cover=0.97, row_m=2.0, row_amp=0.05, tram=0.5, mottle=0.12),
    Crop(rgb=(112, 100, 60), cover=0.9, row_m=1.5, row_amp=0.12, mottle=0.12, height_m=1.4),
    Crop(rgb=(112, 126, 66), cover=0.95, row_m=8.0, row_amp=0.05, pass_m=8.0, pass_amp=0.05, mottle=0.15),
    Crop(rgb=(158, 144, 104), cover=0.85, pass_amp=0.02, mottle=0.22),
    Crop(rgb=(120, 108, 72), cover=0.5, row_m=1.8, row_amp=0.20, mottle=0.14, worked=0.4),
)
_AUTUMN = (
    Crop(rgb=(104, 118, 66), cover=0.35, row_m=1.5, row_amp=0.10, tram=0.6, pass_amp=0.06, mottle=0.09),
    Crop(rgb=(122, 96, 72), cover=0.06, row_m=2.4, row_amp=0.14, pass_amp=0.12, mottle=0.05),
    Crop(rgb=(78, 104, 48), cover=0.85, row_m=1.5, row_amp=0.05, tram=0.5, mottle=0.15),
    Crop(rgb=(164, 146, 110), cover=0.55, row_m=1.5, row_amp=0.16, pass_m=6.0, pass_amp=0.10, worked=0.35),
    Crop(rgb=(82, 104, 52), cover=0.8, row_m=2.0, row_amp=0.10, pass_amp=0.06, mottle=0.12, worked=0.5),
    Crop(rgb=(126, 100, 76), cover=0.05, row_m=3.0, row_amp=0.12, pass_amp=0.12, mottle=0.05),
    Crop(rgb=(86, 108, 58), cover=0.95, pass_amp=0.03, mottle=0.16),
    Crop(rgb=(120, 108, 76), cover=0.7, pass_amp=0.02, mottle=0.25),
    Crop(rgb=(118, 98, 76), cover=0.08, row_m=1.8, row_amp=0.14, pass_amp=0.10, mottle=0.05),
)

#: In the order of the year; a world's two dates are never the same one.
SEASONS = (
    Season(
        name="spring",
        sun_elevation_deg=46,
        crops=_SPRING,
        grass=(96, 116, 62),
        lawn=(92, 118, 60),
        verge=(112, 118, 72),
        conifer=_CONIFER,
        haze=0.04,
        warmth=-0.02,
        water=(70, 80, 70),
        broadleaf=((92, 112, 54), (104, 118, 62), (84, 100, 54), (110, 112, 78)),
        leafless_share=0.15,
    ),
    Season(
        name="summer",
        sun_elevation_deg=58,
        crops=_SUMMER,
        grass=(112, 120, 70),
        lawn=(104, 122, 66),
        verge=(132, 126, 84),
        conifer=_CONIFER,
        haze=0.03,
        broadleaf=((62, 84, 40), (72, 92, 46), (54, 76, 38), (82, 96, 54)),
    ),
    Season(
        name="late summer",
        sun_elevation_deg=48,
        crops=_LATE,
        grass=(132, 126, 80),
        lawn=(122, 122, 74),
        verge=(150, 136, 96),
        conifer=_CONIFER,
        haze=0.05,
        warmth=0.02,
        water=(56, 70, 58),
        broadleaf=((66, 80, 40), (78, 86, 44), (58, 72, 38), (92, 94, 52)),
    ),
    Season(
        name="autumn",
        sun_elevation_deg=34,
        crops=_AUTUMN,
        grass=(104, 112, 66),
        lawn=(100, 112, 64),
        verge=(126, 118, 82),
        conifer=_CONIFER,
        haze=0.06,
        warmth=0.04,
        water=(48, 58, 52),
        broadleaf=((140, 104, 46), (122, 90, 50), (104, 98, 48), (156, 124, 58), (92, 72, 52)),
        leafless_share=0.3,
    ),
)
