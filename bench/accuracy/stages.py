"""What each stage adds, and what is lost without it: the same photos located with every variant, in turns.

python -m bench.accuracy.stages --bundle B --manifest M.csv --name NAME [--count 100]

crop → votes of the frame → every altitude → verified against the map → registered twice; and the whole with
each of them left out. One line per photo and variant goes to results/accuracy/stages_NAME.csv. Times are
ratios to the single crop of the same photo.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.accuracy.verify import record_of, spread
from bench.lib.record import networks_of, record, record_lines
from nadirfix.bundle import Bundle
from nadirfix.evaluation.metrics import QueryRecord, error_m, measures
from nadirfix.online import locate
from nadirfix.options.locate import LocateOptions
from nadirfix.options.verify import SearchOptions, VerifyOptions
from nadirfix.options.voting import VoteOptions
from nadirfix.photo_list import read_photo_list

WHOLE = LocateOptions()
ONE_ALTITUDE = VoteOptions(max_altitudes=1)
CROP = replace(WHOLE, verify=False, whole_frame=False)


def options_with(**changes: Any) -> LocateOptions:
    """The whole chain with some of its verification changed."""
    return replace(WHOLE, verification=VerifyOptions(search=SearchOptions(**changes)))


#: Every variant, in the order of the table, which is in docs/accuracy.md.
VARIANTS: dict[str, LocateOptions] = {
    "crop": CROP,
    "votes": replace(WHOLE, verify=False, whole_frame=True, votes=ONE_ALTITUDE),
    "scales": replace(WHOLE, verify=False, whole_frame=True),
    "verification": options_with(refine=False),
    "second_look": WHOLE,
    "without_votes": options_with(altitude_sweep=0, whole_frame=0),
    "without_scales": replace(WHOLE, votes=ONE_ALTITUDE),
    "without_middle_first": options_with(middle=0),
}
COLUMNS = ("photo", "altitude_m", "way", "status", "error_m", "total_ms")
WARM_UP = 2


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--bundle", type=Path, required=True)
    options.add_argument("--manifest", type=Path, required=True)
    options.add_argument("--name", required=True)
    options.add_argument("--count", type=int, default=100, help="photos, spread over all")
    given = options.parse_args()
    bundle = Bundle.load(given.bundle)
    records = located(bundle, given)
    lines = [line(variant, query) for variant, queries in records.items() for query in queries]
    variants = {variant: summary(queries, records["crop"]) for variant, queries in records.items()}
    results = {"seed": 0, "photos": len(records["crop"]), "ways": variants}
    results["networks"] = networks_of(bundle.manifest)
    print(f"wrote {record(f'stages_{given.name}', results)}")
    record_lines(f"stages_{given.name}", COLUMNS, lines)
    for variant, values in variants.items():
        print(variant, values)


def located(bundle: Bundle, given: argparse.Namespace) -> dict[str, list[QueryRecord]]:
    """Every photo with every variant, photo by photo; the first ones twice, so that nothing is cold."""
    rows = spread(read_photo_list(given.manifest), given.count)
    records: dict[str, list[QueryRecord]] = {variant: [] for variant in VARIANTS}
    for row in [*rows[:WARM_UP], *rows]:
        for variant, how in VARIANTS.items():
            records[variant].append(record_of(row, locate(row.photo, bundle=bundle, options=how)))
    return {variant: queries[WARM_UP:] for variant, queries in records.items()}


def summary(queries: Sequence[QueryRecord], crops: Sequence[QueryRecord]) -> dict[str, Any]:
    """Shares of all photos in per cent; the median of the answered; cost against the single crop."""
    whole = measures(queries)
    ratios = [spent(query) / spent(crop) for query, crop in zip(queries, crops, strict=True)]
    return {
        "answered": round(100 * whole["answered"] / len(queries), 1),
        "wrong": round(100 * whole["wrong_fix"] / len(queries), 1),
        "s_loc": {m: round(whole["s_loc"][m], 1) for m in ("5", "25", "100")},
        "median_m": None if (m := whole["error_m"]["median"]) is None else round(m, 2),
        "cost": {f"p{q}": round(float(np.percentile(ratios, q)), 2) for q in (50, 90)},
    }


def spent(query: QueryRecord) -> float:
    assert query.fix is not None
    return query.fix.timings_ms["total"]


def line(variant: str, query: QueryRecord) -> dict[str, Any]:
    assert query.fix is not None
    off_m = error_m(query)
    error = f"{off_m:.2f}" if math.isfinite(off_m) else ""
    values = (query.photo, query.altitude_m, variant, query.fix.status, error, f"{spent(query):.1f}")
    return dict(zip(COLUMNS, values, strict=True))


if __name__ == "__main__":
    main()
