"""How two dates of a place differ to a network: contrast and fine detail, at the size it sees them.

python -m bench.accuracy.dates --data DIR

Mean power of views drawn with a seed of our own, the newer date over the older one, in decibels: all scales
(contrast), and the finest against all (softness). Says why altitudes are mistaken on another date.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from bench.accuracy.retrieval import PLACES
from bench.lib.record import record
from nadirfix.camera import DEFAULT_CAMERA
from nadirfix.geo.geomap import GeoMap
from nadirfix.types import Point, View

SEED, COUNT, SIZE = 99, 40, (448, 336)
DATED = ("mine", "town")
#: Cycles per pixel: what counts as coarse and as fine.
COARSE, FINE = (0.02, 0.12), (0.35, 0.5)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    given = options.parse_args()
    by_place = {place: compared(given.data, place) for place in DATED}
    print(by_place)
    print(f"wrote {record('dates', {'seed': SEED, 'views': COUNT, **by_place})}")


def compared(data: Path, place: str) -> dict[str, float]:
    old, new, altitudes_m = PLACES[place]
    with GeoMap.open(data / old) as before, GeoMap.open(data / new) as after:
        pairs = []
        for view in views(after, altitudes_m):
            pair = [one.render(view, DEFAULT_CAMERA, SIZE) for one in (before, after)]
            if min(one.valid_share for one in pair) > 0.99:
                pairs.append([powers(one.pixels) for one in pair])
            if len(pairs) == COUNT:
                break
    ratio = 10 * np.log10(np.array(pairs)).mean(axis=0)
    coarse, fine = ratio[1] - ratio[0]
    return {"contrast_db": round(float(coarse), 1), "fine_db": round(float(fine), 1)}


def views(ground: GeoMap, altitudes_m: tuple[float, float]):
    """Views anywhere within the bounds; many of them fall off the ground."""
    west, south, east, north = ground.bounds
    draw = np.random.default_rng(SEED)
    while True:
        place = Point(float(draw.uniform(west, east)), float(draw.uniform(south, north)), ground.epsg)
        yield View(place, float(draw.uniform(*altitudes_m)), float(draw.uniform(0, 360)))


def powers(pixels: np.ndarray) -> list[float]:
    """Mean power of the coarse and of the fine."""
    grey = pixels.astype(np.float64).mean(-1)
    window = np.outer(np.hanning(grey.shape[0]), np.hanning(grey.shape[1]))
    power = np.abs(np.fft.fft2((grey - grey.mean()) * window)) ** 2
    rate = np.hypot(np.fft.fftfreq(grey.shape[0])[:, None], np.fft.fftfreq(grey.shape[1]))
    return [float(power[(rate >= low) & (rate < high)].mean()) for low, high in (COARSE, FINE)]


if __name__ == "__main__":
    main()
