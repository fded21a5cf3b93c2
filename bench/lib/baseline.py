"""The published path done in the straightforward way: what the fast one is measured against.

Photos are decoded whole, networks run eagerly in single precision, the photo is enlarged and then cropped,
and every reference is compared. Same weights, same references, same weighted coordinate as ``locate``.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import torch
from PIL import Image

from nadirfix.bundle import Bundle
from nadirfix.bundle.plan import Plan
from nadirfix.online.retrieve import likeliest_classes
from nadirfix.options.locate import LocateOptions
from nadirfix.retrieval.wce import Fused, fuse
from nadirfix.timing import Stopwatch
from nadirfix.types import Candidates


@dataclass(frozen=True, eq=False)
class Answer:
    """What came out, for comparison."""

    altitude_class: int
    descriptor: np.ndarray
    candidates: Candidates
    fused: Fused
    timings_ms: dict[str, float]


class Straightforward:
    """Both networks in torch, and a bundle's references in memory."""

    def __init__(self, altitude: torch.nn.Module, place: torch.nn.Module, bundle: Bundle) -> None:
        self.altitude, self.place, self.bundle = altitude.eval(), place.eval(), bundle
        self.references = np.asarray(bundle.descriptors, np.float32)
        self.owner = np.repeat(
            np.arange(len(bundle.references.starts) - 1), np.diff(bundle.references.starts)
        )

    @torch.no_grad()
    def locate(self, photo: bytes, options: LocateOptions) -> Answer:
        watch, recipe = Stopwatch(), self.bundle.recipe
        with watch.stage("decode"):
            picture = Image.open(io.BytesIO(photo)).convert("RGB")
            pixels = np.array(picture)
        with watch.stage("altitude"):
            spectrum = _spectrum(pixels, recipe.altitude_network)
            scores = self.altitude(torch.from_numpy(spectrum)[None])[0].numpy()
            if self.bundle.altitude_classes is not None:
                rows = self.bundle.altitude_classes
                scores = rows[:, :-1] @ scores + rows[:, -1]
            best = int(np.argmax(scores))
        with watch.stage("crop"):
            ratio = self.bundle.bins.centers_m[best] / self.bundle.canonical.altitude_m
            crop = _enlarged_then_cropped(picture, float(ratio), recipe.place_network)
        with watch.stage("embed"):
            planes = torch.from_numpy(np.ascontiguousarray(crop.transpose(2, 0, 1), np.float32))
            embedding = self.place(planes[None])[0].numpy()
        with watch.stage("search"):
            candidates, descriptor = self._searched(embedding, options)
        with watch.stage("fuse"):
            fused = fuse(candidates, options)
        return Answer(best, descriptor, candidates, fused, watch.timings_ms())

    def _searched(self, embedding: np.ndarray, options: LocateOptions) -> tuple[Candidates, np.ndarray]:
        """Every cell scored, every reference compared; those of other cells are struck out after that."""
        cells = Plan.of(self.bundle, options).cells
        classes, _ = likeliest_classes(embedding, self.bundle, cells)
        descriptor = self.bundle.describe(embedding[None])[0]
        distance = np.linalg.norm(self.references - descriptor, axis=1).astype(np.float64)
        if classes is not None:
            distance[~np.isin(self.owner, classes)] = np.inf
        rows = np.argsort(distance, kind="stable")[: options.retrieve]
        rows = rows[np.isfinite(distance[rows])]
        known = self.bundle.references
        where = known.east_m[rows], known.north_m[rows], known.heading_deg[rows]
        return Candidates(rows, *where, distance[rows], known.cell[rows], self.bundle.epsg), descriptor


def _spectrum(pixels: np.ndarray, network: Any) -> np.ndarray:
    """The whole photo at the network's size, and the logarithm of its spectrum."""
    size = network.width_px, network.height_px
    small = cv2.resize(pixels.astype(np.float32), size, interpolation=cv2.INTER_AREA).astype(np.float64)
    y, x = np.indices(small.shape[:2])
    signs = np.where((x + y) % 2 == 0, 1.0, -1.0)
    planes = [
        np.log1p(np.abs(np.fft.fft2(small[..., c] * signs))) / np.log(network.log_base) for c in range(3)
    ]
    return np.stack(planes).astype(np.float32)


def _enlarged_then_cropped(picture: Image.Image, ratio: float, network: Any) -> np.ndarray:
    """As published: resize by altitude over canonical altitude, crop back to the photo's size."""
    width, height = picture.size
    left, top = round((ratio - 1) * width / 2), round((ratio - 1) * height / 2)
    large = picture.resize((width + 2 * left, height + 2 * top))
    crop = large.crop((left, top, left + width, top + height))
    size = network.width_px, network.height_px
    return cv2.resize(np.asarray(crop, np.float32), size, interpolation=cv2.INTER_AREA)
