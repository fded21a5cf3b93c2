"""Keypoints of an image that can be found again in another, each with a descriptor of its surroundings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from nadirfix.arrays import unit
from nadirfix.options.recipe import NETWORK_MATCHERS
from nadirfix.options.verify import FeatureOptions
from nadirfix.runtime.network import Network

__all__ = [
    "KEYPOINT_THRESHOLD",
    "OUTPUT_SIDES",
    "SIDE_STEP_PX",
    "Detector",
    "Features",
    "NetworkDetector",
    "SiftDetector",
    "detector_of",
    "grey_of",
]

Singles = NDArray[np.float32]
Bytes = NDArray[np.uint8]

#: A matcher's network halves an image five times: its sides must be multiples of this.
SIDE_STEP_PX = 32
#: What its output holds, one after the other: descriptors, keypoint heatmap, reliability.
_DESCRIPTOR, _CELL = 64, 8
#: Its sides for each image: channels, and a row and a column for each cell of the image.
OUTPUT_SIDES = (_DESCRIPTOR + _CELL**2 + 1, -_CELL, -_CELL)
#: Score below which there is no keypoint; and the contrast below which SIFT has none.
KEYPOINT_THRESHOLD, _SIFT_CONTRAST = 0.05, 0.02
#: Keypoints nearer to the frame, or to where the map ends, describe the edge and not the ground.
_MARGIN_PX = 4
_MEAN = np.full((1, 3), 1 / 3, np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Keypoints (columns and rows, corner of the image at 0, 0), strongest first, and unit descriptors."""

    keypoints_px: Singles
    descriptors: Singles

    def __len__(self) -> int:
        return len(self.keypoints_px)


class Detector(Protocol):
    """Detects keypoints in grey images."""

    def __call__(self, grey: Singles, valid: Bytes | None = None) -> Features:
        """The keypoints of an image; where ``valid`` is 0 there is none."""


def detector_of(name: str, network: Network | None, options: FeatureOptions) -> Detector:
    """The detector of this name; those that are networks come with theirs."""
    if name == "sift":
        return SiftDetector(options)
    if name not in NETWORK_MATCHERS or network is None:
        raise ValueError(f"no detector {name!r}, or no network for it")
    return NetworkDetector(network, options)


def grey_of(pixels: NDArray[np.uint8] | Singles) -> Singles:
    """The mean of the three colours."""
    return np.asarray(cv2.transform(np.asarray(pixels, np.float32), _MEAN), np.float32)


class NetworkDetector:
    """Keypoints and descriptors from a small network: ours (ADR 48) or XFeat (ADR 12); needs no torch."""

    def __init__(self, network: Network, options: FeatureOptions) -> None:
        self._network, self._options = network, options

    def __call__(self, grey: Singles, valid: Bytes | None = None) -> Features:
        """The keypoints of an image; where ``valid`` is 0 there is none."""
        padded = _padded(_filled(grey, valid))
        output = self._network.run(padded[None, None])[0]
        heatmap = _heatmap(output[_DESCRIPTOR : _DESCRIPTOR + _CELL**2])
        rows, cols = np.nonzero(_peaks(heatmap, KEYPOINT_THRESHOLD) & _usable(heatmap, grey, valid))
        if rows.size == 0:
            return _no_features(_DESCRIPTOR)
        x, y = _map_position(cols, heatmap.shape[1]), _map_position(rows, heatmap.shape[0])
        score = heatmap[rows, cols] * _sampled(output[-1:], x, y, 2)[:, 0]
        best = np.argsort(-score, kind="stable")[: self._options.keypoints]
        keypoints = _sub_pixel(heatmap, cols[best], rows[best])
        return Features(keypoints, unit(_sampled(output[:_DESCRIPTOR], x[best], y[best], 4)))


class SiftDetector:
    """Keypoints and descriptors by OpenCV's SIFT, with square roots taken (RootSIFT); needs no weights."""

    def __init__(self, options: FeatureOptions) -> None:
        self._options = options

    def __call__(self, grey: Singles, valid: Bytes | None = None) -> Features:
        """The keypoints of an image; where ``valid`` is 0 there is none."""
        image = np.rint(np.clip(_filled(grey, valid), 0, 255)).astype(np.uint8)
        sift = cv2.SIFT.create(self._options.keypoints, contrastThreshold=_SIFT_CONTRAST)
        mask = np.where(_usable(grey, grey, valid), 255, 0).astype(np.uint8)
        detected, descriptors = sift.detectAndCompute(image, mask)
        if descriptors is None or len(detected) == 0:
            return _no_features(128)
        strongest = np.argsort([-one.response for one in detected], kind="stable")
        order = strongest[: self._options.keypoints]
        keypoints = np.array([detected[i].pt for i in order], np.float32) + np.float32(0.5)
        return Features(keypoints, unit(np.sqrt(np.maximum(descriptors[order], 0))))


