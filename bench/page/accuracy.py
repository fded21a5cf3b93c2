"""Writes docs/accuracy.md from bench/results: every figure on that page comes from a result file.

python bench/accuracy.py           writes the page
python bench/accuracy.py --check   says whether the page is what the results give
"""

from __future__ import annotations

import argparse
import textwrap

from accuracy_cover import where
from accuracy_fixes import bands, foreign, refused, stages, verified
from accuracy_networks import networks
from accuracy_published import older, published
from accuracy_rows import changes, missing, widths
from accuracy_tables import percent, result, source, table
from accuracy_unseen import retrieval
from record import RESULTS

PAGE = RESULTS.parent.parent / "docs" / "accuracy.md"
CARD = PAGE.with_name("model-card.md")
MARKS = ("<!-- figures: begin -->", "<!-- figures: end -->")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--check", action="store_true")
    check = options.parse_args().check
    for path, text in ((PAGE, page()), (CARD, card())):
        if not check:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            raise SystemExit(f"docs/{path.name} is not what the results give: run python bench/accuracy.py")


def page() -> str:
    parts = [HEAD, verified(), bands(), where(), foreign(), refused(), stages(), retrieval(), published()]
    parts += [changes(), widths(), older(), networks(), matching(), rest()]
    texts = [text for part in parts if part for text in part.strip().split("\n\n")]
    return "\n\n".join(filled(text) for text in texts) + "\n"


def filled(text: str) -> str:
    """A paragraph in even lines; tables and headings as they are."""
    return (
        text
        if text.startswith(("|", "#"))
        else textwrap.fill(" ".join(text.split()), 118, break_on_hyphens=False)
    )


def card() -> str:
    """The model card with its figures, between the two marks."""
    before, _, rest = CARD.read_text(encoding="utf-8").partition(MARKS[0])
    return f"{before}{MARKS[0]}\n{card_figures()}\n{MARKS[1]}{rest.partition(MARKS[1])[2]}"


def card_figures() -> str:
    rows: list[list[object]] = []
    for name, places in CARD_RUNS.items():
        told = result(f"places_altitude_{name}")["results"]
        for place in places:
            own, fitted = told[place]["own"], told[place]["fitted_1"]
            rows.append([f"`{name}`", place, f"{fitted['hard_m']:.1f} m", f"{fitted['soft_m']:.1f} m",
                         f"{own['hard_m']:.0f} m"])  # fmt: skip
    heads = [
        "altitude network",
        "ground it never saw",
        "best class",
        "all classes",
        "with classes of its own",
    ]
    return table(heads, rows)


#: Altitude networks, and the ground each is measured on without having seen it.
CARD_RUNS = {"nomine-altitude2": ("mine", "world2000"), "notown-altitude": ("town", "world2000")}


def matching() -> str:
    told = result("verify_town_displaced")["results"]
    near = told["s_loc"]
    heads = ["answered", "wrong", "within 5 m", "25 m", "median"]
    row = [percent(told["answered_percent"]), percent(told["wrong_fix_percent"]), percent(near["5"]),
           percent(near["25"]), f"{told['error_m']['median']:.1f} m"]  # fmt: skip
    return f"""## Matching alone, another sensor

The town under haze, {told["photos"]} fixed views, from their true views displaced by up to 30 m, 15°
and 12 %:

{table(heads, [row])}

{source("verify_town_displaced", "bench/verify.py --map town_clear.tif --manifest …")}"""


HEAD = """# Accuracy

Written by `python bench/accuracy.py` from the files in `bench/results`; a test keeps the two alike. Photos
are of another date than the map, except where a heading says otherwise.

What was chosen where: no setting was tried on the fixed views. How far descriptors are whitened and how the
frame votes and is asked were chosen on *other* views of the mine and the town, so the mine is not a place
these settings have never met. Confidence was calibrated on worlds, the desert and the campus, the radius on
those and on other views of the mine; that a radius from residuals alone is too small was seen on the fixed
views, and how many truths it holds on other views of the town was in sight when it was settled how many it
should hold at the places of calibration ([ADR 28](adr/0028-what-a-radius-can-know.md), [ADR
35](adr/0035-where-nothing-agrees.md)). That the place network goes half the way to what it learned was
settled on other views of the mine ([ADR 39](adr/0039-half-of-what-was-learned.md)); that worlds alone are
enough to learn from, on other views of both ([ADR
41](adr/0041-the-place-network-that-learned-on-worlds.md))."""


def rest() -> str:
    """What the page does not say."""
    return f"""## Not measured

{missing()} The whole chain on the desert and the campus; real flights."""


if __name__ == "__main__":
    main()
