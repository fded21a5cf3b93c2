"""The accuracy page on real flights: how high before verification, and what is answered."""

from __future__ import annotations

from bench.page.tables import Result, percent, result, table

FLIGHTS = {
    "flight": "town, DJI Mini 2, 16:9, some 100 m above ground, leaning 8.5°",
    "sequence": "town and fields, video, 16:9, 48–112 m, map of another year",
}
SHORT = {"flight": "town, 100 m, leaning", "sequence": "town and fields, 48–112 m"}
RENDERED = {"mine": "mine, every fifth fixed view", "town": "town, every fifth fixed view"}
SOURCES = {"spectrum_m": "spectrum", "sweep_m": "sweep over the map", "fused_m": "both"}


ANSWERS = ["picture alone", "photos", "answered", "wrong", "within 25 m", "median", "time", "slowest tenth"]
ALTITUDES = ["altitude before verification", "by", "median ratio", "within 10 %", "20 %", "35 %", "mean off"]


def flights() -> str:
    labels = {**SHORT, **RENDERED}
    answers = [row for name, label in labels.items() for row in _answer_rows(name, label)]
    altitudes = [row for name, label in labels.items() for row in _altitude_rows(name, label)]
    first = "; ".join(f"{SHORT[name]}: {label}" for name, label in FLIGHTS.items())
    return f"""## Real flights, and the map as altimeter

Two real flights ({first}), photo by photo, tags not believed, with the sweep over altitudes
([ADR 45](adr/0045-the-map-as-altimeter.md)) and without it in turns; time is processor time with the sweep by
that without, of the median photo and the slowest tenth. Its settings come from other views of the mine; that
the spectrum must not rule out altitudes it has no class for was noticed on the second flight. Within 25 m
counts answers whose truth is known. The first flight's altitudes are above take-off: what the map confirms is
lower. Networks as they ship: the one for altitudes has not seen the mine, but the town.

{table(ANSWERS, answers)}

{table(ALTITUDES, altitudes)}"""


def _answer_rows(name: str, label: str) -> list[list[object]]:
    run = result(f"real_flights_{name}")
    ratio = run["time_ratio"]
    times = [f"{ratio['median']:.2f}", f"{ratio['slowest_tenth']:.2f}"]
    return [
        [f"{label}, without the sweep", run["photos"], *_answers(run["answers"]["without"]), "1", "1"],
        [f"{label}, with it (the default)", run["photos"], *_answers(run["answers"]["with"]), *times],
    ]


def _answers(found: Result) -> list[object]:
    median = "" if found["median_m"] is None else f"{found['median_m']:.1f} m"
    near = f"{found['within_25_m']} of {found['truth_known']}"
    return [found["answered"], found["wrong"], near, median]


def _altitude_rows(name: str, label: str) -> list[list[object]]:
    by_source = result(f"real_flights_{name}")["altitude"]
    return [[label, source, *_ratios(by_source[key])] for key, source in SOURCES.items()]


def _ratios(found: Result) -> list[object]:
    shares = [percent(found[f"within_{share}"]) for share in (10, 20, 35)]
    return [f"{found['median_ratio']:.2f}", *shares, f"{found['e_avg_m']:.0f} m"]
