"""How far pictures of two dates lie apart, in pixels of the map: the floor under every radius.

python bench/apart.py mine_dev:0.3 town_dev:0.88

Each names a result of ``bench/verify.py --bundle`` (results/verify_NAME.csv) and its map's metres per
pixel. Says which ``floor_map_px`` lets radii hold 95 of 100 fixes of each place, and what each place's floor
does to the others: a floor is chosen on places other than those it is judged on.
"""

from __future__ import annotations

import argparse
import csv

import numpy as np
from record import RESULTS, record

from nadirfix.options_verify import TrustOptions

#: The squared radius that holds 95 of 100 of a round normal distribution of deviation 1.
K95 = 5.991
WANTED = 0.95


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("places", nargs="+", metavar="NAME:GSD_M")
    places = {}
    for told in options.parse_args().places:
        name, _, gsd_m = told.partition(":")
        places[name] = fixes(name, float(gsd_m))
    floors = {name: floor_px(*place) for name, place in places.items()}
    found = {
        name: {
            "fixes": len(place[0]),
            "floor_map_px": round(floors[name], 2),
            "coverage_now": covered(*place, TrustOptions().floor_map_px),
            "coverage_by_floor_of": {o: covered(*place, floors[o]) for o in floors if o != name},
        }
        for name, place in places.items()
    }
    middle = float(np.exp(np.mean(np.log([max(f, 0.01) for f in floors.values()]))))
    print(record("apart", {"places": found, "geometric_mean_px": round(middle, 2)}))


def fixes(name: str, gsd_m: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Errors and radii of the fixes that are not altogether wrong, and the map's resolution."""
    with (RESULTS / f"verify_{name}.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["status"] == "fix"]
    error, radius = (np.array([float(row[key]) for row in rows]) for key in ("error_m", "radius95_m"))
    return error[error < 100], radius[error < 100], gsd_m


def covered(error_m: np.ndarray, radius_m: np.ndarray, gsd_m: float, floor: float) -> float:
    """The share of truths, in per cent, that radii hold with this floor instead of the one they have."""
    more = K95 * gsd_m**2 * (floor**2 - TrustOptions().floor_map_px ** 2)
    return round(100 * float((error_m**2 <= np.maximum(radius_m**2 + more, 0)).mean()), 1)


def floor_px(error_m: np.ndarray, radius_m: np.ndarray, gsd_m: float) -> float:
    """The floor with which 95 of 100 are held; what a fix needs is known for each, and sorted."""
    needed = np.maximum(error_m**2 - radius_m**2, 0) / (K95 * gsd_m**2)
    return float(np.sqrt(TrustOptions().floor_map_px ** 2 + np.quantile(needed, WANTED)))


if __name__ == "__main__":
    main()
