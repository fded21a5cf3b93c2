"""Writes docs/accuracy.md and the model card's figures: every one of them comes from a result file.

python -m bench.page.accuracy           writes them
python -m bench.page.accuracy --check   fails where they are not what the results give
"""

from __future__ import annotations

import argparse

from bench.page.ablations import ablations, missing
from bench.page.commands import COMMANDS
from bench.page.failures import failures
from bench.page.flights import flights
from bench.page.networks import card_figures
from bench.page.published import published
from bench.page.retrieval import retrieval
from bench.page.tables import ROOT, block, filled, sources, write_or_check
from bench.page.verified import refused, stages, verified

PAGE = ROOT / "docs" / "accuracy.md"
CARD = ROOT / "docs" / "model-card.md"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--check", action="store_true")
    card = block(CARD.read_text(encoding="utf-8"), "figures", card_figures())
    pages = {PAGE: page(), CARD: card}
    write_or_check(pages, options.parse_args().check, "python -m bench.page.accuracy")


def page() -> str:
    parts = [HEAD, verified(), failures(), refused(), flights(), stages(), retrieval(), published()]
    parts += [ablations(), END.format(missing=missing(), sources=sources(COMMANDS))]
    return "\n\n".join(filled(part) for part in parts) + "\n"


HEAD = """# Accuracy

Written by `python -m bench.page.accuracy` from the files in `bench/results`; a test keeps the two alike.
Photos are of another date than the map, except where it says otherwise.

**How it was measured.** The *fixed views* of a place are 400 photos at known positions, altitudes and
headings, rendered from the newer picture. No setting was tried on them. How descriptors are whitened and how
the frame votes was chosen on *other* views of the mine and the town; the order of altitudes and crops, and
how far the place network goes from ImageNet to what it learned, on other views of the mine
([ADR 39](adr/0039-half-of-what-was-learned.md)). Confidence was calibrated on worlds, the desert and the
campus, the radius on those and on other views of the mine. That a radius from residuals alone is too small
was seen on the fixed views, and how many truths it holds on other views of the town was known when its target
was settled ([ADR 28](adr/0028-what-a-radius-can-know.md), [ADR 35](adr/0035-where-nothing-agrees.md)).

**Words.** *Verified*: registered to the map, nadirfix's answer by default. *R@1*, *R@5*: the first (one of
the first five) references retrieved lies less than 100 m from the truth. *Top-1*: answered with the first
reference's position. *WCE*, the weighted coordinate: answered with the mean of the references that agree,
weighted by similarity, as published. *Votes*: crops all over the frame vote for one position. *Three cells*:
only the likeliest three of the map's cells of 100 m are searched. *Best class*, *all classes*: the altitude
is the middle of the likeliest class, or the mean of all by probability. *95 % radius*: should hold 95 of 100
true positions."""

END = """## Where the figures come from

Not measured: the whole chain on the desert and the campus. {missing}

{sources}"""


if __name__ == "__main__":
    main()
