"""The accuracy page on retrieval alone: the shipped recipe on places it never saw, and what flatters it."""

from __future__ import annotations

from bench.page.tables import Result, lines_of, percent, result, table, verdict

NEAR_M = 100.0
#: R@1, R@5, within 100 m, mean altitude error in metres: what the shipped recipe was asked for.
TARGETS = {"mine": (82.0, 92.0, 82.0, 30.0), "town": (30.0, 45.0, None, 45.0)}
UNSEEN = {"mine": "mine", "town": "town, another sensor, haze"}
ALTITUDES = {
    "true": "true", "within 10 %": "true ± 10 %", "hard": "estimated, best class",
    "soft": "estimated, all classes", "estimated": "estimated, as probabilities",
    "none": "none (whole photo)",
}  # fmt: skip
CELLS = {
    3: "three cells",
    "all": "all cells",
    "all, north": "all, one heading",
    "votes": "votes of the frame",
}
#: Rows of the page; the result files have every combination.
ROWS = (("hard", 3), ("hard", "all"), ("none", "all"), ("estimated", "votes"))


def retrieval() -> str:
    heads = ["never seen", "altitude", "searched", "photos", "altitude off", "R@1", "R@5", "WCE or votes"]
    heads += ["50 m", "25 m", "10 m", "median", "90th"]
    rows = [row for place, label in UNSEEN.items() for row in _rows(place, label)]
    return f"""## Retrieval alone, nothing trained on the map

Before verification against the map; fixed views. Single crops are answered by the weighted coordinate
(WCE), votes by the whole frame. A cell's prototype is here only the mean of its references, so three cells
cost points; all are searched by default.

{table(heads, rows)}

{_targets()}"""


def _targets() -> str:
    """Targets of the shipped recipe with the true altitude withheld, without the place in any training."""
    heads = ["true altitude withheld, never seen", "", "photos", "R@1", "R@5", "within 100 m", "altitude off"]
    rows = [row for place in TARGETS for row in _against(place)]
    build = result("build_mine")
    return f"""What was asked of the recipe that ships, and what it does. By default answers are verified
against the map, which settles the altitude too (where it confirms nothing, the photo's estimate counts
here); the whole frame without that, and one crop, stand beside it. R@K of the whole frame counts its first
K hypotheses. The mine's bundle ({build["references"]} references) is built in {build["minutes"]:.1f} minutes
on {build["cores"]} cores (less than 5 asked for: {verdict(build["minutes"] < 5)}).

{table(heads, rows)}"""


def _against(place: str) -> list[list[object]]:
    rows = {(row["altitude"], row["cells"]): row for row in result(f"retrieval_{place}_unseen")["rows"]}
    crop, votes = rows["hard", "all"], rows["estimated", "votes"]
    r1, r5, near, off = TARGETS[place]
    wanted = [f"≥ {r1:.0f}", f"≥ {r5:.0f}", f"≥ {near:.0f} %" if near else "", f"≤ {off:.0f} m"]
    by_frame = (votes["r1"], votes["r5"], votes["votes_100"], rows["soft", "all"]["e_avg_m"])
    by_crop = (crop["r1"], crop["r5"], crop["top1_100"], crop["e_avg_m"])
    return [
        [place, "asked for", "", *wanted],
        [place, "verified, the default", len(lines_of(f"verify_{place}")), "", "", *_by_chain(place)],
        [place, "whole frame, without the map", votes["photos"], *judged(by_frame, TARGETS[place])],
        [place, "one crop, best class", crop["photos"], *judged(by_crop, TARGETS[place])],
    ]


def _by_chain(place: str) -> list[str]:
    """The share of verified answers, and how far the altitude is off over all photos.

    Where the map confirms nothing the altitude is the photo's estimate.
    """
    estimates_off_m = {
        line["photo"]: abs(float(line["altitude_off_m"]))
        for line in lines_of(f"retrieval_{place}_unseen")
        if (line["altitude"], line["cells"]) == ("hard", "all")
    }
    photos = lines_of(f"verify_{place}")
    fixes = [x for x in photos if x["status"] == "fix"]
    off_m = [float(x["altitude_error_percent"]) / 100 * float(x["altitude_m"]) for x in fixes]
    off_m += [estimates_off_m[x["photo"]] for x in photos if x["status"] != "fix"]
    near = 100 * sum(float(x["error_m"]) < NEAR_M for x in fixes) / len(photos)
    _, _, least, most = TARGETS[place]
    share = f"{near:.1f}" + (f", {verdict(near >= least)}" if least is not None else "")
    mean_m = sum(off_m) / len(off_m)
    return [share, f"{mean_m:.1f} m, {verdict(most is None or mean_m <= most)}"]


def judged(values: tuple[float, ...], targets: tuple[float | None, ...]) -> list[str]:
    """Shares that must be at least, and a distance that must be at most, with their verdicts."""
    *shares, off_m = values
    *least, most = targets
    cells = [
        f"{value:.1f}" + (f", {verdict(value >= target)}" if target is not None else "")
        for value, target in zip(shares, least, strict=True)
    ]
    return [*cells, f"{off_m:.1f} m, {verdict(most is None or off_m <= most)}"]


def _rows(place: str, label: str) -> list[list[object]]:
    rows = {(row["altitude"], row["cells"]): row for row in result(f"retrieval_{place}_unseen")["rows"]}
    return [[label, *_row(rows[key])] for key in ROWS]


def _row(row: Result) -> list[object]:
    """The weighted coordinate of a crop, or the answer of the votes, at every distance."""
    kind = "votes" if row["cells"] == "votes" else "wce"
    shares = [percent(row[f"{kind}_{d}"]) if f"{kind}_{d}" in row else "" for d in (100, 50, 25, 10)]
    far = [f"{row[key]:.0f} m" if key in row else "" for key in (f"{kind}_median_m", f"{kind}_p90_m")]
    recall = [f"{row[key]:.1f}" if key in row else "" for key in ("r1", "r5")]
    off = f"{row['e_avg_m']:.1f} m" if row.get("e_avg_m") else ""
    return [ALTITUDES[row["altitude"]], CELLS[row["cells"]], row["photos"], off, *recall, *shares, *far]
