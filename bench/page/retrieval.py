"""The accuracy page on retrieval alone: the shipped recipe on places it never saw, and what flatters it."""

from __future__ import annotations

from accuracy_tables import Result, has, lines_of, percent, result, source, table, verdict

NEAR_M = 100.0

#: Every run there may be, in the order of the page: its file, and what is to be said of it.
RUNS = {
    "ground_mine_unseen": "Mine, other date, networks that never saw it",
    "ground_town_unseen": "Town, other date, another sensor, haze, networks that never saw it",
    "ground_mine_standard": "Mine, other date, earlier: places by ImageNet alone, small altitude network",
    "ground_town_standard": "Town, other date, another sensor, haze, places by ImageNet alone",
    "ground_desert_standard": "Desert, same date, networks of before that learned on it: this flatters twice",
    "ground_campus_standard": "Campus, same date, networks of before that learned on it: this flatters twice",
}
#: R@1, R@5, within 100 m, mean altitude error in metres: what the shipped recipe was asked for.
WANTED = {"mine": (82.0, 92.0, 82.0, 30.0), "town": (30.0, 45.0, None, 45.0)}
ALTITUDES = {
    "true": "true", "within 10 %": "true ± 10 %", "hard": "estimated, best class",
    "soft": "estimated, all classes", "estimated": "estimated, as probabilities",
    "none": "none (whole photo)",
}  # fmt: skip
CELLS = {
    3: "three cells", "all": "all cells", "all, north": "all, one heading", "votes": "votes of the frame",
}  # fmt: skip


def retrieval() -> str:
    shown = [name for name in RUNS if has(name)]
    return "\n\n".join([HEAD, unseen(), *(ground(name) for name in shown)])


HEAD = """## Retrieval alone, nothing trained on the map

Before the map is asked; all fixed views. Single crops are answered by the nearest-looking reference (top-1)
or by the weighted coordinate (WCE), votes by the whole frame. A cell's prototype is here only the mean of its
references, so three cells cost points; all are searched unless told otherwise."""


def unseen() -> str:
    """Targets of the shipped recipe with the true altitude withheld; only what was run without the place."""
    rows: list[list[object]] = []
    for place in WANTED:
        if has(f"ground_{place}_unseen"):
            rows += against(place, result(f"ground_{place}_unseen")["results"])
    if not rows:
        return ""
    heads = ["true altitude withheld, never seen", "", "photos", "R@1", "R@5", "within 100 m", "altitude off"]
    return f"""### Against what was asked of the recipe that ships

On places its networks never saw, another date than the map's. By default the map is asked, which settles the
altitude too (where it confirms nothing, the picture's counts here); the whole frame without that, and one
crop, stand beside it, with the altitude the picture shows. R@K of the whole frame counts its first K
hypotheses.

{table(heads, rows)}{building()}"""


def building() -> str:
    """How long such a bundle takes to make; empty until somebody has measured it."""
    if not has("build_mine"):
        return ""
    told = result("build_mine")["results"]
    enough = verdict(told["minutes"] < 5)
    return f"""

The mine's bundle ({told["references"]} references) is built in {told["minutes"]:.1f} minutes on
{told["cores"]} cores, networks as above (less than 5 asked for: {enough}).
{source("build_mine", "bench/build.py --name mine …")}"""


def against(place: str, told: Result) -> list[list[object]]:
    ways = {(row["altitude"], row["cells"]): row for row in told["rows"]}
    crop, votes = ways["hard", "all"], ways["estimated", "votes"]
    r1, r5, near, off = WANTED[place]
    asked = [f"≥ {r1:.0f}", f"≥ {r5:.0f}", f"≥ {near:.0f} %" if near else "", f"≤ {off:.0f} m"]
    by_frame = (votes["r1"], votes["r5"], votes["votes_100"], ways["soft", "all"]["e_avg_m"])
    by_crop = (crop["r1"], crop["r5"], crop["top1_100"], crop["e_avg_m"])
    chain = [[place, "verified, the default", len(lines_of(f"verify_{place}")), "", "", *by_chain(place)]]
    return [
        [place, "asked for", "", *asked],
        *(chain if has(f"verify_{place}") else []),
        [place, "whole frame, without asking the map", votes["photos"], *judged(by_frame, WANTED[place])],
        [place, "one crop, best class", crop["photos"], *judged(by_crop, WANTED[place])],
    ]


