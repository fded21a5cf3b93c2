"""Whether retrieval suffers when references are described in int8, or cut from mosaics.

python -m bench.accuracy.reference_descriptors --bundle B --manifest M.csv --cache DIR --name mine_dev

The bundle's own map and network; references rendered one by one or cut from mosaics, in single precision or
in int8, each whitened on themselves; photos at their true altitude within ± 10 %, described in either
precision. All references are searched. Choose photos that nothing is evaluated on. Minutes; descriptors are
kept in the cache.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.lib.record import record
from nadirfix.arrays import unit
from nadirfix.bundle import Bundle, References
from nadirfix.bundle import layout as parts
from nadirfix.camera import DEFAULT_CAMERA
from nadirfix.files import quiet
from nadirfix.geo.texture import Texture
from nadirfix.image.crop import canonical_crop
from nadirfix.image.decode import decode
from nadirfix.offline.describe import ReferenceRenderer, describe_mosaics
from nadirfix.offline.mosaic import plan_mosaics, pool_views, write_feature_network
from nadirfix.offline.views import choose_views
from nadirfix.parallel import cores, map_in_order
from nadirfix.photo_list import PhotoRecord, read_photo_list
from nadirfix.retrieval.whitening import Projection
from nadirfix.runtime import Network, load_network

CAMERA, NEAR_M, SEED, PIECE = DEFAULT_CAMERA, 100.0, 0, 8
HEADINGS = 6  # half of what a bundle has, and half the time; photos are harder to find for it
PRECISIONS = ("single", "eight_bit")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--bundle", required=True)
    options.add_argument("--manifest", required=True, type=Path)
    options.add_argument("--cache", required=True, type=Path)
    options.add_argument("--name", default="photos")
    options.add_argument("--limit", type=int, default=0, help="photos, at most")
    given = options.parse_args()
    given.cache.mkdir(parents=True, exist_ok=True)
    bundle, rows = Bundle.load(given.bundle), read_photo_list(given.manifest)
    rows = rows[: given.limit or None]
    photos = {precision: photos_in(precision, bundle, rows, given) for precision in PRECISIONS}
    found = []
    for cut in ("alone", "mosaics"):
        for precision in PRECISIONS:
            found += compared(bundle, rows, photos, given, (cut, precision))
            print(json.dumps(found[-2:]), flush=True)
    results = {"seed": SEED, "photos": len(rows), "headings": HEADINGS, "rows": found}
    print(f"wrote {record(f'reference_descriptors_{given.name}', results)}")


def compared(
    bundle: Bundle, rows: list[PhotoRecord], photos: dict, given: argparse.Namespace, kind: tuple[str, str]
) -> list[dict]:
    cut, precision = kind
    references = references_of(cut, bundle)
    units, spent_s = units_of(cut, precision, bundle, references, given)
    recipe = bundle.recipe.references
    projection = Projection.fit(units, recipe.whiten_dims, power=recipe.whiten_power)
    known = projection(units)
    return [
        {"references": cut, "in": precision, "photos_in": photo_precision, "seconds": spent_s,
         **recall(known, references, projection(unit(photos[photo_precision])), rows)}
        for photo_precision in PRECISIONS
    ]  # fmt: skip


def recall(known: np.ndarray, references: References, queries: np.ndarray, rows: list[PhotoRecord]) -> dict:
    """The share of photos with a reference less than 100 m off among the most similar ones."""
    nearest = np.argsort(-(queries @ known.T), axis=1, kind="stable")[:, :10]
    truth = np.array([[row.point.east_m, row.point.north_m] for row in rows])
    east, north = references.east_m[nearest], references.north_m[nearest]
    near = np.hypot(east - truth[:, :1], north - truth[:, 1:]) < NEAR_M
    return {f"r{k}": round(100 * float(near[:, :k].any(axis=1).mean()), 1) for k in (1, 5, 10)}


def references_of(cut: str, bundle: Bundle) -> References:
    """The views of the bundle's recipe: on whole steps, or anywhere."""
    settings = bundle.recipe.references
    steps = 0 if cut == "alone" else settings.steps
    options = dataclasses.replace(settings, steps=steps, headings=HEADINGS)
    views = choose_views(bundle.texture, bundle.canonical, bundle.grid, options).views
    return References.sorted_by_class(
        views.east_m, views.north_m, views.heading_deg, epsg=bundle.epsg, grid=bundle.grid, order=bundle.order
    )


