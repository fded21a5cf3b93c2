"""The accuracy page on where it fails: by altitude and by what grows there, from the photos of each run."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable

from accuracy_fixes import BANDS_M
from accuracy_published import names
from accuracy_tables import has, lines_of, percent, result, source, table

Lines = list[dict[str, str]]
Part = Callable[[dict[str, str]], bool]
BELOW_M = {"mine": 150, "town": 250}  # what counts as low there
SOME_SHARE = 0.1  # of the views must be of either ground, or they are not told apart


def where() -> str:
    """Empty until the ground under the views was told from the map."""
    shown = [place for place in BELOW_M if has(f"cover_{place}")]
    if not shown:
        return ""
    heads = ["other date", "photos", "altitude off, trained / shipped", "R@1, trained", "R@1, shipped"]
    heads += ["whole chain answered", "within 5 m"]
    rows = [split(place, name, part) for place in shown for name, part in parts_of(place).items()]
    said = " ".join(source(f"cover_{place}", f"bench/cover.py --place {place}") for place in shown)
    return f"""### Where it fails, by altitude and ground

A view counts as forest where more than half of the ground in the frame is green and rough on the *map*, by a
rule fixed before anything was measured; the rest of the mine is pits, roads, bare earth and young plantation;
low is below {BELOW_M["mine"]} m. {alike(shown)} "Trained" is the method as published; "shipped" the recipe
that trains nothing (best class, all cells, single crop), {recipe_said()}; the whole chain its verified
answers to the same views.

{table(heads, rows)}

{why()}

{said}"""


def parts_of(place: str) -> dict[str, Part]:
    """Altitude bands, what grows there, and what grows there seen from low."""
    grows = {line["photo"]: line["cover"] for line in lines_of(f"cover_{place}")}
    covers = {cover: of_cover(grows, cover) for cover in ("forest", "open")}
    if not tells_apart(place):
        covers = {}
    low = in_band(0, BELOW_M[place])
    bands = {f"{low}–{high // 10 * 10} m": in_band(low, high) for low, high in BANDS_M[place]}
    return {**bands, **covers, **{f"{cover}, low": both(low, part) for cover, part in covers.items()}}


def tells_apart(place: str) -> bool:
    """Whether the rule finds both kinds of ground there; if nearly all is one, it says nothing."""
    told = [line["cover"] for line in lines_of(f"cover_{place}")]
    return min(told.count("forest"), told.count("open")) >= SOME_SHARE * len(told)


def alike(shown: list[str]) -> str:
    """Where the rule does not help."""
    places = [place for place in shown if not tells_apart(place)]
    counts = [sum(x["cover"] == "forest" for x in lines_of(f"cover_{place}")) for place in places]
    said = [f"the {place} ({n} views forest)" for place, n in zip(places, counts, strict=True)]
    return (
        f"The rule does not tell the ground of {' and '.join(said)} apart: by altitude alone." if said else ""
    )


def in_band(low: float, high: float) -> Part:
    return lambda line: low <= float(line["altitude_m"]) < high


def of_cover(grows: dict[str, str], cover: str) -> Part:
    return lambda line: grows[number(line)] == cover


def both(*parts: Part) -> Part:
    return lambda line: all(part(line) for part in parts)


def number(line: dict[str, str]) -> str:
    """The view's own number: runs name it by itself, or by the photo's file."""
    return str(int(line["photo"].removesuffix(".jpg")))


def split(place: str, name: str, part: Part) -> list[object]:
    trained = [line for line in method(place) if part(line)]
    shipped = [line for line in recipe(place) if part(line)]
    chain = [line for line in lines_of(f"verify_{place}") if part(line)]
    off = [mean(map(method_off_m, trained)), mean(map(recipe_off_m, shipped))]
    recall = [mean((100 * float(x["r1"]) for x in some), " %") for some in (trained, shipped)]
    fixes = [float(x["error_m"]) for x in chain if x["status"] == "fix"]
    shares = [
        percent(100 * n / len(chain)) if chain else "" for n in (len(fixes), sum(e <= 5 for e in fixes))
    ]
    photos = len(trained) // len(names(place))
    return [f"{place}, {name}", photos, f"{' / '.join(filter(None, off))} m", *recall, *shares]


def mean(values: Iterable[float], unit: str = "") -> str:
    """The mean to a tenth; nothing of nothing."""
    known = list(values)
    return f"{statistics.mean(known):.1f}{unit}" if known else ""


def method(place: str) -> Lines:
    """The published method's photos over all seeds, with their altitudes."""
    known = {line["photo"]: line["altitude_m"] for line in lines_of(f"cover_{place}")}
    every = [line for name in names(place) for line in lines_of(name) if line["altitude"] == "estimated"]
    return [{"altitude_m": known[line["photo"]], **line} for line in every]


def method_off_m(line: dict[str, str]) -> float:
    return abs(method_signed_m(line))


def method_signed_m(line: dict[str, str]) -> float:
    told = line.get("spectrum_hard_m") or line["estimated_m"]
    return float(told) - float(line["altitude_m"])


def recipe_name(place: str) -> str:
    return f"ground_{place}_unseen" if has(f"ground_{place}_unseen") else f"ground_{place}_standard"


def recipe_said() -> str:
    if recipe_name("mine").endswith("unseen"):
        return "with networks that never saw the place"
    return "in an earlier run with places by ImageNet alone and the small altitude network of worlds"


def recipe(place: str) -> Lines:
    """The shipped recipe's photos: by networks that never saw the place, where that was run."""
    ways = lines_of(recipe_name(place)) if has(recipe_name(place)) else []
    return [line for line in ways if (line["altitude"], line["cells"]) == ("hard", "all")]


def recipe_off_m(line: dict[str, str]) -> float:
    return abs(float(line["altitude_off_m"]))


def why() -> str:
    """What holds the altitude back, as far as the two dates themselves tell."""
    if not has("dates"):
        return ""
    mine, town = (result("dates")["results"][place] for place in ("mine", "town"))
    low, high = BANDS_M["mine"][-1]
    off = statistics.mean(method_signed_m(x) for x in method("mine") if in_band(low, high)(x))
    return f"""Low is hard, more so over open ground: a frame from 120 m shows 200 × 150 m. Altitudes are told
from how fine the detail is, and dates differ in that by themselves: at the size the network sees, coarse
detail of the mine's newer picture is {decibels(mine["contrast_db"])} and the finest
{decibels(mine["fine_db"])} against the older one's, so that a photo looks softer, and thereby lower, than it
is (trained, above {low} m: {decimal(off)} m in the mean); on the town, under haze, they
are {decibels(town["contrast_db"])} and {decibels(town["fine_db"])}. {source("dates", "bench/dates.py")}"""


def decibels(value: float) -> str:
    return f"{decimal(value)} dB"


def decimal(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")
