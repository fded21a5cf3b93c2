"""The accuracy page on the whole chain: verified fixes, where they fail, and what each stage adds."""

from __future__ import annotations

import csv

from accuracy_tables import Result, has, percent, result, source, table
from record import RESULTS

#: Places with the networks their bundles were built with: none of them saw the place.
MADE_WITH = {
    "mine": "both networks as they ship",
    "town": "places by the network that ships, altitudes by one made without the town "
    "(`bench/places.py altitude --leave-out town --steps 500 --intensity contrast …`, commit `13e2f25`)",
}
BANDS_M = {
    "mine": ((100, 150), (150, 200), (200, 300), (300, 401)),
    "town": ((150, 250), (250, 400), (400, 550), (550, 701)),
}


def shown() -> list[str]:
    return [place for place in MADE_WITH if has(f"verify_{place}")]


def verified() -> str:
    heads = ["other date", "photos", "answered", "wrong", "within 5 m", "10 m", "25 m", "100 m", "median"]
    told = {place: result(f"verify_{place}")["results"] for place in shown()}
    rows = [row for place, found in told.items() for row in chain_rows(place, found)]
    made = "; ".join(f"{place}: {MADE_WITH[place]}" for place in told)
    said = "\n\n".join(in_words(place, found) for place, found in told.items())
    return f"""## The whole chain, from the photo alone

{spoken({told[place]["photos"] for place in told})}, the true altitude withheld. Nothing was trained on either
map, and no network ever saw the place ({made}). Descriptors are whitened on the map's own references; XFeat.
Shares are of all photos; "wrong" is an answer more than 100 m off; the median is that of the
answers. In which order altitudes and crops are asked, and how coarse the first look is, was
chosen on other views of the mine.

{table(heads, rows)}

{said}"""


def spoken(counts: set[int]) -> str:
    """Which of the 400 fixed views were asked."""
    if counts == {400}:
        return "All 400 fixed views of each place"
    return (
        "Every second of the 400 fixed views of each place"
        if counts == {200}
        else "Fixed views of each place"
    )


def chain_rows(place: str, told: Result) -> list[list[object]]:
    near, plain = told["s_loc"], told["plain"]
    shares = [percent(near[m]) for m in ("5", "10", "25", "100")]
    crop = [percent(plain["s_loc"][m]) for m in ("5", "10", "25", "100")]
    answered, wrong = percent(told["answered_percent"]), percent(told["wrong_fix_percent"])
    median = f"{told['error_m']['median']:.1f} m"
    return [
        [f"{place}, verified (the default)", told["photos"], answered, wrong, *shares, median],
        [f"{place}, one crop and the weighted coordinate", told["photos"], "", "", *crop,
         f"{plain['median_m']:.0f} m"],
    ]  # fmt: skip


def in_words(place: str, told: Result) -> str:
    radius, cost = told["radius95"], told["cost_ratio"]
    some = "" if told["photos"] == 400 else f" --count {told['photos']}"
    command = f"bench/verify.py --bundle {place}.nadir --manifest … --name {place}{some}"
    return f"""On the {place} heading is {told["heading_error_deg"]:.2f}° and altitude
{told["altitude_error_percent"]:.2f} % off in the median. The 95 % radius holds {radius["coverage"]:.1f} % of
the truths and is {radius["median_m"]:.1f} m in the median{width(radius["coverage"])}. A verified answer costs
{cost["p50"]:.1f} times a single crop in the median, and {cost["p90"]:.1f} times and more in the slowest
tenth, where wave after wave of hypotheses is asked.

{source(f"verify_{place}", command)}"""


def width(coverage: float) -> str:
    """What to think of a radius that should hold 95 of 100."""
    return ": wider than it need be" if coverage > 98 else ": too small" if coverage < 92 else ""


def foreign() -> str:
    told = result("verify_mine_foreign")["results"]
    return f"""### Photos of another place

{told["photos"]} photos of the town, held against the mine: {percent(told["answered_percent"])} got an answer.

{source("verify_mine_foreign", "bench/verify.py --bundle mine.nadir --manifest town … --foreign")}"""


