"""The accuracy page on altitude settings chosen by the other half of a place, and on frames with black."""

from __future__ import annotations

import statistics

from accuracy_tables import has, lines_of, result, source, table
from rows_known import TRIALS

SEEDS = range(3)
CHOSEN = {"mine": "try-altitude-wide-contrast-long", "town": "try-altitude-contrast-beside"}
#: The same photos by networks whose settings came from the other place.
BEFORE = {"mine": "published_mine_other", "town": "published_town"}
WHOLE_SHARE = 0.999  # of a frame that shows something, and it counts as whole


def by_halves() -> str:
    """Empty until somebody has measured it."""
    if not all(has(name) for place in CHOSEN for name in chosen(place)):
        return ""
    rows = [row for place in CHOSEN for row in rows_of(place)]
    heads = ["altitude, best class, three seeds", "", "views of our own", "fixed views", "whole frames"]
    heads += ["frames beyond the picture's edge"]
    return f"""Altitudes by settings chosen on the other half of the same place: both halves chose the same.
Photos are rendered from a picture that ends, and no view of our own lost more than 3 % to that; of the fixed
views {edges("mine")} of 400 on the mine and {edges("town")} on the town reach beyond its edge and are
black there, by up to a fifth. No network had seen that, and one that takes the contrast out divides by a
contrast that is mostly that edge's: on the town the best of the five settings tried on 400 views of our
own is the worst of all on the fixed ones. It is a flaw of our measurement and of our training alike; drone
photos have no such edge, rectified ones do.

{table(heads, rows)}

{source(chosen("mine")[0], "bench/rows.py --chosen …")}"""


def chosen(place: str) -> list[str]:
    return [f"chosen_{place}_{CHOSEN[place]}_s{seed}" for seed in SEEDS]


def rows_of(place: str) -> list[list[object]]:
    said = TRIALS[CHOSEN[place]].said.removeprefix("altitude, ")
    own = result(f"rows_{place}_{CHOSEN[place]}")["results"]["altitude"]["hard_m"]
    before = [f"{BEFORE[place]}_s{seed}" for seed in SEEDS]
    return [
        [place, said, f"{own:.1f} m", *split(place, chosen(place))],
        [place, "settings of the other place", "", *split(place, before)],
    ]


def split(place: str, names: list[str]) -> list[str]:
    """How far altitudes are off over all photos, whole frames and frames that reach beyond the picture."""
    seen = {line["photo"]: float(line["seen_share"]) for line in lines_of(f"cover_{place}")}
    lines = [line for name in names for line in lines_of(name) if line.get("altitude", "true") == "true"]
    off = [(seen[line["photo"]], off_m(line)) for line in lines]
    whole, edge = ([o for share, o in off if (share >= WHOLE_SHARE) == wanted] for wanted in (True, False))
    return [f"{statistics.mean(some):.1f} m" for some in ([o for _, o in off], whole, edge)]


def off_m(line: dict[str, str]) -> float:
    told = line.get("hard_m") or line["spectrum_hard_m"]
    return abs(float(told) - float(line["altitude_m"]))


def edges(place: str) -> int:
    return sum(float(line["seen_share"]) < WHOLE_SHARE for line in lines_of(f"cover_{place}"))
