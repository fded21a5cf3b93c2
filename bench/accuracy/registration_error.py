"""How far pictures of two dates lie apart, in metres: the floor under every radius.

python -m bench.accuracy.registration_error mine_dev town_dev

Each names a result of ``bench/accuracy/verify.py --bundle`` (results/verify_NAME.csv). Says which
``floor_m`` lets radii hold 95 of 100 fixes of each place, and what each place's floor does to the others: a
floor is chosen on places other than those it is judged on.
"""

from __future__ import annotations

import argparse
import csv

import numpy as np

from bench.lib.record import path_of, record
from nadirfix.options.verify import CalibrationOptions

#: The squared radius that holds 95 of 100 of a round normal distribution of deviation 1.
K95 = 5.991
WANTED = 0.95


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("places", nargs="+", metavar="NAME")
    places = {name: fixes(name) for name in options.parse_args().places}
    floors = {name: floor_m(*place) for name, place in places.items()}
    found = {
        name: {
            "fixes": len(place[0]),
            "floor_m": round(floors[name], 2),
            "coverage_now": covered(*place, CalibrationOptions().floor_m),
            "coverage_by_floor_of": {o: covered(*place, floors[o]) for o in floors if o != name},
        }
        for name, place in places.items()
    }
    print(record("registration_error", {"seed": None, "places": found}))


def fixes(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Errors and radii of the fixes that are not altogether wrong."""
    with path_of(f"verify_{name}", "csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["status"] == "fix"]
    error, radius = (np.array([float(row[key]) for row in rows]) for key in ("error_m", "radius95_m"))
    return error[error < 100], radius[error < 100]


def covered(error_m: np.ndarray, radius_m: np.ndarray, floor: float) -> float:
    """The share of truths, in per cent, that radii hold with this floor instead of the one they have."""
    more = K95 * (floor**2 - CalibrationOptions().floor_m ** 2)
    return round(100 * float((error_m**2 <= np.maximum(radius_m**2 + more, 0)).mean()), 1)


def floor_m(error_m: np.ndarray, radius_m: np.ndarray) -> float:
    """The floor with which 95 of 100 are held; what a fix needs is known for each, and sorted."""
    needed = np.maximum(error_m**2 - radius_m**2, 0) / K95
    return float(np.sqrt(CalibrationOptions().floor_m ** 2 + np.quantile(needed, WANTED)))


if __name__ == "__main__":
    main()
