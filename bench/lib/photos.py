"""Photos of fixed views taken on a GPU, and how a map's trained networks place them; no GDAL, no FAISS.

Photos are rendered at the full camera and go the way real ones go: noise, JPEG, reduced for the altitude
network, cropped to the canonical scale for the place network.
"""

from __future__ import annotations

import csv
import hashlib
import os
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch

from nadirfix.altitude.bins import AltitudeBins, canonical_altitude_m
from nadirfix.files import atomic_file
from nadirfix.geo.coverage import MapCoverage
from nadirfix.geo.views import Views
from nadirfix.image.black_borders import fill_black_borders
from nadirfix.image.crop import Canonical, canonical_crop, network_frame
from nadirfix.options.locate import LocateOptions
from nadirfix.options.map import SimulateOptions
from nadirfix.options.recipe import NetworkOptions, Recipe
from nadirfix.retrieval.wce import fuse
from nadirfix.train.altitude import altitude_input
from nadirfix.train.data.device_renderer import DeviceRenderer
from nadirfix.types import Candidates

CHUNK = 128
NEAR_M, WITHIN_M = 100.0, (100, 50, 25, 10)
OWN_SEED = 4321
#: Of a frame, so much must show something: in views of our own, and in those altitudes are learned from.
VALID_SHARE = 0.8

Row = dict[str, Any]


def read_views(path: Path, epsg: int, limit: int) -> Views:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    rows = rows[:: max(1, len(rows) // limit)][:limit] if limit else rows
    if any(int(row["epsg"]) != epsg for row in rows):
        raise SystemExit(f"the views are not in EPSG:{epsg}, the photos' zone")
    names = ("easting_m", "northing_m", "altitude_m", "heading_deg")
    return Views.level(*(np.array([float(row[name]) for row in rows]) for name in names))


def kept_photos(
    cache: Path | None, name: str, source: DeviceRenderer, views: Views, recipe: Recipe
) -> list[np.ndarray]:
    """The photos of these views, taken once: whoever comes after reads them from the cache."""
    if cache is None:
        return take_photos(source, views, recipe)
    which = np.concatenate([getattr(views, field) for field in Views.__slots__])
    path = cache / f"{name}-{len(views)}-{hashlib.sha256(which.tobytes()).hexdigest()[:8]}.npy"
    if not path.exists():
        with atomic_file(path) as scratch, scratch.open("wb") as file:
            np.save(file, np.stack(take_photos(source, views, recipe)))
    return list(np.load(path, mmap_mode="r"))


def own_views(source: DeviceRenderer, recipe: Recipe, altitudes_m: tuple[float, float], count: int) -> Views:
    """Views of our own anywhere on the ground, to choose settings by: never the fixed ones."""
    draw = np.random.default_rng(OWN_SEED)
    west, south, east, north = source.texture.bounds
    many = 100 * count
    views = Views.level(
        draw.uniform(west, east, many), draw.uniform(south, north, many), draw.uniform(*altitudes_m, many),
        draw.uniform(0, 360, many),
    )  # fmt: skip
    fits = MapCoverage(source.texture).valid_share(views, recipe.camera) >= VALID_SHARE
    return views.take(np.flatnonzero(fits)[:count])


def take_photos(source: DeviceRenderer, views: Views, recipe: Recipe) -> list[np.ndarray]:
    """Whole photos as bytes, with the noise and the JPEG that ``nadirfix simulate`` gives them."""
    size, photos = (recipe.camera.width_px, recipe.camera.height_px), []
    for i in range(len(views)):
        pixels, _ = source.render(views.take(slice(i, i + 1)), recipe.camera, size)
        photos.append(pixels[0].round().to(torch.uint8).permute(1, 2, 0).contiguous().cpu().numpy())
    return in_parallel(lambda i: degraded(photos[i], i), range(len(photos)))


def degraded(photo: np.ndarray, seed: int) -> np.ndarray:
    options = SimulateOptions()
    grain = np.random.default_rng(seed).normal(0.0, options.noise_levels, photo.shape).astype(np.float32)
    noisy = np.clip(np.rint(photo + grain), 0, 255).astype(np.uint8)
    packed = cv2.imencode(".jpg", noisy[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, options.jpeg_quality])[1]
    return np.ascontiguousarray(cv2.imdecode(packed, cv2.IMREAD_COLOR)[..., ::-1])


def in_parallel(work, jobs) -> list:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, jobs))


def pack(out: Path, pattern: str, target: Path) -> None:
    """All results and logs so far in one file: what a machine gives back may be counted in files."""
    with atomic_file(target) as scratch, tarfile.open(scratch, "w:gz") as packed:
        for path in sorted(out.glob(pattern)):
            if path.suffix in {".json", ".csv", ".log"}:
                packed.add(path, path.name)


def batches(pictures: list[np.ndarray], device: str):
    for start in range(0, len(pictures), CHUNK):
        stack = np.stack(pictures[start : start + CHUNK])
        yield torch.from_numpy(stack).to(device).permute(0, 3, 1, 2).contiguous().float()


def half(device: str):
    return torch.autocast("cuda", dtype=torch.bfloat16, enabled=device.startswith("cuda"))


