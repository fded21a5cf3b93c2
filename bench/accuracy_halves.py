"""The accuracy page on altitude settings chosen by the other half of a place, and on frames with black."""

from __future__ import annotations

import statistics
from itertools import pairwise

from accuracy_tables import has, lines_of, result, source, table
from rows_known import TRIALS

SEEDS = range(3)
#: The same photos by other networks, newest first: what the runs are called, and what is said of them.
RUNS = {
    "mine": {
        "published_mine": "",
        "published_mine_edges": "as chosen before edges were filled",
        "published_mine_other": "settings of the other place",
    },
    "town": {
        "published_town": "",
        "chosen_town_edges": "as chosen before edges were filled",
        "published_town_other": "settings of the other place",
    },
}
WHOLE_SHARE = 0.999  # of a frame that shows something, and it counts as whole


def by_halves() -> str:
    """Empty until somebody has measured it."""
    if not all(has(name) for runs in RUNS.values() for run in runs for name in seeds(run)):
        return ""
    rows = [row for place in RUNS for row in rows_of(place)]
    heads = ["altitude, best class, three seeds", "", "fixed views", "whole frames"]
    heads += ["frames beyond the picture's edge"]
    return f"""Altitudes by settings chosen on the other half of the same place. Photos are rendered from a
picture that ends: of the fixed views {edges("mine")} of 400 on the mine and {edges("town")} on the town reach
beyond its edge and are black there, by up to a fifth. At first no view we trained or chose on did, and a
network that takes the contrast out divided by a contrast that was mostly that edge's: on the town the best
of five settings on views of our own was the worst of all on the fixed ones. Black edges take the photo's
mean colour since then, and views of our own reach as far; networks were trained again, and edges no longer
stand out on the mine. The town is missed on whole frames, too: from 300 m on it is off by about a tenth at
every height, so that metres grow with it. We believe it is the haze of the newer picture, which takes 6 to
7 dB of what tells the altitude.

{table(heads, rows)}

{by_altitude()}

{source(chosen("mine")[0], "bench/headline.py --place mine …")}"""


def seeds(run: str) -> list[str]:
    return [f"{run}_s{seed}" for seed in SEEDS]


def chosen(place: str) -> list[str]:
    """The runs of the headline."""
    return seeds(next(iter(RUNS[place])))


def rows_of(place: str) -> list[list[object]]:
    return [[place, said or by_choice(place), *split(place, seeds(run))] for run, said in RUNS[place].items()]


def by_choice(place: str) -> str:
    """What was chosen for either half, and how far that was off on all views of our own."""
    halves = result(chosen(place)[0])["results"]["altitude_spectrum"]["halves"]
    names = {half: told["row"] for half, told in halves.items()}
    own = {n: result(f"rows_{place}_{n}")["results"]["altitude"]["hard_m"] for n in names.values()}
    said = {n: f"{TRIALS[n].said.removeprefix('altitude, ')} (own views {own[n]:.1f} m)" for n in own}
    return "; ".join(said[n] if len(own) == 1 else f"{half}: {said[n]}" for half, n in once(names).items())


def once(names: dict[str, str]) -> dict[str, str]:
    """Halves with a choice of their own."""
    return {half: n for half, n in names.items() if n not in list(names.values())[: list(names).index(half)]}


def split(place: str, names: list[str]) -> list[str]:
    """How far altitudes are off over all photos, whole frames and frames that reach beyond the picture."""
    seen = {line["photo"]: float(line["seen_share"]) for line in lines_of(f"cover_{place}")}
    off = [(seen[line["photo"]], off_m(line)) for line in photos(names)]
    whole, edge = ([o for share, o in off if (share >= WHOLE_SHARE) == wanted] for wanted in (True, False))
    return [f"{statistics.mean(some):.1f} m" for some in ([o for _, o in off], whole, edge)]


def by_altitude() -> str:
    """How far altitudes of the headline are off, by the true ones."""
    steps = (100, 200, 300, 400, 500, 600, 700)
    spans = list(pairwise(steps))
    rows = [[place, *(off_within(place, low, high) for low, high in spans)] for place in RUNS]
    return table(["altitude off, by altitude", *(f"{low}–{high} m" for low, high in spans)], rows)


def off_within(place: str, low: int, high: int) -> str:
    off = [off_m(line) for line in photos(chosen(place)) if low <= float(line["altitude_m"]) < high]
    return f"{statistics.mean(off):.1f} m" if off else ""


def photos(names: list[str]) -> list[dict[str, str]]:
    """What runs told of each photo, once."""
    return [line for name in names for line in lines_of(name) if line.get("altitude", "true") == "true"]


def off_m(line: dict[str, str]) -> float:
    told = line.get("hard_m") or line["spectrum_hard_m"]
    return abs(float(told) - float(line["altitude_m"]))


def edges(place: str) -> int:
    return sum(float(line["seen_share"]) < WHOLE_SHARE for line in lines_of(f"cover_{place}"))