def units_of(
    cut: str, precision: str, bundle: Bundle, references: References, given
) -> tuple[np.ndarray, float]:
    cached, note = (
        given.cache / f"{given.name}-{cut}-{precision}.npy",
        given.cache / f"{given.name}-{cut}-{precision}.json",
    )
    if not cached.exists():
        texture = Texture.load(bundle.path / parts.TEXTURE, kept_tiles=256)
        size = bundle.recipe.place_network.width_px, bundle.recipe.place_network.height_px
        renderer, began = ReferenceRenderer(texture, bundle.canonical, references, size), time.monotonic()
        describe = alone if cut == "alone" else by_mosaic
        describe(renderer, network_file(bundle, precision), bundle, cached)
        note.write_text(json.dumps({"seconds": round(time.monotonic() - began, 1)}))
    return np.load(cached), json.loads(note.read_text())["seconds"]


def alone(renderer: ReferenceRenderer, path: Path, _bundle: Bundle, target: Path) -> None:
    network = load_network(path, threads=1)

    def describe_mosaic(start: int) -> np.ndarray:
        rows = range(start, min(start + PIECE, len(renderer)))
        return unit(network.run(np.stack([renderer.picture(row) for row in rows]))).astype(np.float16)

    pieces = list(map_in_order(describe_mosaic, range(0, len(renderer), PIECE), workers=cores()))
    np.save(target, np.concatenate(pieces))


def by_mosaic(renderer: ReferenceRenderer, path: Path, bundle: Bundle, target: Path) -> None:
    steps, options = bundle.recipe.references.steps, bundle.recipe.place_network
    features = target.with_suffix(".onnx")
    write_feature_network(path, features)
    network = load_network(features, threads=1)
    mosaics = plan_mosaics(renderer.references, renderer.canonical, steps, origin_m=bundle.grid.origin_m)

    def describe_mosaic(mosaic: Any) -> np.ndarray:
        return pool_views(network, renderer.mosaic(mosaic, steps), mosaic, steps, options)

    describe_mosaics(
        renderer, describe_mosaic, mosaics, target, folder=target.with_suffix(".mosaics"), progress=quiet
    )


def network_file(bundle: Bundle, precision: str) -> Path:
    files = bundle.network_files(parts.PLACE)
    path = files.float32 if precision == "single" else files.int8
    if path is None:
        raise SystemExit("the bundle has no place network in int8")
    return path


def photos_in(precision: str, bundle: Bundle, rows: list[PhotoRecord], given) -> np.ndarray:
    cached = given.cache / f"{given.name}-photos-{precision}-{len(rows)}.npy"
    if not cached.exists():
        network: Network = load_network(network_file(bundle, precision))
        off = np.random.default_rng(SEED).uniform(-0.1, 0.1, len(rows))
        crops = (crop(bundle, row, float(part)) for row, part in zip(rows, off, strict=True))
        np.save(cached, np.concatenate([network.run(one[None]) for one in crops]))
    return np.load(cached)


def crop(bundle: Bundle, row: PhotoRecord, off: float) -> np.ndarray:
    size = bundle.recipe.place_network
    pixels = decode(Path(row.photo).read_bytes(), max_pixels=10**9)
    gsd_m = CAMERA.gsd_m((row.altitude_m or 0.0) * (1 + off))
    crop = canonical_crop(
        pixels, CAMERA, gsd_m, bundle.canonical,
        width_px=size.width_px, height_px=size.height_px, enlarge=bundle.recipe.enlarge,
    )  # fmt: skip
    return np.moveaxis(crop.pixels, -1, 0)


if __name__ == "__main__":
    main()
