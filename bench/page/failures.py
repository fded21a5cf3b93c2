"""The accuracy page on where it fails: by altitude and by land cover, from the photos of each run."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable

from bench.page.tables import Lines, lines_of, percent, result, table

Part = Callable[[dict[str, str]], bool]
BANDS_M = {
    "mine": ((100, 150), (150, 200), (200, 300), (300, 401)),
    "town": ((150, 250), (250, 400), (400, 550), (550, 701)),
}
LOW_M = 150  # what counts as low on the mine
SEEDS = range(3)


def failures() -> str:
    heads = ["other date", "photos", "answered", "within 5 m", "25 m", "altitude off, trained / shipped"]
    heads += ["R@1, trained / shipped"]
    rows = [_row(place, name, part) for place in BANDS_M for name, part in _parts(place).items()]
    forest = sum(line["cover"] == "forest" for line in lines_of("land_cover_town"))
    return f"""### Where it fails

Answers of the whole chain by altitude and land cover, and beside them the steps before verification:
"trained" is the method as published, "shipped" the recipe that trains nothing (best class, all cells, single
crop). A view counts as forest where more than half of the ground in the frame is green and rough on the
*map*, by a rule fixed before anything was measured, which does not separate the ground of the town ({forest}
views forest); the rest of the mine is pits, roads, bare earth and plantation; low is below {LOW_M} m.

{table(heads, rows)}

{_reasons()}"""


def _parts(place: str) -> dict[str, Part]:
    """Altitude bands and, on the mine, land cover, over all and from low."""
    bands = {f"{low}–{high // 10 * 10} m": _in_band(low, high) for low, high in BANDS_M[place]}
    if place != "mine":
        return bands
    covers = {line["photo"]: line["cover"] for line in lines_of(f"land_cover_{place}")}
    low = _in_band(0, LOW_M)
    by_cover = {cover: _of_cover(covers, cover) for cover in ("forest", "open")}
    return {**bands, **by_cover, **{f"{cover}, low": _both(low, part) for cover, part in by_cover.items()}}


def _in_band(low: float, high: float) -> Part:
    return lambda line: low <= float(line["altitude_m"]) < high


def _of_cover(covers: dict[str, str], cover: str) -> Part:
    """Runs name a view by its number, or by the photo's file."""
    return lambda line: covers[str(int(line["photo"].removesuffix(".jpg")))] == cover


def _both(*parts: Part) -> Part:
    return lambda line: all(part(line) for part in parts)


def _row(place: str, name: str, part: Part) -> list[object]:
    trained = [line for line in _trained(place) if part(line)]
    shipped = [line for line in _shipped(place) if part(line)]
    chain = [line for line in lines_of(f"verify_{place}") if part(line)]
    errors_m = [float(line["error_m"]) for line in chain if line["status"] == "fix"]
    counts = (len(errors_m), sum(e <= 5 for e in errors_m), sum(e <= 25 for e in errors_m))
    shares = [percent(100 * count / len(chain)) for count in counts]
    off_m = f"{_mean(map(abs, map(_trained_off_m, trained)))} / {_mean(map(_shipped_off_m, shipped))} m"
    recall = " / ".join(_mean(100 * float(line["r1"]) for line in lines) for lines in (trained, shipped))
    return [f"{place}, {name}", len(chain), *shares, off_m, recall]


def _mean(values: Iterable[float]) -> str:
    return f"{statistics.mean(values):.1f}"


def _trained(place: str) -> Lines:
    """The published method's photos over all seeds, with their altitudes."""
    altitudes = {line["photo"]: line["altitude_m"] for line in lines_of(f"land_cover_{place}")}
    lines = [line for seed in SEEDS for line in lines_of(f"published_{place}_s{seed}")]
    return [{"altitude_m": altitudes[x["photo"]], **x} for x in lines if x["altitude"] == "estimated"]


def _trained_off_m(line: dict[str, str]) -> float:
    return float(line["spectrum_hard_m"]) - float(line["altitude_m"])


def _shipped(place: str) -> Lines:
    """The shipped recipe's photos, by networks that never saw the place."""
    lines = lines_of(f"retrieval_{place}_unseen")
    return [line for line in lines if (line["altitude"], line["cells"]) == ("hard", "all")]


def _shipped_off_m(line: dict[str, str]) -> float:
    return abs(float(line["altitude_off_m"]))


def _reasons() -> str:
    """What makes photos fail, as far as the two dates themselves say."""
    mine, town = (result("dates")[place] for place in ("mine", "town"))
    low, high = BANDS_M["mine"][-1]
    off_m = statistics.mean(_trained_off_m(x) for x in _trained("mine") if _in_band(low, high)(x))
    return f"""Refused is mostly what is seen from low, more so over open ground: a frame from 120 m shows
200 × 150 m, and little of it may look the same on another day. Altitudes are estimated from how fine the
detail is, and dates differ in that by themselves: at the size the network sees, coarse detail of the mine's
newer picture is {_decimal(mine["contrast_db"])} dB and the finest {_decimal(mine["fine_db"])} dB against the
older one's, so that a photo looks softer, and thereby lower, than it is (trained, above {low} m:
{_decimal(off_m)} m in the mean); on the town, under haze, they are {_decimal(town["contrast_db"])} and
{_decimal(town["fine_db"])} dB."""


def _decimal(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")
