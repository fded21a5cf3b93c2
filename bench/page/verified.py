"""The accuracy page on the whole chain: verified fixes, refusals, and what each stage adds."""

from __future__ import annotations

from bench.page.tables import Result, lines_of, percent, result, table

#: Places, and the networks their bundles were built with: none of them saw the place.
NETWORKS = {
    "mine": "both as they ship",
    "town": "altitudes by one made without it "
    "(`python -m bench.training.many_places altitude --leave-out town --steps 500 --intensity contrast …`)",
}
SHARES_M = ("5", "10", "25", "100")
#: Photos of the mine from low above: some of its fixed low views.
LOW = "mine, 30–100 m"


def verified() -> str:
    runs = {place: result(f"verify_{place}") for place in NETWORKS}
    heads = ["other date", "photos", "answered", "wrong", "within 5 m", "10 m", "25 m", "100 m", "median"]
    rows = [_chain_row(place, run) for place, run in runs.items()]
    networks = "; ".join(f"{place}: {text}" for place, text in NETWORKS.items())
    low = result("verify_mine_low")
    rows.append(_chain_row(LOW, low))
    details = [[place, *_details(run)] for place, run in {**runs, LOW: low}.items()]
    heads_2 = ["median of the answers", "heading off", "altitude off", "95 % radius", "holds the truth"]
    heads_2 += ["cost against a single crop", "slowest tenth"]
    return f"""## The whole chain, from the photo alone

The fixed views, the true altitude withheld. Nothing was trained on these maps, and no network saw the places
({networks}). The town was measured before keypoints came in int8 and the radius had a floor. Shares are of
all photos, the median is that of the answers; "wrong" is more than 100 m off: one of all 200 low views was,
until more was asked of a match ([ADR 60](adr/0060-a-floor-for-low-photos.md)).

{table(heads, rows)}

{table(heads_2, details)}

In the slowest tenth one hypothesis stage after the other is tried. {_matching()}"""


def _chain_row(place: str, run: Result) -> list[object]:
    shares = [percent(run["s_loc"][m]) for m in SHARES_M]
    answers = [percent(run["answered_percent"]), percent(run["wrong_fix_percent"])]
    return [place, run["photos"], *answers, *shares, f"{run['error_m']['median']:.1f} m"]


def _details(run: Result) -> list[object]:
    radius, cost = run["radius95"], run["cost_ratio"]
    return [
        f"{run['heading_error_deg']:.2f}°",
        f"{run['altitude_error_percent']:.2f} %",
        f"{radius['median_m']:.1f} m",
        f"{radius['coverage']:.1f} %",
        f"{cost['p50']:.1f} times",
        f"{cost['p90']:.1f} times",
    ]


def _matching() -> str:
    run = result("verify_town_displaced")
    return f"""Matching alone, without retrieval: {run["photos"]} of the town's photos, begun at their true
views displaced by up to 30 m, 15° and 12 %: {percent(run["answered_percent"])} answered,
{percent(run["wrong_fix_percent"])} wrong, {percent(run["s_loc"]["5"])} within 5 m,
{percent(run["s_loc"]["25"])} within 25 m, {run["error_m"]["median"]:.1f} m in the median."""


REFUSALS = {
    "world": {
        "water": "world, a lake",
        "forest, other crowns": "world, closed forest, its crowns drawn anew",
        "forest, same crowns": "world, closed forest, the same crowns",
    },
    "mine": {"forest": "mine, closed forest"},
}


def refused() -> str:
    """Where there should be no answer: another place, water, forest that grew anew."""
    foreign = result("verify_mine_foreign")
    false_fixes = round(foreign["answered_percent"] * foreign["photos"] / 100)
    rows: list[list[object]] = [
        ["mine, photos of the town", foreign["photos"], false_fixes, false_fixes, ""],
    ]
    rows += [
        [label, counts["photos"], counts["answered"], counts["wrong"], _farthest(name, ground)]
        for name, labels in REFUSALS.items()
        for ground, label in labels.items()
        for counts in [result(f"refuse_{name}")["grounds"][ground]]
    ]
    low, high = result("refuse_world")["altitude_m"]
    return f"""### Another place, water and closed forest

Water and forest: photos from {low:.0f} to {high:.0f} m that show nothing else, of another date than the map.
Waves, and crowns that were drawn anew, have nothing in common with the map: there every answer would be a
guess. The same crowns under another sun may rightly be found. On the mine closed forest is where at least
four fifths of the frame are green and rough on the map; places recognised by ImageNet's network alone.

{table(["ground", "photos", "answered", "wrong", "farthest answer off"], rows)}"""


def _farthest(name: str, ground: str) -> str:
    """The largest error of the answers on one ground."""
    lines = lines_of(f"refuse_{name}")
    errors_m = [float(x["error_m"]) for x in lines if x["ground"] == ground and x["error_m"]]
    return f"{max(errors_m):.1f} m" if errors_m else ""


STAGES = {
    "crop": "the middle crop, best altitude, three cells",
    "votes": "+ votes of the frame, one altitude",
    "scales": "+ every altitude",
    "verification": "+ verified against the map once",
    "second_look": "+ registered a second time (the default)",
    "without_votes": "the default without votes: the middle alone",
    "without_scales": "the default at one altitude",
    "without_middle_first": "the default, whole frame first",
}


def stages() -> str:
    run = result("stages_mine_dev")
    heads = ["", "answered", "wrong", "within 5 m", "25 m", "100 m", "median", "cost"]
    rows: list[list[object]] = [[label, *_stage(run["ways"][name])] for name, label in STAGES.items()]
    return f"""## What each stage adds

{run["photos"]} other views of the mine than those above, drawn with a seed of our own: settings were chosen
on views like these, so this compares stages and does not say how good they are elsewhere; places by
ImageNet's network alone. Cost is the median ratio to the single crop of the same photo (and the slowest
tenth).

{table(heads, rows)}"""


def _stage(stage: Result) -> list[object]:
    shares = [percent(stage["s_loc"][m]) for m in ("5", "25", "100")]
    cost = f"{stage['cost']['p50']:.1f} ({stage['cost']['p90']:.0f})"
    return [percent(stage["answered"]), percent(stage["wrong"]), *shares, f"{stage['median_m']:.1f} m", cost]
