"""How other methods do on the same map and the same photos.

python -m bench.accuracy.methods --data DIR --place mine --cache DIR [--every 10]
    [--methods a,b,c]    those to compare, instead of four; the first is the one compared with
    [--altitude A]       estimated (the default), true or none

Every so many of the fixed views, photos of the newer date on the map of the older one, as
``nadirfix compare`` runs them; stopped, it goes on where it was. Prints the table as Markdown.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from bench.lib.record import print_progress, record
from nadirfix.camera import DEFAULT_CAMERA
from nadirfix.evaluation.study.methods import MethodStudy, run_methods
from nadirfix.geo.geomap import GeoMap
from nadirfix.options.map import SimulateOptions
from nadirfix.photo_list import read_photo_list, read_views
from nadirfix.report.methods import HEAD, method_cells
from nadirfix.world.photos import simulate_photos

#: Map of the older date, photos from the newer one.
PLACES = {
    "mine": ("mine_2020-01.tif", "mine_2020-06.tif"),
    "town": ("town_clear.tif", "town_hazy.tif"),
}
FOUR = "standard,standard-retrieval,tile-scan,template"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--place", choices=list(PLACES), required=True)
    options.add_argument("--cache", type=Path, required=True)
    options.add_argument("--every", type=int, default=10, help="every so many of the fixed views")
    options.add_argument("--methods", default=FOUR)
    options.add_argument("--altitude", default="estimated", choices=["estimated", "true", "none"])
    given = options.parse_args()
    began = time.monotonic()
    table = measured(given, taken(given))
    payload = {"every": given.every, "this_run_s": round(time.monotonic() - began), **table}
    target = record(f"methods_{given.place}_{given.altitude}", payload)
    print(markdown(table))
    print(f"wrote {target}")


def taken(given: argparse.Namespace) -> Path:
    """Photos of the newer date, taken once."""
    folder = given.cache / f"{given.place}-every-{given.every}"
    if not (folder / "manifest.csv").exists():
        views = read_views(given.data / f"{given.place}_views.csv")[:: given.every]
        with GeoMap.open(given.data / PLACES[given.place][1]) as ground:
            simulate_photos(
                ground, folder, camera=DEFAULT_CAMERA, options=SimulateOptions(), views=views,
                progress=print_progress(),
            )  # fmt: skip
    return folder


def measured(given: argparse.Namespace, photos: Path) -> dict[str, Any]:
    study = MethodStudy(
        maps=[given.data / PLACES[given.place][0]], methods=given.methods.split(","), altitude=given.altitude
    )
    out = given.cache / f"{given.place}-{given.altitude}-methods"
    rows = read_photo_list(photos / "manifest.csv")
    return run_methods(rows, study, out, folder=photos, resume=True, progress=print_progress())


def markdown(table: dict[str, Any]) -> str:
    cells = [method_cells(row, altitude=table["altitude"]) for row in table["methods"] if row["measured"]]
    lines = [HEAD, ["---"] * len(HEAD), *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    main()
