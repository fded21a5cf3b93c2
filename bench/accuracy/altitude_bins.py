"""Altitude classes of every width, fitted to one map without training, on the same views and photos.

python -m bench.accuracy.altitude_bins --bundle B --manifest FILE --name mine [--limit N]
    [--cache DIR] [--intensity contrast]

Views of the map and photos are embedded once by the bundle's altitude network; classes of 25, 50, 75 and
100 m and of variable width are then fitted to the same vectors, so that nothing but the classes differs.
Spectra can be taken of something else than the network learned from, for views and photos alike.
About three minutes for 600 views and 400 photos on two cores.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.lib.record import record
from nadirfix.altitude.bins import AltitudeBins
from nadirfix.arrays import softmax
from nadirfix.bundle import Bundle
from nadirfix.bundle import layout as parts
from nadirfix.files import atomic_file
from nadirfix.geo.texture import Texture
from nadirfix.image.black_borders import fill_black_borders
from nadirfix.image.crop import network_frame
from nadirfix.image.decode import decode
from nadirfix.image.spectrum import log_spectrum
from nadirfix.offline.altitude_fit import ViewSamples, draw_views, fit_directions, scores_of
from nadirfix.options.recipe import BinOptions, NetworkOptions
from nadirfix.parallel import cores, map_in_order
from nadirfix.photo_list import read_photo_list
from nadirfix.runtime import load_network

#: Embeddings, a row each, and the altitudes they are of.
Vectors = tuple[np.ndarray, np.ndarray]
WIDTHS = {
    **{f"bins{width}": BinOptions(width_m=float(width)) for width in (25, 50, 75, 100)},
    "variable": BinOptions(kind="variable"),
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--bundle", required=True)
    options.add_argument("--manifest", type=Path, required=True)
    options.add_argument("--name", required=True)
    options.add_argument("--views", type=int, default=0, help="of the map; as many as the recipe has")
    options.add_argument("--limit", type=int, default=0, help="photos, spread over the manifest")
    options.add_argument("--cache", type=Path, help="folder where vectors are kept")
    options.add_argument("--out", type=Path, help="another folder for the result")
    options.add_argument("--intensity", choices=["bytes", "unit", "contrast"], default="bytes")
    given = options.parse_args()
    bundle = Bundle.load(given.bundle)
    network = dataclasses.replace(bundle.recipe.altitude_network, intensity=given.intensity)
    map_spectra, map_altitudes_m = cached(given, "map", lambda: of_map(bundle, network, given.views))
    photos, true_m = cached(given, "photos", lambda: of_photos(bundle, network, given.manifest, given.limit))
    known = map_spectra, map_altitudes_m
    by_bins = {name: fitted(AltitudeBins.from_options(one), bundle, known, (photos, true_m))
            for name, one in WIDTHS.items()}  # fmt: skip
    for name, found in by_bins.items():
        print(name, json.dumps(found))
    result = {
        "seed": bundle.recipe.fit.seed, "views": len(map_spectra), "photos": len(photos),
        "network": bundle.manifest["networks"]["altitude"]["weights"]["sha256"], "intensity": given.intensity,
    }  # fmt: skip
    where = {"out_dir": given.out} if given.out else {}
    print(f"wrote {record(f'altitude_bins_{given.name}', {**result, 'bins': by_bins}, **where)}")


def cached(given: argparse.Namespace, part: str, make: Callable[[], Vectors]) -> Vectors:
    """What was embedded before, or what is now; a run that is cut off between the two loses only one."""
    if given.cache is None:
        return make()
    path = given.cache / f"bins-{given.name}-{given.intensity}-{part}-{given.views}-{given.limit}.npz"
    if not path.exists():
        vectors, altitude_m = make()
        with atomic_file(path) as scratch, scratch.open("wb") as file:
            np.savez(file, vectors=vectors, altitude_m=altitude_m)
    found = np.load(path)
    return found["vectors"], found["altitude_m"]


def of_map(bundle: Bundle, network: NetworkOptions, count: int) -> Vectors:
    """What the network makes of views of the map from every altitude, and those altitudes."""
    recipe = bundle.recipe
    fit = dataclasses.replace(recipe.fit, views=count or recipe.fit.views)
    texture = Texture.load(bundle.path / parts.TEXTURE)
    views = draw_views(texture, recipe.camera, bundle.bins, fit)
    samples, embed = ViewSamples(texture, recipe.camera, network, fit), embedder(bundle)
    found = map_in_order(lambda i: embed(samples.of(views, i)[None])[0], range(len(views)), workers=cores())
    return np.stack(list(found)), views.altitude_m


def of_photos(bundle: Bundle, network: NetworkOptions, manifest: Path, limit: int) -> Vectors:
    """What the network makes of the photos, and from how high they were taken."""
    rows = read_photo_list(manifest)
    rows = rows[:: max(1, len(rows) // limit)][:limit] if limit else rows
    embed = embedder(bundle)
    size = {"width_px": network.width_px, "height_px": network.height_px}

    def embed_one(i: int) -> np.ndarray:
        pixels = decode((manifest.parent / rows[i].photo).read_bytes(), max_pixels=10**9)
        frame = network_frame(pixels, bundle.camera, bundle.camera, **size)
        return embed(log_spectrum(fill_black_borders(frame), network)[None])[0]

    found = map_in_order(embed_one, range(len(rows)), workers=cores())
    return np.stack(list(found)), np.array([row.altitude_m for row in rows], np.float64)


def embedder(bundle: Bundle):
    """The altitude network in single precision; every core runs one of its own."""
    return load_network(bundle.network_files(parts.ALTITUDE).float32, threads=1).run


def fitted(bins: AltitudeBins, bundle: Bundle, views: tuple, photos: tuple) -> dict[str, float]:
    """Classes fitted to the views, measured on the photos: the best class, and the mean of all."""
    labels = bins.indices_of(views[1])
    rows = fit_directions(views[0], labels, len(bins), penalty=bundle.recipe.fit.penalty)
    scores = scores_of(photos[0], rows).astype(np.float64)
    soft_m = np.stack([softmax(row) for row in scores]) @ bins.centers_m
    found = {"classes": len(bins)}
    for kind, altitude_m in {"hard": bins.centers_m[scores.argmax(1)], "soft": soft_m}.items():
        off = np.abs(altitude_m - photos[1])
        found[f"{kind}_m"] = round(float(off.mean()), 1)
        found[f"{kind}_percent"] = round(100 * float((off / photos[1]).mean()), 1)
        found |= {f"{kind}_within_{d}_m": round(100 * float((off < d).mean()), 1) for d in (25, 50, 100)}
    return found


if __name__ == "__main__":
    main()
