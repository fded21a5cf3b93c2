"""Altitude classes of one map without training: a linear classifier fitted to embeddings of its views.

The embedder stays as it ships. Views of the map from every altitude, with photometric augmentation, are
embedded, and one linear score per class is fitted to them: seconds, no torch (ADR 16).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nadirfix.altitude.bins import AltitudeBins
from nadirfix.altitude.scores import scores_of
from nadirfix.camera import Camera
from nadirfix.errors import MapError
from nadirfix.files import Progress, quiet
from nadirfix.geo.coverage import MapCoverage, held_out
from nadirfix.geo.render import filled
from nadirfix.geo.texture import Texture
from nadirfix.geo.views import Views
from nadirfix.image.crop import resample
from nadirfix.image.spectrum import log_spectrum
from nadirfix.offline.logistic import logistic_regression
from nadirfix.options.map import RenderOptions
from nadirfix.options.recipe import FitOptions, NetworkOptions
from nadirfix.parallel import cores, map_in_order
from nadirfix.types import Point, View

__all__ = [
    "FittedClasses",
    "ViewSamples",
    "draw_views",
    "fit_classes",
    "fit_directions",
    "photometric_augmentation",
    "scores_of",
]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Embed = Callable[[Floats], Floats]

#: Views are rendered this much finer than the network's input and averaged, as photos are.
_FINER = 3
_SAMPLED = RenderOptions(supersample=1)
#: A class no view of this map fits is never the answer.
_NEVER = np.float32(-1e4)
_TRIES = 24
_SHARP_PX = 0.05  # a blur smaller than this changes nothing


@dataclass(frozen=True, slots=True, eq=False)
class FittedClasses:
    """A row per class (its direction, then its intercept), and how well it did on ground held out."""

    rows: Floats
    record: dict[str, Any]


def fit_classes(
    texture: Texture,
    embed: Embed,
    *,
    camera: Camera,
    bins: AltitudeBins,
    network: NetworkOptions,
    options: FitOptions,
    progress: Progress = quiet,
) -> FittedClasses:
    """Fit the classes to views of the map; a tenth of its ground is held out first, to tell how good.

    Every core embeds a view of its own, so that ``embed`` should keep to one thread.
    """
    views = draw_views(texture, camera, bins, options)
    samples = ViewSamples(texture, camera, network, options)
    embeddings = []
    for embedding in map_in_order(
        lambda i: embed(samples.of(views, i)[None])[0], range(len(views)), workers=cores()
    ):
        embeddings.append(embedding)
        progress("fitting altitude classes", len(embeddings), len(views))
    vectors, labels = np.stack(embeddings), bins.indices_of(views.altitude_m)
    west, south, _, _ = texture.bounds  # blocks are counted from the map, so that they move with it
    test = held_out(views.east_m - west, views.north_m - south)
    record: dict[str, Any] = {"views": len(views), "held_out": None}
    if test.any() and not test.all():
        trial = fit_directions(vectors[~test], labels[~test], len(bins), penalty=options.penalty)
        record["held_out"] = _errors(trial, vectors[test], views.altitude_m[test], bins)
    return FittedClasses(fit_directions(vectors, labels, len(bins), penalty=options.penalty), record)


def fit_directions(vectors: Floats, labels: Ints, classes: int, *, penalty: float) -> Floats:
    """Multinomial logistic regression: a direction and an intercept for each class."""
    rows = np.zeros((classes, vectors.shape[1] + 1), np.float32)
    rows[:, -1] = _NEVER
    present = np.unique(labels)
    if present.size == 1:
        rows[present, -1] = 0.0
        return rows
    numbered = np.searchsorted(present, labels)
    rows[present] = logistic_regression(vectors.astype(np.float64), numbered, present.size, penalty=penalty)
    return rows


class ViewSamples:
    """Network inputs made from views, with the light, blur and noise of other days."""

    def __init__(
        self, texture: Texture, camera: Camera, network: NetworkOptions, options: FitOptions
    ) -> None:
        self.texture = texture.rendered_with(_SAMPLED)
        self.camera, self.network, self.options = camera, network, options

    def of(self, views: Views, row: int) -> Floats:
        """The network's input for one view; always the same for the same row."""
        width, height = self.network.width_px, self.network.height_px
        center = Point(float(views.east_m[row]), float(views.north_m[row]), self.texture.epsg)
        view = View(center, float(views.altitude_m[row]), float(views.heading_deg[row]))
        size = width * _FINER, height * _FINER
        rendered = self.texture.render(view, self.camera, size)
        plain = resample(filled(rendered).astype(np.float32), size, width_px=width, height_px=height)
        frame = photometric_augmentation(plain, np.random.default_rng([self.options.seed, row]), self.options)
        return log_spectrum(frame, self.network) if self.network.input == "spectrum" else _planes(frame)