def refused() -> str:
    """Water and closed forest; empty until somebody has measured it."""
    named = {name: result(f"refuse_{name}")["results"] for name in REFUSED if has(f"refuse_{name}")}
    if not named:
        return ""
    rows = [
        [REFUSED[name].get(ground, ground), n["photos"], n["answered"], n["wrong"], farthest(name, ground)]
        for name, told in named.items()
        for ground, n in told["grounds"].items()
    ]
    low, high = next(iter(named.values()))["altitude_m"]
    sources = "\n\n".join(source(f"refuse_{name}", REFUSE_COMMANDS[name]) for name in named)
    return f"""### Water and closed forest

Photos from {low:.0f} to {high:.0f} m that show nothing else, of another date than the map. Waves, and crowns
that were drawn anew, have nothing in common with the map: there every answer would be a guess. Crowns that
are the same under another sun may rightly be found. On the mine closed forest is where at least four fifths
of the frame are green and rough on the map, by the rule of `bench/refuse.py`; places were drawn at random,
and places recognised by ImageNet's network alone.

{table(["ground", "photos", "answered", "wrong", "farthest answer off"], rows)}

{sources}"""


def farthest(name: str, ground: str) -> str:
    """The largest error of the answers on one ground."""
    with (RESULTS / f"refuse_{name}.csv").open(newline="", encoding="utf-8") as file:
        off_m = [float(x["error_m"]) for x in csv.DictReader(file) if x["ground"] == ground and x["error_m"]]
    return f"{max(off_m):.1f} m" if off_m else ""


REFUSED = {
    "world": {
        "water": "world, a lake",
        "forest, other crowns": "world, closed forest, its crowns drawn anew",
        "forest, same crowns": "world, closed forest, the same crowns",
    },
    "mine": {"forest": "mine, closed forest"},
}
REFUSE_COMMANDS = {
    "world": "bench/refuse.py",
    "mine": "bench/refuse.py --bundle mine.nadir --photos-from mine_2020-06.tif --name mine",
}


def bands() -> str:
    rows = [row for place in shown() for row in band_rows(place)]
    return f"""### Where it fails

{table(["altitude", "photos", "answered", "within 5 m", "within 25 m"], rows)}

What is refused is mostly seen from low: a frame from 120 m shows 200 × 150 m, and little of it may look the
same on another day."""


def band_rows(place: str) -> list[list[object]]:
    with (RESULTS / f"verify_{place}.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    rows: list[list[object]] = []
    for low, high in BANDS_M[place]:
        some = [x for x in lines if low <= float(x["altitude_m"]) < high]
        fixes = [float(x["error_m"]) for x in some if x["status"] == "fix"]
        counts = (len(fixes), sum(e <= 5 for e in fixes), sum(e <= 25 for e in fixes))
        shares = [percent(100 * n / len(some)) for n in counts]
        rows.append([f"{place}, {low}–{high // 10 * 10} m", len(some), *shares])
    return rows


def stages() -> str:
    """Empty until somebody has measured it."""
    if not (RESULTS / "stages_mine_dev.json").exists():
        return ""
    told = result("stages_mine_dev")["results"]
    heads = ["", "answered", "wrong", "within 5 m", "25 m", "100 m", "median", "cost"]
    rows = [[STAGES[way], *_stage(told["ways"][way])] for way in STAGES if way in told["ways"]]
    return f"""## What each stage adds

{told["photos"]} other views of the mine than those above, drawn with a seed of our own: settings were
chosen on views like these, so this says what stages are worth against each other, not how good they are
elsewhere; places by ImageNet's network alone. Shares are of all photos, the median is that of the answers,
cost is the median ratio to the single crop of the same photo (and the slowest tenth).

{table(heads, rows)}

{source("stages_mine_dev", "bench/stages.py --bundle mine.nadir --manifest … --name mine_dev")}"""


def _stage(way: Result) -> list[object]:
    near = [percent(way["s_loc"][m]) for m in ("5", "25", "100")]
    median = "" if way["median_m"] is None else f"{way['median_m']:.1f} m"
    cost = f"{way['cost']['p50']:.1f} ({way['cost']['p90']:.0f})"
    return [percent(way["answered"]), percent(way["wrong"]), *near, median, cost]


STAGES = {
    "crop": "the middle crop, best altitude, three cells",
    "votes": "+ votes of the frame, one altitude",
    "scales": "+ every altitude",
    "verification": "+ held against the map once",
    "second_look": "+ looked at twice (the default)",
    "without_votes": "the default without votes: the middle alone",
    "without_scales": "the default at one altitude",
    "without_middle_first": "the default, frame first",
}
