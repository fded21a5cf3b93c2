"""The accuracy page on one change at a time; what was not run is absent, and named at the end."""

from __future__ import annotations

from bench.lib.ablation_list import ABLATIONS, SETS
from bench.page.tables import Result, has, pair, percent, result, table

PLACE = "mine"
ALTITUDE = {name: ABLATIONS[name].label for name in SETS["altitude"]}
PLACES = {name: ABLATIONS[name].label for name in SETS["place"]}


def ran(names: dict[str, str]) -> dict[str, Result]:
    """The ablations that were run, by their labels."""
    return {
        label: result(f"ablations_{PLACE}_{name}")
        for name, label in names.items()
        if has(f"ablations_{PLACE}_{name}")
    }


def missing() -> str:
    """Ablations that nobody has run."""
    every = ALTITUDE | PLACES
    absent = [f"{label} (`{name}`)" for name, label in every.items() if not has(f"ablations_{PLACE}_{name}")]
    return f"Of `bench/training/ablations.py`: {'; '.join(absent)}." if absent else ""


def ablations() -> str:
    by_altitude, by_place = ran(ALTITUDE), ran(PLACES)
    parts = [_head(by_altitude, by_place), _altitude_table(by_altitude), _place_table(by_place)]
    return "\n\n".join(parts)


def _head(by_altitude: dict[str, Result], by_place: dict[str, Result]) -> str:
    budgets = ", ".join(f"{_budget(runs)} for {name}" for name, runs in
                        (("altitude", by_altitude), ("place", by_place)))  # fmt: skip
    b5 = result(f"published_{PLACE}_b5")["place_true_altitude"]["three_cells"]
    return f"""### One change at a time

The same method on the fixed views of the {PLACE}, one thing changed in each row, one seed, one short equal
budget ({budgets}): these compare choices. No row starts from other places. The last column has classes of the
same width fitted to the map by networks that never saw it, as the shipped recipe does. ImageNet weights of
EfficientNet-B5 could not be had: random starts show the start, not the encoder (B5 in a longer run, three
cells: R@1 {b5["r1"]:.1f}, R@5 {b5["r5"]:.1f}, {percent(b5["wce_100"])} within 100 m)."""


def _budget(runs: dict[str, Result]) -> str:
    steps, batch = (" or ".join(sorted({str(run["settings"][key]) for run in runs.values()}))
                    for key in ("steps", "batch"))  # fmt: skip
    return f"{steps} steps of {batch} pictures"


def _altitude_table(runs: dict[str, Result]) -> str:
    """Every altitude row, and beside it the same classes fitted to the map without training."""
    fitted = {ALTITUDE[name]: run for name, run in result(f"altitude_bins_{PLACE}")["bins"].items()}
    heads = ["altitude", "best class", "in per cent", "within 25 m", "50 m", "100 m", "all classes"]
    heads += ["own date, held out", "nothing trained, best class / all"]
    rows: list[list[object]] = []
    for label, run in runs.items():
        own = f"{run['altitude']['held_out_e_avg_m']:.1f} m"
        bins = fitted.get(label)
        untrained = f"{bins['hard_m']:.1f} / {bins['soft_m']:.1f} m" if bins else ""
        rows.append([label, *_altitude_cells(run["altitude"]), own, untrained])
    return table(heads, rows)


def _altitude_cells(altitude: Result) -> list[str]:
    shares = [percent(altitude[f"hard_within_{d}_m"]) for d in (25, 50, 100)]
    off = [f"{altitude['hard_m']:.1f} m", percent(altitude["hard_percent"])]
    return [*off, *shares, f"{altitude['soft_m']:.1f} m"]


def _place_table(runs: dict[str, Result]) -> str:
    heads = ["places, true altitude", "R@1 / R@5, three cells", "WCE within 100 m", "R@1 / R@5, all cells"]
    rows: list[list[object]] = [[label, *_place_cells(run)] for label, run in runs.items()]
    return table([*heads, "all, one heading", "R@1, no altitude", "right cell among three"], rows)


def _place_cells(run: Result) -> list[str]:
    true, none = run["place_true_altitude"], run["place_none_altitude"]
    three = true.get("three_cells")
    narrow = [_recall(three), percent(three["wce_100"])] if three else ["", ""]
    without = none.get("three_cells", none["all_cells"])
    wide = [_recall(true["all_cells"]), _recall(true["all_cells_north"]), f"{without['r1']:.1f}"]
    return [*narrow, *wide, percent(true["cell_in_top3"]) if three else ""]


def _recall(run: Result) -> str:
    return pair([run["r1"], run["r5"]])
