"""Times of both paths as ratios, and whether both give the same answers."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.lib.baseline import Answer
from nadirfix.bundle import Bundle
from nadirfix.bundle import layout as parts
from nadirfix.bundle.plan import Plan
from nadirfix.online import locate, open_networks
from nadirfix.options.locate import LocateOptions
from nadirfix.parallel import cores, map_in_order
from nadirfix.runtime.backend import Backend
from nadirfix.runtime.load import load_backend
from nadirfix.types import Fix

OPTIONS = LocateOptions(verify=False, whole_frame=False)
PUBLISHED_FPS = 13.3
#: Stages of the published line; decoding and weighting are not in it.
STAGES = {
    "altitude": ("altitude",),
    "crop": ("crop",),
    "place network": ("embed",),
    "search": ("classify", "retrieve", "search"),
}
EVERY = {"decode": ("decode",), **STAGES, "weighting": ("fuse",)}
WARM_UP = 2


def staged(timings_ms: dict[str, float]) -> dict[str, float]:
    return {stage: sum(timings_ms.get(part, 0.0) for part in parts) for stage, parts in EVERY.items()}


def ratios(spent: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    """Medians of both paths, and medians of the ratio taken photo by photo."""
    found: dict[str, Any] = {"median_ms": {}, "mean_ms": {}}
    for path, photos in spent.items():
        whole = [{**p, "all": sum(p.values()), "published stages": sum(p[s] for s in STAGES)} for p in photos]
        found["median_ms"][path] = {k: round(float(np.median([p[k] for p in whole])), 2) for k in whole[0]}
        found["mean_ms"][path] = {k: round(float(np.mean([p[k] for p in whole])), 2) for k in whole[0]}
        spent[path] = whole
    pairs = list(zip(spent["plain"], spent["fast"], strict=True))
    per_photo = {k: [a[k] / b[k] for a, b in pairs] for k in pairs[0][0] if k not in ("search", "weighting")}
    found["times_faster_median"] = {k: round(float(np.median(v)), 2) for k, v in per_photo.items()}
    found["times_faster_p10"] = {k: round(float(np.percentile(v, 10)), 2) for k, v in per_photo.items()}
    means = found["mean_ms"]
    found["times_faster_in_all"] = {k: round(means["plain"][k] / means["fast"][k], 2) for k in per_photo}
    stages = found["median_ms"]["fast"]["published stages"]
    found["frames_per_s_published_stages"] = {
        "ours, two cores": round(1000 / stages, 1),
        "RTX 4090": PUBLISHED_FPS,
    }
    return found


def folder_rate(bundle: Bundle, photos: list[bytes]) -> dict[str, float]:
    """Photos a second of a whole folder, everything included: one by one, and one on each core."""
    found = {}
    for name, workers in (("one by one", 1), ("one on each core", cores())):
        opened = Bundle.load(bundle.path, threads=0 if workers == 1 else 1)
        open_networks(opened, Plan.of(opened, OPTIONS))
        work = lambda photo, b=opened: locate(photo, bundle=b, options=OPTIONS)  # noqa: E731
        list(map_in_order(work, photos[: 2 * workers], workers=workers))
        began = time.perf_counter()
        list(map_in_order(work, photos, workers=workers))
        found[name] = round(len(photos) / (time.perf_counter() - began), 2)
    return found


def agreement(
    bundle: Bundle, photos: list[bytes], answers: list[Answer], fixes: list[Fix]
) -> dict[str, float]:
    """How far both paths say the same; descriptors are compared on the same altitude class."""
    classes = [int(np.argmin(np.abs(bundle.bins.centers_m - (f.altitude_m or 0)))) for f in fixes]
    same = np.array([a.altitude_class == c for a, c in zip(answers, classes, strict=True)])
    cosines, first, apart = [], [], []
    for photo, answer, fix, agree in zip(photos, answers, fixes, same, strict=True):
        altitude_m = float(bundle.bins.centers_m[answer.altitude_class])
        fast = fix if agree else locate(photo, bundle=bundle, altitude_m=altitude_m, options=OPTIONS)
        assert fast.candidates is not None and fast.position is not None
        cosines.append(cosine(photo, altitude_m, bundle, answer))
        first.append(int(fast.candidates.reference[0]) == int(answer.candidates.reference[0]))
        apart.append(fast.position.distance_m(answer.fused.position))
    return {
        "same_altitude_class": round(float(same.mean()), 4),
        "descriptor_cosine_p5": round(float(np.percentile(cosines, 5)), 5),
        "same_first_reference": round(float(np.mean(first)), 4),
        "positions_within_5_m": round(float(np.mean(np.array(apart) <= 5)), 4),
    }


def cosine(photo: bytes, altitude_m: float, bundle: Bundle, answer: Answer) -> float:
    from nadirfix.image.crop import canonical_crop
    from nadirfix.image.decode import decode

    size = bundle.recipe.place_network
    pixels, camera = decode(photo, max_pixels=10**9), bundle.camera
    crop = canonical_crop(
        pixels,
        camera,
        camera.gsd_m(altitude_m),
        bundle.canonical,
        width_px=size.width_px,
        height_px=size.height_px,
        enlarge=bundle.recipe.enlarge,
    )
    described = bundle.describe(bundle.place_network.run(np.moveaxis(crop.pixels, -1, 0)[None]))[0]
    return float(described @ answer.descriptor)


def right(answers: list[Answer], fixes: list[Fix], file: Path) -> dict[str, float]:
    """Of both paths, the share of photos located less than 100 m from where they were taken."""
    if not file.exists():
        return {}
    truth = np.array(json.loads(file.read_text()))[WARM_UP:]
    positions = {"plain": [a.fused.position for a in answers], "fast": [f.position for f in fixes]}
    far_m = {
        path: np.hypot(*(np.array([[p.east_m, p.north_m] for p in places if p]) - truth).T)
        for path, places in positions.items()
    }
    return {path: round(100 * float(np.mean(apart < 100)), 1) for path, apart in far_m.items()}


def in_single(bundle: Bundle, photos: list[bytes], answers: list[Answer]) -> dict[str, float]:
    """The same with both networks as they are stored: what is left is decoding, cropping and searching."""
    plain = Bundle.load(bundle.path)
    for part in (parts.ALTITUDE, parts.PLACE):
        name = "altitude_network" if part == parts.ALTITUDE else "place_network"
        vars(plain)[name] = load_backend(plain.network_files(part), Backend())
    fixes = [locate(photo, bundle=plain, options=OPTIONS) for photo in photos]
    return agreement(plain, photos, answers, fixes)
