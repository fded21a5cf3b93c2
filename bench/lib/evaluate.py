"""How well an embedder serves a place: photos of the newer date against a map of the older one, on a GPU box.

Photos are rendered as the network sees them, from views drawn here with a seed of their own. What locate does
with real files is measured by bench/accuracy/retrieval.py; this is for choosing between networks where they
are trained.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from torch import nn

from bench.lib.photos import decoded
from nadirfix.altitude.bins import AltitudeBins, canonical_altitude_m
from nadirfix.geo.coverage import MapCoverage
from nadirfix.geo.views import Views
from nadirfix.offline.altitude_fit import fit_directions, scores_of
from nadirfix.options.recipe import Recipe
from nadirfix.options.training import AugmentOptions
from nadirfix.retrieval.whitening import Projection
from nadirfix.train.altitude import altitude_input
from nadirfix.train.contrastive import DatedMap
from nadirfix.train.data.batches import Pictures
from nadirfix.train.data.device_renderer import DeviceRenderer
from nadirfix.train.data.place_views import lattice_places
from nadirfix.train.models.mixvpr import descriptor

SEED, PHOTOS, FITTED = 77, 500, 1200
UNCHANGED = AugmentOptions(colour=0, haze=0, blur=0, noise_levels=0, jpeg=0, shadow=0, patches=0, tilt_deg=0)
#: What a photo suffers after it was taken, at the size a network sees it.
CAMERA_NOISE = dataclasses.replace(UNCHANGED, noise_levels=1.0)
FIT_LIGHT = dataclasses.replace(UNCHANGED, colour=0.3, noise_levels=1.5)


@torch.no_grad()
def places_found(dated: DatedMap, embedder: nn.Module, recipe: Recipe) -> dict[str, object]:
    """Recall of photos within 10 % of the canonical scale: as they are, centred, and half whitened."""
    altitude_m = canonical_altitude_m(recipe.references, AltitudeBins.from_options(recipe.bins))
    known = references(dated, recipe, altitude_m)
    base = described(dated.dates[0], known, embedder, recipe, UNCHANGED)
    draw = np.random.default_rng(SEED)
    photos = anywhere(dated, recipe, draw, altitude_m * draw.uniform(0.9, 1.1, 40 * PHOTOS))
    queries = described(dated.dates[-1], photos, embedder, recipe, CAMERA_NOISE)
    found: dict[str, object] = {"photos": len(photos), "references": len(known)}
    found["plain"] = recall(queries, base, photos, known)
    mean = base.mean(0)
    found["centred"] = recall(descriptor(queries - mean), descriptor(base - mean), photos, known)
    for power in (0.5, 1.0):
        white = Projection.fit(base.cpu().numpy(), 256, power=power)
        pair = (torch.from_numpy(white(x.cpu().numpy())) for x in (queries, base))
        found[f"whitened_{power}"] = recall(*pair, photos, known)
    return found


def references(dated: DatedMap, recipe: Recipe, altitude_m: float) -> Views:
    east, north = lattice_places(dated.texture.bounds, recipe.references.stride_m)
    turns = np.arange(recipe.references.headings) * 360 / recipe.references.headings
    e, n, h = np.repeat(east, len(turns)), np.repeat(north, len(turns)), np.tile(turns, len(east))
    views = Views.level(e, n, np.full(len(e), altitude_m), h)
    valid_share = MapCoverage(dated.texture).valid_share(views, recipe.camera)
    return views.take(valid_share >= recipe.references.valid_share)


def anywhere(
    dated: DatedMap, recipe: Recipe, draw: np.random.Generator, altitude_m: np.ndarray, count: int = PHOTOS
) -> Views:
    """Views that both dates show whole."""
    west, south, east, north = dated.dates[-1].texture.bounds
    tries = len(altitude_m)
    views = Views.level(
        draw.uniform(west, east, tries), draw.uniform(south, north, tries), altitude_m,
        draw.uniform(0, 360, tries),
    )  # fmt: skip
    whole = np.ones(tries, bool)
    for date in dated.dates:
        whole &= MapCoverage(date.texture).valid_share(views, recipe.camera) >= 0.99
    return views.take(np.flatnonzero(whole)[:count])


def described(
    source: DeviceRenderer, views: Views, embedder: nn.Module, recipe: Recipe, changes: AugmentOptions
) -> torch.Tensor:
    size = (recipe.place_network.width_px, recipe.place_network.height_px)
    pictures = Pictures(source, recipe.camera, size, changes, seed=SEED)
    parts = [np.arange(i, min(i + 256, len(views))) for i in range(0, len(views), 256)]
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=source.device.type == "cuda"):
        raw = [embedder(pictures.augmented(views.take(p), p)).float() for p in parts]
    return descriptor(torch.cat(raw))


def recall(queries: torch.Tensor, base: torch.Tensor, photos: Views, known: Views) -> list[float]:
    """R@1 and R@5 in per cent: the first, or one of five, within 100 m."""
    best = (queries @ base.T).topk(5).indices.cpu().numpy()
    away = np.hypot(
        known.east_m[best] - photos.east_m[:, None], known.north_m[best] - photos.north_m[:, None]
    )
    near = away < 100.0
    return [round(100 * float(near[:, 0].mean()), 1), round(100 * float(near.any(1).mean()), 1)]


@torch.no_grad()
def altitude_found(
    dated: DatedMap, network: nn.Module, recipe: Recipe, between_m: tuple[float, float]
) -> dict[str, object]:
    """Mean error in metres: the network's own classes, and classes fitted to the older map."""
    bins, draw = AltitudeBins.from_options(recipe.bins), np.random.default_rng(SEED)
    photos = anywhere(dated, recipe, draw, draw.uniform(*between_m, 40 * PHOTOS))
    queries, own = embedded(dated.dates[-1], photos, network, recipe, CAMERA_NOISE)
    found: dict[str, object] = {"photos": len(photos), "own": decoded(own, photos.altitude_m, bins)}
    fitted = anywhere(dated, recipe, draw, draw.uniform(bins.min_m, bins.max_m, 40 * FITTED), FITTED)
    for softer in (0.0, 1.0):
        changes = dataclasses.replace(FIT_LIGHT, soften_px=softer)
        taught, _ = embedded(dated.dates[0], fitted, network, recipe, changes)
        rows = fit_directions(taught, bins.indices_of(fitted.altitude_m), len(bins), penalty=1.0)
        found[f"fitted_{softer:g}"] = decoded(scores_of(queries, rows), photos.altitude_m, bins)
    return found


def embedded(
    source: DeviceRenderer, views: Views, network: nn.Module, recipe: Recipe, changes: AugmentOptions
) -> tuple[np.ndarray, np.ndarray]:
    """Embeddings and the network's own scores."""
    options, parts = recipe.altitude_network, []
    pictures = Pictures(source, recipe.camera, (options.width_px, options.height_px), changes, seed=SEED)
    for start in range(0, len(views), 64):
        index = np.arange(start, min(start + 64, len(views)))
        inputs = altitude_input(pictures.augmented(views.take(index), index), options)
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=source.device.type == "cuda"):
            vectors = network.embed(inputs).float()
        parts.append((vectors.cpu().numpy(), network.prototypes(vectors).float().cpu().numpy()))
    both = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return both[0], both[1]
