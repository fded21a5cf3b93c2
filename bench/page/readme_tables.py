"""Fills the README's blocks on how good, how fast and where it fails, from committed results.

python -m bench.page.readme_tables           fills what stands between the marks, `<!-- how good: begin -->` …
python -m bench.page.readme_tables --check   fails where a block is not what the results give

"""

from __future__ import annotations

import argparse
import statistics

from bench.page.flights import FLIGHTS
from bench.page.tables import (
    ROOT,
    Lines,
    Result,
    block,
    lines_of,
    link,
    percent,
    result,
    table,
    write_or_check,
)

README = ROOT / "README.md"
PLACES = {
    "mine": "open-cast mine, another date",
    "town": "hill town, another date and satellite, haze",
}
LOW_M = {"mine": 150.0, "town": 250.0}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--check", action="store_true")
    text = README.read_text(encoding="utf-8")
    for name, content in blocks().items():
        text = block(text, name, content)
    write_or_check({README: text}, options.parse_args().check, "python -m bench.page.readme_tables")


def blocks() -> dict[str, str]:
    return {"how good": how_good(), "how fast": how_fast(), "where it fails": where_it_fails()}


def how_good() -> str:
    heads = ["real ground, never seen by any network", "photos", "answered", "wrong", "half within"]
    rows: list[list[object]] = []
    for place, label in PLACES.items():
        run = result(f"verify_{place}")
        radius = run["radius95"]
        rows.append(
            [label, run["photos"], percent(run["answered_percent"]), percent(run["wrong_fix_percent"]),
             f"{run['error_m']['median']:.1f} m", f"{radius['coverage']:.0f} of 100",
             f"{radius['median_m']:.1f} m"]
        )  # fmt: skip
    heads += ["truth inside the 95 % radius", "median radius"]
    return f"{table(heads, rows)}\n\n{_sources('verify_mine', 'verify_town')}"


def how_fast() -> str:
    chain, start, build = result("verify_mine"), result("cold_start"), result("build_mine")
    b5, gpu, cost = result("end_to_end_b5")["paper"], result("gpu_verified"), chain["cost_ratio"]
    verified_ms = gpu["verified_fix"]["median_ms"]["verified fix"]
    cold = start["default"]
    rows: list[list[object]] = [
        ["an answer confirmed by the map, against a guess from the photo's middle alone",
         f"{cost['p50']:.1f} times; the slowest tenth {cost['p90']:.1f}"],
        ["the first photo of a process, against imports and a later photo",
         f"{cold['cold_over_bare_and_warm']:.2f} times, {cold['peak_resident_mb']} MB"],
        [f"memory to build a bundle of {build['references']} rendered views",
         f"{build['peak_resident_mb']} MB"],
        ["the published method (recipe `paper`), against the straightforward way of running it",
         f"{b5['times_faster_in_all']['all']:.1f} times as fast"],
        [f"an answer confirmed by the map on one {gpu['device']}, median", f"{verified_ms:.0f} ms"],
    ]  # fmt: skip
    names = ("verify_mine", "cold_start", "build_mine", "end_to_end_b5", "gpu_verified")
    return f"{table(['ratios on two CPU cores; milliseconds on a GPU', ''], rows)}\n\n{_sources(*names)}"


def where_it_fails() -> str:
    heads = ["photos", "count", "answered", "wrong", "half within"]
    rows: list[list[object]] = []
    for place in PLACES:
        lines = [x for x in lines_of(f"verify_{place}") if float(x["altitude_m"]) < LOW_M[place]]
        rows.append([f"{place}, below {LOW_M[place]:.0f} m above ground", *_answers(lines)])
    rows.insert(1, ["mine, below 150 m, open ground (pits, roads, bare earth)", *_answers(_open_and_low())])
    for ground, label in (
        ("water", "a lake"),
        ("forest, other crowns", "closed forest whose crowns changed"),
    ):
        counts = result("refuse_world")["grounds"][ground]
        rows.append([f"{label} (procedural)", counts["photos"], counts["answered"], counts["wrong"], ""])
    names = ["verify_mine", "verify_town", "land_cover_mine", "refuse_world"]
    for name, label in FLIGHTS.items():
        rows.append(_flight(label, result(f"real_flights_{name}")))
        names.append(f"real_flights_{name}")
    return f"{table(heads, rows)}\n\n{_sources(*names)}"


def _open_and_low() -> Lines:
    covers = {line["photo"]: line["cover"] for line in lines_of("land_cover_mine")}
    lines = [x for x in lines_of("verify_mine") if float(x["altitude_m"]) < LOW_M["mine"]]
    return [x for x in lines if covers[str(int(x["photo"].removesuffix(".jpg")))] == "open"]


def _answers(lines: Lines) -> list[object]:
    """How many photos, how many of them answered and answered wrongly, and the median error."""
    errors_m = [float(line["error_m"]) for line in lines if line["status"] == "fix"]
    median = f"{statistics.median(errors_m):.1f} m" if errors_m else ""
    return [len(lines), len(errors_m), sum(error > 100 for error in errors_m), median]


def _flight(label: str, run: Result) -> list[object]:
    found = run["answers"]["with"]
    median = "" if found["median_m"] is None else f"{found['median_m']:.1f} m"
    return [f"real flight: {label}", run["photos"], found["answered"], found["wrong"], median]


def _sources(*names: str) -> str:
    links = ", ".join(link(name, page="") for name in names)
    return f"*Written by `python -m bench.page.readme_tables` from {links}.*"


if __name__ == "__main__":
    main()