def _no_features(length: int) -> Features:
    return Features(np.zeros((0, 2), np.float32), np.zeros((0, length), np.float32))


def _filled(grey: Singles, valid: Bytes | None) -> Singles:
    """Where there is no image its mean goes on: black would change how the rest looks to the network."""
    if valid is None or valid.all():
        return grey
    mean = float(grey[valid > 0].mean()) if valid.any() else 0.0
    return np.where(valid > 0, grey, np.float32(mean))


def _padded(grey: Singles) -> Singles:
    """Sides the network can take; what is added repeats the edge and yields no keypoints."""
    down, right = -grey.shape[0] % SIDE_STEP_PX, -grey.shape[1] % SIDE_STEP_PX
    return np.pad(grey, ((0, down), (0, right)), mode="edge") if down or right else grey


def _heatmap(cells: Singles) -> Singles:
    """From one channel for each pixel of a cell to one image."""
    _, rows, cols = cells.shape
    spread = cells.reshape(_CELL, _CELL, rows, cols).transpose(2, 0, 3, 1)
    return np.ascontiguousarray(spread).reshape(rows * _CELL, cols * _CELL)


def _peaks(heatmap: Singles, threshold: float) -> NDArray[np.bool_]:
    highest = cv2.dilate(heatmap, np.ones((5, 5), np.uint8))
    return np.asarray((heatmap >= highest) & (heatmap > threshold), np.bool_)


def _usable(frame: Singles, grey: Singles, valid: Bytes | None) -> NDArray[np.bool_]:
    """Where keypoints may lie: inside the image, off its edges and off the map's."""
    inside = np.zeros(frame.shape, np.uint8)
    cover = np.ones(grey.shape, np.uint8) if valid is None else (valid > 0).astype(np.uint8)
    cover[[0, -1], :] = 0
    cover[:, [0, -1]] = 0
    side = 2 * _MARGIN_PX + 1
    inside[: grey.shape[0], : grey.shape[1]] = cv2.erode(cover, np.ones((side, side), np.uint8))
    return np.asarray(inside > 0, np.bool_)


def _map_position(pixel: NDArray[np.int64], size_px: int) -> Singles:
    """Where a pixel lies in the network's coarser maps, as the network learned it."""
    return np.asarray(pixel * (size_px / _CELL) / (size_px - 1) - 0.5, np.float32)


def _sampled(maps: Singles, x: Singles, y: Singles, taps: int) -> Singles:
    """Values of all channels between pixels, one row each; beyond the edge the last pixel goes on."""
    depth, height, width = maps.shape
    layers = np.ascontiguousarray(maps.reshape(depth, -1).T)
    rows, down = _taps(y, height, taps)
    cols, across = _taps(x, width, taps)
    taken, one = np.zeros((2, len(x), depth), np.float32)
    for i in range(taps):
        for j in range(taps):
            np.take(layers, rows[:, i] * width + cols[:, j], axis=0, out=one, mode="clip")
            one *= (down[:, i] * across[:, j])[:, None]
            taken += one
    return taken


def _taps(position: Singles, size: int, taps: int) -> tuple[NDArray[np.int64], Singles]:
    """Pixels around each position and their weights: two for linear, four for cubic interpolation."""
    first = np.floor(position).astype(np.int64)
    away = np.arange(taps) - (taps // 2 - 1)
    distance = np.abs(position[:, None] - first[:, None] - away)
    weights = 1 - distance if taps == 2 else _cubic(distance)
    return np.clip(first[:, None] + away, 0, size - 1), weights.astype(np.float32)


def _cubic(distance: NDArray[np.floating]) -> NDArray[np.floating]:
    """The usual cubic kernel with sharpness -0.75, which the network's authors sample with."""
    a, d = -0.75, distance
    near = (a + 2) * d**3 - (a + 3) * d**2 + 1
    far = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def _sub_pixel(heatmap: Singles, cols: NDArray[np.int64], rows: NDArray[np.int64]) -> Singles:
    """Peaks between pixels: the top of the parabola through a peak and its neighbours, each way."""
    middle = heatmap[rows, cols]
    across = _vertex(heatmap[rows, cols - 1], middle, heatmap[rows, cols + 1])
    down = _vertex(heatmap[rows - 1, cols], middle, heatmap[rows + 1, cols])
    return np.stack([cols + 0.5 + across, rows + 0.5 + down], axis=1).astype(np.float32)


def _vertex(before: Singles, peak: Singles, after: Singles) -> Singles:
    bend = before - 2 * peak + after
    return np.where(bend < 0, 0.5 * (before - after) / np.where(bend < 0, bend, -1), 0.0).astype(np.float32)
