"""The accuracy page on where it fails: by altitude and by what grows there, from the photos of each run."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from accuracy_published import names
from accuracy_tables import has, lines_of, percent, result, source, table

Lines = list[dict[str, str]]
BANDS_M = ((100, 150), (150, 200), (200, 300), (300, 401))
PLACE = "mine"


def where() -> str:
    """Empty until the ground under the views was told from the map."""
    if not has(f"cover_{PLACE}"):
        return ""
    grows = {line["photo"]: line["cover"] for line in lines_of(f"cover_{PLACE}")}
    parts = {f"{low}–{high // 10 * 10} m": in_band(low, high) for low, high in BANDS_M}
    parts |= {cover: of_cover(grows, cover) for cover in ("forest", "open")}
    low, high = BANDS_M[0]
    parts |= {f"{cover}, below {high} m": both(in_band(low, high), of_cover(grows, cover))
              for cover in ("forest", "open")}  # fmt: skip
    rows = [row for name, part in parts.items() if (row := split(name, part))]
    heads = ["mine, other date", "photos", "altitude off, trained / shipped", "R@1, trained", "R@1, shipped"]
    heads += ["whole chain answered", "within 5 m"]
    return f"""### Where it fails, by altitude and ground

The mine is half forest, half open: pits, roads, bare earth, young plantation. A view counts as forest where
more than half of the ground in the frame is green and rough on the *map*, by a rule fixed before anything was
measured. "Trained" is the method as published; "shipped" the recipe that trains nothing (best class, all
cells, single crop), {recipe_said()}; the whole chain its verified answers on every second view.

{table(heads, rows)}

{why()}

{source(f"cover_{PLACE}", f"bench/cover.py --place {PLACE}")}"""


def in_band(low: float, high: float) -> Callable[[dict[str, str]], bool]:
    return lambda line: low <= float(line["altitude_m"]) < high


def of_cover(grows: dict[str, str], cover: str) -> Callable[[dict[str, str]], bool]:
    return lambda line: grows[number(line)] == cover


def both(*parts: Callable[[dict[str, str]], bool]) -> Callable[[dict[str, str]], bool]:
    return lambda line: all(part(line) for part in parts)


def number(line: dict[str, str]) -> str:
    """The view's own number: runs name it by itself, or by the photo's file."""
    return str(int(line["photo"].removesuffix(".jpg")))


def split(name: str, part: Callable[[dict[str, str]], bool]) -> list[object]:
    trained = [line for line in method() if part(line)]
    shipped = [line for line in recipe() if part(line)]
    chain = [line for line in lines_of(f"verify_{PLACE}") if part(line)]
    off = statistics.mean(map(method_off_m, trained)), statistics.mean(map(recipe_off_m, shipped))
    recall = [percent(100 * statistics.mean(float(x["r1"]) for x in some)) for some in (trained, shipped)]
    fixes = [float(x["error_m"]) for x in chain if x["status"] == "fix"]
    shares = [percent(100 * n / len(chain)) for n in (len(fixes), sum(e <= 5 for e in fixes))]
    return [name, len(shipped), f"{off[0]:.0f} / {off[1]:.0f} m", *recall, *shares]


def method() -> Lines:
    """The published method's photos over all seeds, with their altitudes."""
    known = {line["photo"]: line["altitude_m"] for line in lines_of(f"cover_{PLACE}")}
    every = [line for name in names(PLACE) for line in lines_of(name) if line["altitude"] == "estimated"]
    return [{"altitude_m": known[line["photo"]], **line} for line in every]


def method_off_m(line: dict[str, str]) -> float:
    return abs(method_signed_m(line))


def method_signed_m(line: dict[str, str]) -> float:
    told = line.get("spectrum_hard_m") or line["estimated_m"]
    return float(told) - float(line["altitude_m"])


def recipe_name() -> str:
    return f"ground_{PLACE}_unseen" if has(f"ground_{PLACE}_unseen") else f"ground_{PLACE}_standard"


def recipe_said() -> str:
    if recipe_name().endswith("unseen"):
        return "with networks that never saw the mine"
    return "in an earlier run with places by ImageNet alone and the small altitude network of worlds"


def recipe() -> Lines:
    """The shipped recipe's photos: by networks that never saw the place, where that was run."""
    ways = lines_of(recipe_name())
    return [line for line in ways if (line["altitude"], line["cells"]) == ("hard", "all")]


def recipe_off_m(line: dict[str, str]) -> float:
    return abs(float(line["altitude_off_m"]))


def why() -> str:
    """What holds the altitude back, as far as the two dates themselves tell."""
    if not has("dates"):
        return ""
    mine, town = (result("dates")["results"][place] for place in ("mine", "town"))
    low, high = BANDS_M[-1]
    off = statistics.mean(method_signed_m(x) for x in method() if in_band(low, high)(x))
    return f"""Low is hard whatever grows there: a frame from 120 m shows 200 × 150 m. Altitudes are told from
how fine the detail is, and dates differ in that by themselves: at the size the network sees, coarse detail of
the mine's newer picture is {decibels(mine["contrast_db"])} and the finest {decibels(mine["fine_db"])} against
the older one's, so that a photo looks softer, and thereby lower, than it is (trained, above {low} m:
{decimal(off)} m in the mean); on the town, under haze, they
are {decibels(town["contrast_db"])} and {decibels(town["fine_db"])}. {source("dates", "bench/dates.py")}"""


def decibels(value: float) -> str:
    return f"{decimal(value)} dB"


def decimal(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")
