"""How well photos of real ground are located without training a network on it.

python -m bench.accuracy.retrieval --data DIR --place mine --cache DIR
    [--fixed]          the fixed views, for the record, instead of views drawn with a seed of our own
    [--networks DIR]   networks that bench/training/ship.py wrote there, such as ones that never saw the place

Rows: ``standard`` is the recipe as it comes, ``imagenet`` the same with an untrained place network.

A bundle of each row is built once and kept in the cache, as are the photos. Every photo is decoded once; its
altitude is taken as true, true within ± 10 %, as estimated (hard: the middle of the best class; soft: the
mean of all), and not at all (the whole photo); each is described once, and searched in three cells, in all,
and among references that face north alone. Votes of the whole frame come with it. Photos are split by
altitude and by what the map shows where they were taken: forest where more than half of it is green and
rough, by a rule that was fixed before anything was measured. Results go to bench/results as JSON, and per
photo as CSV.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from bench.accuracy.land_cover import cover
from bench.lib.record import print_progress, record
from bench.lib.retrieval_tables import (
    NEAR_M,
    Row,
    band,
    candidates,
    hit,
    parted,
    summary,
    write_csv,
)
from nadirfix.altitude.posterior import likely_altitudes, soft_altitude_m
from nadirfix.bundle import Bundle
from nadirfix.camera import DEFAULT_CAMERA
from nadirfix.geo.geomap import GeoMap
from nadirfix.image.black_borders import fill_black_borders
from nadirfix.image.crop import canonical_crop, network_frame
from nadirfix.image.decode import decode
from nadirfix.image.spectrum import log_spectrum
from nadirfix.offline import build_bundle
from nadirfix.options.locate import LocateOptions
from nadirfix.options.map import SimulateOptions
from nadirfix.options.recipe import RECIPES, SHIPPED_ALTITUDE, SHIPPED_PLACE, NetworkOptions, Recipe, ships
from nadirfix.options.voting import VoteOptions
from nadirfix.photo_list import read_photo_list, read_views
from nadirfix.retrieval.crops import PhotoCrops, Scale
from nadirfix.retrieval.hypotheses import hypotheses
from nadirfix.retrieval.index import ReferenceIndex
from nadirfix.retrieval.wce import fuse
from nadirfix.types import AltitudeEstimate, Candidates, KnownAltitude, View
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
FUSED = {
    "wce": LocateOptions(),
    "wce_strict": LocateOptions(keep_on_line=False),
    "top1": LocateOptions(weighted=False),
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--cache", type=Path, required=True)
    options.add_argument("--place", choices=list(PLACES), required=True)
    options.add_argument("--rows", nargs="+", default=["standard"], choices=list(recipes("", None)))
    options.add_argument(
        "--weights", default="microsoft/resnet-50", help="name or folder of ImageNet weights"
    )
    options.add_argument("--networks", type=Path, help="folder of networks that bench/training/ship.py wrote")
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
    bundle = build_bundle(old, target, recipe=recipe, resume=True, progress=print_progress())
    if fresh:
        note.write_text(f"{time.monotonic() - began:.1f}")
    return bundle, float(note.read_text()) if note.exists() else None


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
            simulate_photos(
                ground, folder, camera=CAMERA, options=settings, views=views, progress=print_progress()
            )
    rows = read_photo_list(folder / "manifest.csv")
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
    lines = [line for found in located(bundle, photos, kept, every=given.votes_every) for line in found]
    rows = summary(lines)
    for row in rows:
        print(json.dumps(row))
    payload = {
        "place": given.place, "recipe": name, "views": kind, "photos": len(photos),
        "seed": None if given.fixed else OWN_SEED, "votes_every": given.votes_every,
        "networks": given.networks.name if given.networks else "shipped", "build_s": built_s,
        "bytes": sum(p["bytes"] for p in bundle.manifest["parts"].values()),
        "references": len(bundle.references), "described": bundle.manifest.get("described"), "rows": rows,
        "by_altitude": parted(lines, lambda x: band(x["altitude_m"])),
        "by_cover": parted(lines, lambda x: x["cover"]),
    }  # fmt: skip
    target = record(f"retrieval_{given.place}_{name}", payload, None if given.fixed else given.cache)
    print(f"wrote {target}")
    write_csv(target.with_suffix(".csv"), lines)


def located(
    bundle: Bundle, photos: list[tuple[Path, View]], kept: Path, *, every: int
) -> Iterator[list[Row]]:
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
    """Every way of locating one photo, a line each."""
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
    for source, altitude_m in known.items():
        line = {**base, "altitude": source, "altitude_off_m": round(altitude_m - truth.altitude_m, 1)}
        yield from ({**line, **row} for row in searched(bundle, cropped(bundle, pixels, altitude_m), truth))
    yield from ({**base, "altitude": "none", **row} for row in searched(bundle, whole(bundle, pixels), truth))
    if votes:
        yield from ({**base, **row} for row in voted(bundle, pixels, truth, estimate, known))


def estimated(bundle: Bundle, pixels: np.ndarray) -> AltitudeEstimate:
    settings = bundle.recipe.altitude_network
    frame = network_frame(
        pixels, CAMERA, bundle.camera, width_px=settings.width_px, height_px=settings.height_px
    )
    return bundle.bins.estimate(
        bundle.altitude_scores(log_spectrum(fill_black_borders(frame), settings)[None])[0]
    )


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
        yield {"cells": cells, **retrieval_errors(found, truth)}
    north, index = north_only(bundle)
    rows, distances = index.search(described, None, 10)
    yield {"cells": "all, north", **retrieval_errors(candidates(bundle, north[rows], distances), truth)}


@cache
def north_only(bundle: Bundle) -> tuple[np.ndarray, ReferenceIndex]:
    """References of one heading: a database without rotations."""
    rows = np.flatnonzero(bundle.references.heading_deg == 0)
    return rows, ReferenceIndex(bundle.descriptors[rows], [0, len(rows)])


def retrieval_errors(found: Candidates, truth: View) -> Row:
    far = [found.point(i).distance_m(truth.center) for i in range(len(found))]
    answers = {name: fuse(found, options).position for name, options in FUSED.items()}
    errors = {f"{name}_m": round(p.distance_m(truth.center), 1) for name, p in answers.items()}
    return {"r1": far[0] < NEAR_M, "r5": min(far[:5]) < NEAR_M, **errors}


def voted(
    bundle: Bundle, pixels: np.ndarray, truth: View, estimate: AltitudeEstimate, known: dict[str, float]
) -> Iterator[Row]:
    known_altitudes = {
        "within 10 %": (None, [KnownAltitude(known["within 10 %"], 0.06 * known["within 10 %"])]),
        "estimated": (estimate, []),
    }
    options = VoteOptions()
    for name, (photo_estimate, others) in known_altitudes.items():
        levels = likely_altitudes(photo_estimate, others, options)
        scales = [Scale(CAMERA.gsd_m(level.altitude_m), level.share) for level in levels]
        began = time.perf_counter()
        found = hypotheses(PhotoCrops(pixels, CAMERA, bundle.reference_search), scales, options)
        spent_ms = 1000 * (time.perf_counter() - began)
        yield {"altitude": name, "cells": "votes", "votes_ms": round(spent_ms), **hit(found, truth)}


if __name__ == "__main__":
    main()