def by_chain(place: str) -> list[str]:
    """Answers held against the map: their share, and how far the altitude is off over all photos.

    Where the map confirms nothing the altitude is what the picture says.
    """
    seen = {
        line["photo"]: abs(float(line["altitude_off_m"]))
        for line in lines_of(f"ground_{place}_unseen")
        if (line["altitude"], line["cells"]) == ("hard", "all")
    }
    photos = lines_of(f"verify_{place}")
    found = [x for x in photos if x["status"] == "fix"]
    off = [float(x["altitude_error_percent"]) / 100 * float(x["altitude_m"]) for x in found]
    off += [seen[x["photo"]] for x in photos if x["status"] != "fix"]
    near = 100 * sum(float(x["error_m"]) < NEAR_M for x in found) / len(photos)
    _, _, least, most = WANTED[place]
    share = f"{near:.1f}" + (f", {verdict(near >= least)}" if least is not None else "")
    mean_m = sum(off) / len(off)
    return [share, f"{mean_m:.1f} m, {verdict(most is None or mean_m <= most)}"]


def judged(values: tuple[float, ...], wanted: tuple[float | None, ...]) -> list[str]:
    *shares, off = values
    *least, most = wanted
    cells = [
        f"{value:.1f}" + (f", {verdict(value >= wish)}" if wish is not None else "")
        for value, wish in zip(shares, least, strict=True)
    ]
    return [*cells, f"{off:.1f} m, {verdict(most is None or off <= most)}"]


def ground(name: str) -> str:
    """One run: every way of knowing the altitude and of searching, and where it fails."""
    told = result(name)["results"]
    heads = [
        "altitude",
        "searched",
        "photos",
        "off, m",
        "R@1",
        "R@5",
        "top-1 within 100 m",
        "WCE or votes",
        "50 m",
    ]
    heads += ["25 m", "10 m", "median", "90th"]
    command = (
        f"bench/ground.py --place {told['place']} --rows standard --fixed --votes-every {told['votes_every']}"
    )
    if told["recipe"] != "standard":
        command += f" --networks … --name {told['recipe']}"
    parts = [
        f"### {RUNS[name]}",
        heights(told),
        table(heads, [ground_row(row) for row in told["rows"]]),
        source(name, command),
    ]
    if "by_altitude" in told:
        parts.append(split(told))
    return "\n\n".join(parts)


def heights(told: Result) -> str:
    """How well the altitude is told, by the best class and by all."""
    ways = {row["altitude"]: row for row in told["rows"] if row["cells"] == "all"}
    keys = [f"altitude_within_{d}_m" for d in (25, 50, 100)]
    rows: list[list[object]] = [
        [
            ALTITUDES[way],
            ways[way]["photos"],
            f"{ways[way]['e_avg_m']:.1f} m",
            *(share(ways[way], k) for k in keys),
        ]
        for way in ("hard", "soft")
    ]
    return table(["altitude", "photos", "off in the mean", "within 25 m", "50 m", "100 m"], rows)


def ground_row(row: Result) -> list[object]:
    """The weighted coordinate of a crop, or the answer of the votes, at every distance."""
    votes = row["cells"] == "votes"
    way = "votes" if votes else "wce"
    near = [share(row, f"{way}_{d}") for d in (50, 25, 10)]
    far = [metres(row, f"{way}_median_m"), metres(row, f"{way}_p90_m")]
    top = "" if votes else share(row, "top1_100")
    recall = [f"{row[key]:.1f}" if key in row else "" for key in ("r1", "r5")]
    off = f"{row['e_avg_m']:.0f}" if row.get("e_avg_m") else ""
    return [ALTITUDES[row["altitude"]], CELLS[row["cells"]], row["photos"], off, *recall, top,
            share(row, f"{way}_100"), *near, *far]  # fmt: skip


def share(row: Result, key: str) -> str:
    return percent(row[key]) if key in row else ""


def metres(row: Result, key: str) -> str:
    return f"{row[key]:.0f} m" if key in row else ""


def split(told: Result) -> str:
    """The same by altitude and by what grows there, in few columns."""
    heads = ["", "photos", "altitude off", "R@1, true altitude", "R@1, estimated", "votes within 100 m"]
    counts = {name: found[0]["photos"] for name, found in told["by_cover"].items()}
    both = len(counts) > 1 and min(counts.values()) >= 0.1 * sum(counts.values())
    named = {f"{k} m": v for k, v in told["by_altitude"].items()} | (told["by_cover"] if both else {})
    rows = []
    for name, found in named.items():
        ways = {(r["altitude"], r["cells"]): r for r in found}
        true, hard, votes = (ways.get(way, {}) for way in SPLIT)
        rows.append([name, true.get("photos", ""), f"{hard['e_avg_m']:.0f} m", f"{true['r1']:.1f}",
                     f"{hard['r1']:.1f}", percent(votes["votes_100"]) if votes else ""])  # fmt: skip
    return table(heads, rows)


SPLIT = (("true", "all"), ("hard", "all"), ("estimated", "votes"))