@torch.no_grad()
def altitude_scores(network, photos: list[np.ndarray], options: NetworkOptions, recipe: Recipe, device: str):
    """The score of every altitude class for each photo."""
    camera, size = recipe.camera, {"width_px": options.width_px, "height_px": options.height_px}
    frames = in_parallel(
        lambda photo: fill_black_borders(network_frame(photo, camera, camera, **size)), photos
    )
    with half(device):
        scores = [network(altitude_input(x, options)).float() for x in batches(frames, device)]
    return torch.cat(scores).cpu().numpy()


def decoded(scores: np.ndarray, truth_m: np.ndarray, bins: AltitudeBins) -> dict[str, float]:
    """Mean error of the best class's middle (hard) and of the mean over all classes (soft)."""
    return off_by({"hard": bins.centers_m[scores.argmax(1)], "soft": soft_m(scores, bins)}, truth_m)


def off_by(named: dict[str, np.ndarray], truth_m: np.ndarray) -> dict[str, float]:
    """How far altitudes are off, by how they were estimated."""
    found = {}
    for kind, altitude_m in named.items():
        off = np.abs(altitude_m - truth_m)
        found[f"{kind}_m"] = round(float(off.mean()), 1)
        found[f"{kind}_percent"] = round(100 * float((off / truth_m).mean()), 1)
        found |= {f"{kind}_within_{d}_m": round(100 * float((off < d).mean()), 1) for d in (25, 50, 100)}
    return found


def soft_m(scores: np.ndarray, bins: AltitudeBins) -> np.ndarray:
    """The mean over all classes."""
    likely = np.exp(scores - scores.max(1, keepdims=True))
    return np.asarray((likely / likely.sum(1, keepdims=True)) @ bins.centers_m)


@torch.no_grad()
def embed_photos(network, photos: list[np.ndarray], altitudes_m, recipe: Recipe, device: str) -> torch.Tensor:
    """Raw embeddings of the photos' canonical crops; without altitudes, of the whole photos."""
    options, camera = recipe.place_network, recipe.camera
    size = {"width_px": options.width_px, "height_px": options.height_px}
    bins = AltitudeBins.from_options(recipe.bins)
    canonical = Canonical(camera, canonical_altitude_m(recipe.references, bins))

    def crop(i: int) -> np.ndarray:
        if altitudes_m is None:
            return network_frame(photos[i], camera, camera, **size)
        gsd_m = camera.gsd_m(float(altitudes_m[i]))
        return canonical_crop(photos[i], camera, gsd_m, canonical, **size, enlarge=recipe.enlarge).pixels

    crops = in_parallel(crop, range(len(photos)))
    embed = getattr(network, "embed", network)  # an embedder alone is itself one
    with half(device):
        return torch.cat([embed(x).float() for x in batches(crops, device)])


def retrieval_errors(similarity: torch.Tensor, where: Views, views: Views, epsg: int) -> list[Row]:
    """What each photo's nearest ten references make of it: a row each, errors in metres."""
    best = similarity.topk(min(10, similarity.shape[1]))
    distance = (2 - 2 * best.values.double()).clamp(min=0).sqrt().cpu().numpy()
    return [
        photo_errors(rows, d, where, (views.east_m[i], views.north_m[i]), epsg)
        for i, (rows, d) in enumerate(zip(best.indices.cpu().numpy(), distance, strict=True))
    ]


def photo_errors(rows: np.ndarray, distance: np.ndarray, where: Views, truth, epsg: int) -> Row:
    known = distance < 3.0  # fewer than ten, where the cells hold no more
    if not known.any():
        return {"r1": False, "r5": False, "top1_m": np.inf, "wce_m": np.inf}
    rows, distance = rows[known], np.maximum.accumulate(distance[known])
    east, north = where.east_m[rows], where.north_m[rows]
    cell = np.zeros((len(rows), 2), np.int64)
    found = Candidates(rows, east, north, where.heading_deg[rows], distance, cell, epsg)
    point = fuse(found, LocateOptions()).position
    far = np.hypot(east - truth[0], north - truth[1])
    off = float(np.hypot(point.east_m - truth[0], point.north_m - truth[1]))
    near = {"r1": bool(far[0] < NEAR_M), "r5": bool((far[:5] < NEAR_M).any())}
    return {**near, "top1_m": round(float(far[0]), 1), "wce_m": round(off, 1)}


def summary(rows: list[Row]) -> dict[str, float | None]:
    """Recall, and shares and errors of both answers; an error that is infinite is none."""
    found: dict[str, float | None] = {k: share([row[k] for row in rows]) for k in ("r1", "r5")}
    for answer in ("wce", "top1"):
        off = np.array([row[f"{answer}_m"] for row in rows])
        found |= {f"{answer}_{d}": share(off < d) for d in WITHIN_M}
        found |= {f"{answer}_median_m": metres(np.median(off)), f"{answer}_p90_m": metres(ninth(off))}
    return found


def share(flags) -> float:
    return round(100 * float(np.mean(np.asarray(flags, float))), 1)


def metres(value: float) -> float | None:
    return round(float(value), 1) if np.isfinite(value) else None


def ninth(off: np.ndarray) -> float:
    """Nine of ten are no farther off; without mixing neighbours, one of which may be infinite."""
    return float(np.quantile(off, 0.9, method="higher"))
