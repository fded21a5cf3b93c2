"""How well matchers place photos of the newer date on a map of the older one, from a view that is off.

python bench/matcher_weigh.py --old OLD.ntx --new NEW.ntx --matcher xfeat=A.onnx own=B.onnx --name mine

Every photo is held against the map at its true view, moved by up to 30 m, 15° and 12 %, and at another place.
Views are drawn here with a seed of their own. All matchers get the same photos, in turns.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
from displaced import moved
from record import RESULTS, record

from nadirfix.camera import DEFAULT_CAMERA
from nadirfix.geo.texture import Texture
from nadirfix.nn.ground import Ground
from nadirfix.nn.views import Views
from nadirfix.options import RenderOptions, SimulateOptions
from nadirfix.options_verify import VerifyOptions
from nadirfix.runtime import load_network
from nadirfix.types import Point, View
from nadirfix.verify.compare import Comparison, Sighting
from nadirfix.verify.decide import look_at
from nadirfix.verify.features import Detector, XFeatDetector
from nadirfix.verify.trust import confidence_of, support_of

#: Altitudes photos of a place come from.
MEASURED = {"mine": (100.0, 400.0), "town": (150.0, 700.0), "world": (100.0, 600.0)}
SEED = 4242
WRONG_M = 100.0


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--old", type=Path, required=True)
    options.add_argument("--new", type=Path, required=True)
    options.add_argument("--matcher", nargs="+", required=True, metavar="NAME=FILE")
    options.add_argument("--likeness", type=float, nargs="*", default=[], help="of each matcher, the least")
    options.add_argument("--place", default="world", choices=sorted(MEASURED), help="whose altitudes")
    options.add_argument("--count", type=int, default=100)
    options.add_argument("--name", default="place")
    options.add_argument("--out", type=Path, default=RESULTS)
    given = options.parse_args()
    features = VerifyOptions().features
    files = dict(pair.split("=", 1) for pair in given.matcher)
    least = [*given.likeness, *[VerifyOptions().min_likeness] * len(files)]
    matchers = {
        name: (XFeatDetector(load_network(Path(file)), features), likeness)
        for (name, file), likeness in zip(files.items(), least, strict=False)
    }
    old, new = Texture.load(given.old), Texture.load(given.new)
    told = weighed(old, new, matchers, between_m=MEASURED[given.place], count=given.count)
    print(json.dumps(told, indent=1))
    print(record(f"matcher_{given.name}", {"seed": SEED, "count": given.count, **told}, given.out))


def weighed(
    old: Texture,
    new: Texture,
    matchers: dict[str, tuple[Detector, float]],
    *,
    between_m: tuple[float, float],
    count: int,
) -> dict[str, Any]:
    """What each matcher makes of the same photos; beside it the likeness below which points are no match."""
    draw = np.random.default_rng(SEED)
    ground = old.rendered_with(RenderOptions(supersample=VerifyOptions().supersample))
    views = views_of(old, new, draw, between_m, count)
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in matchers}
    for i, view in enumerate(views):
        photo = degraded(new.render(view, DEFAULT_CAMERA).pixels, i)
        near, far = moved(view, draw), dataclasses.replace(moved(view, draw), center=other_place(view, views))
        for name in list(matchers)[:: 1 if i % 2 else -1]:
            detector, likeness = matchers[name]
            options = dataclasses.replace(VerifyOptions(), min_likeness=likeness)
            compare = Comparison(photo, DEFAULT_CAMERA, texture=ground, detector=detector, options=options)
            rows[name].append(looked(compare, view, near, far, options))
    return {name: summary(found) for name, found in rows.items()}


def degraded(photo: np.ndarray, seed: int) -> np.ndarray:
    """The noise that ``nadirfix simulate`` gives photos; JPEG of quality 95 is not seen after that."""
    grain = np.random.default_rng(seed).normal(0.0, SimulateOptions().noise_levels, photo.shape)
    return np.clip(np.rint(photo + grain.astype(np.float32)), 0, 255).astype(np.uint8)


def views_of(
    old: Texture, new: Texture, draw: np.random.Generator, between_m: tuple[float, float], count: int
) -> list[View]:
    """Views that both dates show whole."""
    west, south, east, north = new.bounds
    tries = 60 * count
    views = Views.level(
        draw.uniform(west, east, tries), draw.uniform(south, north, tries), draw.uniform(*between_m, tries),
        draw.uniform(0, 360, tries),
    )  # fmt: skip
    shares = [Ground(date).valid_share(views, DEFAULT_CAMERA) for date in (old, new)]
    whole = np.flatnonzero(np.min(shares, axis=0) >= 0.95)[:count]
    return [views.view(int(i), new.epsg) for i in whole]


def other_place(view: View, views: list[View]) -> Point:
    """One that shows none of the same ground; where all do, the one farthest away."""
    apart_m = [
        view.center.distance_m(other.center) - 1.1 * (view.altitude_m + other.altitude_m) for other in views
    ]
    clear = [other for other, gap_m in zip(views, apart_m, strict=True) if gap_m > 0]
    return clear[len(clear) // 2].center if clear else views[int(np.argmax(apart_m))].center


def looked(
    compare: Comparison, truth: View, near: View, far: View, options: VerifyOptions
) -> dict[str, float]:
    began = time.perf_counter()
    points = compare.points()
    found = look_at(near, compare, options)
    spent_ms = 1000 * (time.perf_counter() - began)
    elsewhere = look_at(far, compare, options)
    best: Sighting = max(found, elsewhere, key=lambda s: support_of(s, options.trust))
    answered = confidence_of(best, options.trust) >= options.min_confidence
    return {
        "points": points,
        "error_m": found.view.center.distance_m(truth.center) if found.fitted else math.inf,
        "answer_m": best.view.center.distance_m(truth.center) if answered else math.inf,
        "matches": found.matches,
        "inliers": found.inliers,
        "support": support_of(found, options.trust),
        "elsewhere_inliers": elsewhere.inliers,
        "elsewhere_support": support_of(elsewhere, options.trust),
        "ms": spent_ms,
    }


def summary(rows: list[dict[str, float]]) -> dict[str, Any]:
    """Shares in per cent of all photos; ``placed`` whether or not the answer would be believed."""
    column = {key: np.array([row[key] for row in rows]) for key in rows[0]}
    given = np.isfinite(column["answer_m"])
    right = column["error_m"] <= 25
    return {
        "photos": len(rows),
        "placed": {str(m): percent(column["error_m"] <= m) for m in (5, 10, 25)},
        "answered": percent(given),
        "answered_within": {str(m): percent(column["answer_m"] <= m) for m in (5, 10, 25)},
        "wrong": percent(given & (column["answer_m"] > WRONG_M)),
        "median_m": round(float(np.median(column["error_m"][right])), 2) if right.any() else None,
        "inliers_right": float(np.median(column["inliers"][right])) if right.any() else None,
        "support_right": quantiles(column["support"][right]),
        "elsewhere_inliers": float(np.median(column["elsewhere_inliers"])),
        "elsewhere_support": quantiles(column["elsewhere_support"]),
        "points": float(np.median(column["points"])),
        "matches": float(np.median(column["matches"])),
        "ms": round(float(np.median(column["ms"])), 1),
    }


def percent(flags: np.ndarray) -> float:
    return round(100 * float(flags.mean()), 1)


def quantiles(values: np.ndarray) -> list[float]:
    """Least, tenth, middle, ninetieth, most."""
    return [round(float(np.quantile(values, q)), 1) for q in (0, 0.1, 0.5, 0.9, 1)] if len(values) else []


if __name__ == "__main__":
    main()
