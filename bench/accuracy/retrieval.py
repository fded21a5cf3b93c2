"""How well photos of real ground are placed without training a network on it.

python bench/ground.py --data DIR --place mine --cache DIR                 views drawn with a seed of our own
python bench/ground.py --data DIR --place mine --cache DIR --fixed         the fixed views, for the record
    [--networks DIR]   networks that bench/ship.py wrote there, such as ones that never saw the place

Rows: ``standard`` is the recipe as it comes, ``imagenet`` the same with an untrained place network.

A bundle of each row is built once and kept in the cache, as are the photos. Every photo is decoded once; its
altitude is taken as true, true within ± 10 %, as estimated (hard: the middle of the best class; soft: the
mean of all), and not at all (the whole photo); each is described once, and searched in three cells, in all,
and among references that look north alone. Votes of the whole frame stand beside it. Photos are told apart by
altitude and by what the map shows where they were taken: forest where more than half of it is green and
rough, by a rule that was fixed before anything was measured. Results go to bench/results as JSON, and per
photo as CSV.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import json
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from cover import cover
from record import RESULTS, record

from nadirfix.altitude.posterior import likely_altitudes, soft_altitude_m
from nadirfix.bundle import Bundle
from nadirfix.camera import DEFAULT_CAMERA
from nadirfix.files import Progress
from nadirfix.geo.angle import turn_deg
from nadirfix.geo.geomap import GeoMap
from nadirfix.image.blank import without_blank
from nadirfix.image.crop import canonical_crop, network_frame
from nadirfix.image.decode import decode
from nadirfix.image.spectrum import log_spectrum
from nadirfix.offline import build_bundle
from nadirfix.options.locate import LocateOptions
from nadirfix.options.map import SimulateOptions
from nadirfix.options.recipe import RECIPES, SHIPPED_ALTITUDE, SHIPPED_PLACE, NetworkOptions, Recipe, ships
from nadirfix.options.voting import VoteOptions
from nadirfix.photo_list import read_manifest, read_views
from nadirfix.retrieval.crops import Frame, Scale
from nadirfix.retrieval.hypotheses import hypotheses
from nadirfix.retrieval.index import ReferenceIndex
from nadirfix.retrieval.wce import fuse
from nadirfix.types import AltitudeEstimate, Candidates, Hypothesis, KnownAltitude, Point, View
from nadirfix.world.photos import simulate_photos

#: Map of the older date, photos from the newer one, their altitudes.
PLACES = {
    "mine": ("mine_2020-01.tif", "mine_2020-06.tif", (100.0, 400.0)),
    "town": ("town_clear.tif", "town_hazy.tif", (150.0, 700.0)),
    "desert": ("desert.tif", "desert.tif", (100.0, 700.0)),
    "campus": ("campus.tif", "campus.tif", (100.0, 250.0)),
    "world": ("world/old.tif", "world/new.tif", (100.0, 600.0)),  # nadirfix world --out DIR/world
}
OWN_SEED, OWN_COUNT = 4321, 150
CAMERA = DEFAULT_CAMERA
NEAR_M, POSE_M, POSE_DEG, POSE_SCALE = 100.0, 50.0, 20.0, 0.15
BANDS_M = ((100, 150), (150, 200), (200, 300), (300, 400), (400, 700))
FUSED = {
    "wce": LocateOptions(),
    "wce_strict": LocateOptions(keep_on_line=False),
    "top1": LocateOptions(weighted=False),
}

#: What is told apart by altitude and by ground.
SPLIT = {("true", "all"), ("hard", "all"), ("estimated", "votes")}

Row = dict[str, Any]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--cache", type=Path, required=True)
    options.add_argument("--place", choices=list(PLACES), required=True)
    options.add_argument("--rows", nargs="+", default=["standard"], choices=list(recipes("", None)))
    options.add_argument(
        "--weights", default="microsoft/resnet-50", help="name or folder of ImageNet weights"
    )
    options.add_argument("--networks", type=Path, help="folder of networks that bench/ship.py wrote")
    options.add_argument("--name", default="", help="what results are called, instead of by the row")
    options.add_argument("--fixed", action="store_true", help="the fixed views instead of our own")
    options.add_argument("--limit", type=int, default=0, help="photos, at most")
    options.add_argument("--votes-every", type=int, default=1, help="every so many photos vote; 0: none")
    given = options.parse_args()
    photos = taken(given)
    for row in given.rows:
        name = given.name or row
        bundle, built_s = built(given, row, name)
        run(bundle, photos, name, given, built_s)


def recipes(weights: str, networks: Path | None) -> dict[str, Recipe]:
    tiny, standard = RECIPES["tiny"], RECIPES["standard"]
    white = dataclasses.replace(tiny.references, whiten_dims=128)
    untrained = NetworkOptions(aggregator="gem", weights=weights)
    if networks:
        altitude, place = (
            dataclasses.replace(known, start=str(networks / f"{known.start}.onnx"))
            for known in (SHIPPED_ALTITUDE, SHIPPED_PLACE)
        )
        standard = dataclasses.replace(
            standard,
            altitude_network=altitude if Path(altitude.start).exists() else standard.altitude_network,
            place_network=place if Path(place.start).exists() else untrained,
        )
    elif not ships(SHIPPED_PLACE):
        standard = dataclasses.replace(standard, place_network=untrained)
    return {
        "tiny": tiny,
        "tiny-white": dataclasses.replace(tiny, references=white),
        "imagenet": dataclasses.replace(standard, place_network=untrained),
        "standard": standard,
    }


def built(given: argparse.Namespace, row: str, name: str) -> tuple[Bundle, float | None]:
    """The bundle of a row, and how long it took where it was built in one go, now or before."""
    began = time.monotonic()
    target = given.cache / f"{given.place}-{name}.nadir"
    note = target.with_suffix(".seconds")
    fresh = not any(path != note for path in given.cache.glob(f"*{target.name}*"))
    recipe = recipes(given.weights, given.networks)[row]
    old = given.data / PLACES[given.place][0]
    bundle = build_bundle(old, target, recipe=recipe, resume=True, progress=teller())
    if fresh:
        note.write_text(f"{time.monotonic() - began:.1f}")
    return bundle, float(note.read_text()) if note.exists() else None


def teller(every_s: float = 20.0) -> Progress:
    last = [time.monotonic()]

    def tell(stage: str, done: int, total: int) -> None:
        if time.monotonic() - last[0] > every_s:
            last[0] = time.monotonic()
            print(f"{stage}: {done} of {total}", flush=True)

    return tell


def taken(given: argparse.Namespace) -> list[tuple[Path, View]]:
    """Photos of the newer date and where each was taken."""
    place, low_high = given.place, PLACES[given.place][2]
    folder = given.cache / f"{place}-{'fixed' if given.fixed else 'own'}"
    if not (folder / "manifest.csv").exists():
        views = read_views(given.data / f"{place}_views.csv") if given.fixed else None
        settings = SimulateOptions(
            count=OWN_COUNT, altitude_min_m=low_high[0], altitude_max_m=low_high[1], seed=OWN_SEED
        )
        with GeoMap.open(given.data / PLACES[place][1]) as ground:
            simulate_photos(ground, folder, camera=CAMERA, options=settings, views=views, progress=teller())
    rows = read_manifest(folder / "manifest.csv")
    photos = [(folder / r.photo, View(r.point, r.altitude_m or 0.0, r.heading_deg or 0.0)) for r in rows]
    return photos[: given.limit or None]


def run(
    bundle: Bundle,
    photos: list[tuple[Path, View]],
    name: str,
    given: argparse.Namespace,
    built_s: float | None,
) -> None:
    kind = "fixed" if given.fixed else "own"
    kept = given.cache / f"{given.place}-{name}-{kind}-ways.jsonl"
    lines = [line for found in asked(bundle, photos, kept, every=given.votes_every) for line in found]
    told = summary(lines)
    for row in told:
        print(json.dumps(row))
    payload = {
        "place": given.place, "recipe": name, "views": kind, "photos": len(photos),
        "seed": None if given.fixed else OWN_SEED, "votes_every": given.votes_every,
        "networks": given.networks.name if given.networks else "shipped", "build_s": built_s,
        "bytes": sum(p["bytes"] for p in bundle.manifest["parts"].values()),
        "references": len(bundle.references), "described": bundle.manifest.get("described"), "rows": told,
        "by_altitude": parted(lines, lambda x: band(x["altitude_m"])),
        "by_cover": parted(lines, lambda x: x["cover"]),
    }  # fmt: skip
    out = RESULTS if given.fixed else given.cache
    print(f"wrote {record(f'ground_{given.place}_{name}', payload, out)}")
    write_csv(out / f"ground_{given.place}_{name}.csv", lines)


def asked(bundle: Bundle, photos: list[tuple[Path, View]], kept: Path, *, every: int) -> Iterator[list[Row]]:
    """The lines of every photo; those of an earlier run that was stopped are kept."""
    before = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    off = np.random.default_rng(0).uniform(-0.1, 0.1, len(photos))
    for number, (path, truth) in enumerate(photos):
        if number < len(before):
            yield json.loads(before[number])
            continue
        lines = list(one(bundle, path, truth, off[number], votes=bool(every) and number % every == 0))
        with kept.open("a", encoding="utf-8") as file:
            file.write(json.dumps(lines, default=bool) + "\n")
        if number % 25 == 24:
            print(f"{kept.stem}: {number + 1} of {len(photos)} photos", flush=True)
        yield lines


def one(bundle: Bundle, path: Path, truth: View, off: float, *, votes: bool) -> Iterator[Row]:
    """Every way of placing one photo, a line each."""
    pixels = decode(path.read_bytes(), max_pixels=10**9)
    estimate = estimated(bundle, pixels)
    known = {
        "true": truth.altitude_m,
        "within 10 %": truth.altitude_m * (1 + off),
        "hard": estimate.altitude_m,
        "soft": soft_altitude_m(estimate),
    }
    base = {
        "photo": path.name,
        "altitude_m": round(truth.altitude_m, 1),
        "cover": cover(bundle.texture, truth),
    }
    for way, altitude_m in known.items():
        seen = {**base, "altitude": way, "altitude_off_m": round(altitude_m - truth.altitude_m, 1)}
        yield from ({**seen, **row} for row in searched(bundle, cropped(bundle, pixels, altitude_m), truth))
    yield from ({**base, "altitude": "none", **row} for row in searched(bundle, whole(bundle, pixels), truth))
    if votes:
        yield from ({**base, **row} for row in voted(bundle, pixels, truth, estimate, known))


def estimated(bundle: Bundle, pixels: np.ndarray) -> AltitudeEstimate:
    settings = bundle.recipe.altitude_network
    frame = network_frame(
        pixels, CAMERA, bundle.camera, width_px=settings.width_px, height_px=settings.height_px
    )
    return bundle.bins.estimate(bundle.altitude_scores(log_spectrum(without_blank(frame), settings)[None])[0])


def cropped(bundle: Bundle, pixels: np.ndarray, altitude_m: float) -> np.ndarray:
    size = bundle.recipe.place_network
    return canonical_crop(
        pixels, CAMERA, CAMERA.gsd_m(altitude_m), bundle.canonical,
        width_px=size.width_px, height_px=size.height_px, enlarge=bundle.recipe.enlarge,
    ).pixels  # fmt: skip


def whole(bundle: Bundle, pixels: np.ndarray) -> np.ndarray:
    """The photo as it is, as if nothing were known of its altitude."""
    size = bundle.recipe.place_network
    return network_frame(pixels, CAMERA, bundle.camera, width_px=size.width_px, height_px=size.height_px)


def searched(bundle: Bundle, picture: np.ndarray, truth: View) -> Iterator[Row]:
    embedding = bundle.place_network.run(np.moveaxis(picture, -1, 0)[None])[0]
    described, first = bundle.describe(embedding), np.cumsum([0, *bundle.order.sizes])
    ranking = bundle.likeliest_cells(embedding, 3)
    for cells, classes in ((3, first[ranking.group] + ranking.index), ("all", None)):
        found = candidates(bundle, *bundle.index.search(described, classes, 10))
        yield {"cells": cells, **placed(found, truth)}
    north, index = looking_north(bundle)
    rows, distances = index.search(described, None, 10)
    yield {"cells": "all, north", **placed(candidates(bundle, north[rows], distances), truth)}


@cache
def looking_north(bundle: Bundle) -> tuple[np.ndarray, ReferenceIndex]:
    """References of one heading: a database without rotations."""
    rows = np.flatnonzero(bundle.references.heading_deg == 0)
    return rows, ReferenceIndex(bundle.descriptors[rows], [0, len(rows)])


def candidates(bundle: Bundle, rows: np.ndarray, distances: np.ndarray) -> Candidates:
    known = bundle.references
    return Candidates(
        rows, known.east_m[rows], known.north_m[rows], known.heading_deg[rows], distances, known.cell[rows],
        bundle.epsg,
    )  # fmt: skip


def placed(found: Candidates, truth: View) -> Row:
    far = [found.point(i).distance_m(truth.center) for i in range(len(found))]
    answers = {name: fuse(found, options).position for name, options in FUSED.items()}
    errors = {f"{name}_m": round(p.distance_m(truth.center), 1) for name, p in answers.items()}
    return {"r1": far[0] < NEAR_M, "r5": min(far[:5]) < NEAR_M, **errors}


def voted(
    bundle: Bundle, pixels: np.ndarray, truth: View, estimate: AltitudeEstimate, known: dict[str, float]
) -> Iterator[Row]:
    told = {
        "within 10 %": (None, [KnownAltitude(known["within 10 %"], 0.06 * known["within 10 %"])]),
        "estimated": (estimate, []),
    }
    options = VoteOptions()
    for way, (seen, others) in told.items():
        levels = likely_altitudes(seen, others, options)
        scales = [Scale(CAMERA.gsd_m(level.altitude_m), level.share) for level in levels]
        began = time.perf_counter()
        found = hypotheses(Frame(pixels, CAMERA, bundle.lookup), scales, options)
        spent_ms = 1000 * (time.perf_counter() - began)
        yield {"altitude": way, "cells": "votes", "votes_ms": round(spent_ms), **hit(found, truth)}


def hit(found: list[Hypothesis], truth: View) -> Row:
    best = found[0].view
    right = [is_right(h.view, truth) for h in found]
    near = [off_m(h.view, truth) < NEAR_M for h in found]
    margin = found[0].score / found[1].score if len(found) > 1 else None
    return {
        "r1": near[0], "r5": any(near[:5]), "votes_m": round(off_m(best, truth), 1),
        "score": round(found[0].score, 4), "margin": margin and round(margin, 2),
        "h1": right[0], "h5": any(right[:5]), "h16": any(right[:16]),
        "heading_off_deg": round(turned(best, truth), 1),
        "scale_off": round(best.altitude_m / truth.altitude_m - 1, 3),
    }  # fmt: skip


def is_right(view: View, truth: View) -> bool:
    scale = abs(view.altitude_m / truth.altitude_m - 1)
    return off_m(view, truth) < POSE_M and turned(view, truth) < POSE_DEG and scale < POSE_SCALE


def off_m(view: View, truth: View) -> float:
    return Point(view.center.east_m, view.center.north_m, truth.center.epsg).distance_m(truth.center)


def turned(one: View, other: View) -> float:
    return abs(turn_deg(one.heading_deg - other.heading_deg))


def band(altitude_m: float) -> str:
    return next((f"{low}-{high}" for low, high in BANDS_M if low <= altitude_m < high), "beyond")


def parted(lines: list[Row], part: Callable[[Row], str]) -> dict[str, list[Row]]:
    """The same table for each part of the photos, for what is estimated and for votes."""
    shown = [x for x in lines if (x["altitude"], x["cells"]) in SPLIT]
    return {name: summary([x for x in shown if part(x) == name]) for name in sorted({*map(part, shown)})}


def summary(lines: list[Row]) -> list[Row]:
    """One row per way: shares in per cent of all photos, errors in metres."""
    ways = dict.fromkeys((line["altitude"], line["cells"]) for line in lines)
    return [row_of([x for x in lines if (x["altitude"], x["cells"]) == way], *way) for way in ways]


def row_of(lines: list[Row], altitude: str, cells: int | str) -> Row:
    row: Row = {"altitude": altitude, "cells": cells, "photos": len(lines)}
    if "altitude_off_m" in lines[0]:
        off = np.abs([line["altitude_off_m"] for line in lines])
        row["e_avg_m"] = round(float(off.mean()), 1)
        row |= {f"altitude_within_{d}_m": share(off < d) for d in (25, 50, 100)}
    row |= {key: share([x[key] for x in lines]) for key in ("r1", "r5", "h1", "h5", "h16") if key in lines[0]}
    for key in ("top1_m", "wce_m", "wce_strict_m", "votes_m"):
        if key in lines[0]:
            far = np.array([line[key] for line in lines])
            row |= {f"{key[:-2]}_{d}": share(far < d) for d in (100, 50, 25, 10)}
            row[f"{key[:-2]}_median_m"] = round(float(np.median(far)), 1)
            row[f"{key[:-2]}_p90_m"] = round(float(np.quantile(far, 0.9)), 1)
    if "votes_ms" in lines[0]:
        row["votes_ms"] = round(float(np.median([line["votes_ms"] for line in lines])))
    return row


def share(flags: Any) -> float:
    return round(100 * float(np.mean(np.asarray(flags, float))), 1)


def write_csv(path: Path, lines: list[Row]) -> None:
    names = list(dict.fromkeys(key for line in lines for key in line))
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, names)
        out.writeheader()
        out.writerows({k: int(v) if isinstance(v, bool) else v for k, v in line.items()} for line in lines)


if __name__ == "__main__":
    main()
