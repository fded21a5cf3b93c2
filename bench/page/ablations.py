"""The accuracy page on one change at a time, and what settings were chosen by; what was not run is absent."""

from __future__ import annotations

from accuracy_tables import Result, has, percent, result, source, table
from rows_known import ROWS, SETS, TRIALS

PLACES = {"mine": "mine", "town": "town", "desert": "desert (same date)", "campus": "campus (same date)"}
ALTITUDE = {name: ROWS[name].said for name in SETS["altitude"]}
PLACE = {name: ROWS[name].said for name in SETS["place"]}
TRIED = {name: row.said for name, row in TRIALS.items()}


def found(rows: dict[str, str]) -> list[tuple[str, str, Result]]:
    """Place, row and result of every row that was run."""
    return [
        (place, row, result(f"rows_{place}_{row}")["results"])
        for place in PLACES
        for row in rows
        if has(f"rows_{place}_{row}")
    ]


def changes() -> str:
    """Empty until somebody has measured it."""
    high, low = found(ALTITUDE), found(PLACE)
    if not high and not low:
        return ""
    parts = [head(high + low), altitude_rows(high), place_rows(low), trials(), origin(high + low)]
    return "\n\n".join(part for part in parts if part)


def missing() -> str:
    """Rows that nobody has run on any place."""
    ran = {row for _, row, _ in found(ALTITUDE | PLACE)}
    absent = [f"{said} (`{row}`)" for row, said in (ALTITUDE | PLACE).items() if row not in ran]
    tried = "" if found(TRIED) else " No trial of settings (`--rows trials`) either."
    return f"Of `bench/rows.py`: {'; '.join(absent)}.{tried}" if absent else ""


def head(told: list[tuple[str, str, Result]]) -> str:
    steps = {row: one["settings"]["steps"] for _, row, one in told}
    some = ", ".join(
        f"{', '.join(map(str, sorted({n for row, n in steps.items() if row in kind})))} steps for {name}"
        for kind, name in ((ALTITUDE, "altitude rows"), (PLACE, "place rows"))
        if any(row in kind for row in steps)
    )
    batch = ", ".join(map(str, sorted({one["settings"]["batch"] for _, _, one in told})))
    return f"""### One change at a time

The same method on fixed views, one thing changed in each row, one seed, one short equal budget in steps
({some}; {batch} pictures each): these say what choices are worth against each
other. No row starts from other places. Random starts are shown as such: ImageNet weights of EfficientNet-B5
could not be had, so that row shows the start, not the encoder."""


def altitude_rows(told: list[tuple[str, str, Result]]) -> str:
    heads = ["altitude", "", "best class", "in per cent", "within 25 m", "50 m", "100 m", "all classes"]
    heads += ["own date, held out"]
    rows: list[list[object]] = []
    for place, row, one in told:
        a = one["altitude"]
        shares = [percent(a[f"hard_within_{d}_m"]) for d in (25, 50, 100)]
        hard = [f"{a['hard_m']:.1f} m", percent(a["hard_percent"])]
        rows.append([PLACES[place], ALTITUDE[row], *hard, *shares,
                     f"{a['soft_m']:.1f} m", f"{a['held_out_e_avg_m']:.1f} m"])  # fmt: skip
    return table(heads, rows) if rows else ""


def place_rows(told: list[tuple[str, str, Result]]) -> str:
    heads = [
        "places, true altitude",
        "",
        "R@1 / R@5, three cells",
        "WCE within 100 m",
        "R@1 / R@5, all cells",
    ]
    heads += ["all, one heading", "R@1, no altitude", "right cell among three"]
    rows: list[list[object]] = []
    for place, row, one in told:
        true, none = one["place_true_altitude"], one["place_none_altitude"]
        three = true.get("three_cells")
        narrow = [recall(three), percent(three["wce_100"])] if three else ["", ""]
        bare = none.get("three_cells", none["all_cells"])
        cell = percent(true["cell_in_top3"]) if three else ""
        wide = [recall(true["all_cells"]), recall(true["all_cells_north"]), f"{bare['r1']:.1f}"]
        rows.append([PLACES[place], PLACE[row], *narrow, *wide, cell])
    return table(heads, rows) if rows else ""


def recall(told: Result) -> str:
    return f"{told['r1']:.1f} / {told['r5']:.1f}"


#: Trials of headlines, on views that may reach beyond the edge.
EDGED = {
    "mine": ("try-altitude-wide-contrast-long", "try-altitude-wide-long"),
    "town": ("try-altitude-beside", "try-altitude-contrast-beside"),
}


def trials() -> str:
    """What was tried on views of our own."""
    told = found(TRIED)
    if not told:
        return ""
    rows: list[list[object]] = []
    for place, row, one in told:
        high, low = one.get("altitude"), one.get("place_true_altitude")
        off = f"{high['hard_m']:.1f} m / {high['soft_m']:.1f} m" if high else ""
        near = [recall(low["three_cells"]), percent(low["three_cells"]["wce_100"])] if low else ["", ""]
        mark = " †" if row in EDGED.get(place, ()) else ""
        rows.append([PLACES[place], TRIED[row] + mark, one["photos"], off, *near])
    heads = ["other date, views of our own", "", "photos", "altitude off, best class / all"]
    heads += ["R@1 / R@5, true altitude", "WCE within 100 m"]
    return f"""Changes that training views go through were chosen on views drawn with a seed of our own, never
on the fixed views: at first each place by what was best on the *other* one, then altitudes by what was best
on the other *half* of the same place (400 photos). The headline was chosen among those marked †, whose views
may reach beyond the picture's edge as fixed ones do; all others saw whole frames:

{table(heads, rows)}"""


def origin(told: list[tuple[str, str, Result]]) -> str:
    place, row, _ = told[0]
    return source(f"rows_{place}_{row}", f"bench/rows.py --place {place} --rows all …")


WIDTHS = {"bins25": "25 m", "bins50": "50 m", "bins75": "75 m", "bins100": "100 m", "variable": "variable"}


def widths() -> str:
    """Classes of every width fitted to the map; empty until somebody has measured it."""
    ran = [place for place in PLACES if has(f"bins_{place}")]
    if not ran:
        return ""
    rows = [row for place in ran for row in width_rows(place)]
    heads = [
        "classes",
        "",
        "photos",
        "best class",
        "in per cent",
        "within 25 m",
        "50 m",
        "100 m",
        "all classes",
    ]
    return f"""### Altitude classes of other widths, nothing trained

Classes fitted to the map's own views, as the shipped recipe does it, by networks that never saw the place;
all widths on the same views and photos.

{table(heads, rows)}

{source(f"bins_{ran[0]}", f"bench/bins.py --name {ran[0]} …")}"""


def width_rows(place: str) -> list[list[object]]:
    told = result(f"bins_{place}")["results"]
    rows: list[list[object]] = []
    for name, said in WIDTHS.items():
        one = told["bins"][name]
        shares = [percent(one[f"hard_within_{d}_m"]) for d in (25, 50, 100)]
        hard = [f"{one['hard_m']:.1f} m", percent(one["hard_percent"])]
        rows.append([PLACES[place], said, told["photos"], *hard, *shares, f"{one['soft_m']:.1f} m"])
    return rows