def _planes(picture: Floats) -> Floats:
    return np.ascontiguousarray(np.moveaxis(picture, -1, 0))


def photometric_augmentation(pixels: Floats, draw: np.random.Generator, options: FitOptions) -> Floats:
    """A softer lens, other light and contrast, and the noise of a camera.

    Without the first, classes fitted to a sharp map take every softer photo for one from higher up.
    """
    pixels = _softened(pixels, options.soften_px * draw.uniform(0, 1)) if options.soften_px > 0 else pixels
    contrast = 1 + options.light * draw.uniform(-1, 1)
    balance = 1 + options.light / 2 * draw.uniform(-1, 1, 3)
    mean = pixels.mean(axis=(0, 1))
    noise = draw.normal(0, options.noise_levels * draw.uniform(0, 1), pixels.shape)
    lit = (pixels - mean) * contrast * balance + mean * (1 + options.light * draw.uniform(-1, 1)) + noise
    return np.asarray(np.clip(lit, 0, 255), np.float32)


def _softened(pixels: Floats, radius_px: float) -> Floats:
    import cv2

    if radius_px < _SHARP_PX:
        return pixels
    return np.asarray(
        cv2.GaussianBlur(pixels, (0, 0), radius_px, borderType=cv2.BORDER_REPLICATE), np.float32
    )


def draw_views(texture: Texture, camera: Camera, bins: AltitudeBins, options: FitOptions) -> Views:
    """Views that fit on the map, every altitude as often as the next."""
    draw, ground, count = np.random.default_rng(options.seed), MapCoverage(texture), options.views
    altitude = bins.min_m + (np.arange(count) + draw.uniform(0, 1, count)) / count * (bins.max_m - bins.min_m)
    west, south, east, north = texture.bounds
    fitting, left = [], np.minimum(altitude, np.nextafter(bins.max_m, 0))
    for _ in range(_TRIES):
        size = len(left)
        tried = Views.level(
            draw.uniform(west, east, size), draw.uniform(south, north, size), left, draw.uniform(0, 360, size)
        )
        fits = ground.valid_share(tried, camera) >= options.valid_share
        fitting.append(tried.take(fits))
        left = left[~fits]
    views = Views(*(np.concatenate([getattr(v, n) for v in fitting]) for n in Views.__slots__))
    if not len(views):
        raise _nothing_fits(count, options)
    return views


def _nothing_fits(count: int, options: FitOptions) -> MapError:
    return MapError(
        "map.too_small",
        "no view from any altitude fits on the map",
        seen=f"{_TRIES} tries for each of {count} views, {options.valid_share:.0%} must lie on the map",
        do="take a larger map or one with fewer holes, or lower valid_share in the recipe's fit",
    )


def _errors(rows: Floats, vectors: Floats, altitude_m: NDArray[np.float64], bins: AltitudeBins) -> Any:
    error = np.abs(bins.centers_m[scores_of(vectors, rows).argmax(axis=1)] - altitude_m)
    shares = {f"within_{d}_m": 100 * float((error < d).mean()) for d in (25, 50, 100)}
    return {"e_avg_m": float(error.mean()), **shares}
