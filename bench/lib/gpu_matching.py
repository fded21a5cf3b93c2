"""A photo matched with the map: rendering, keypoints and matches on a GPU; geometry stays on the host."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from bench.lib.gpu_pipeline import Recorded
from nadirfix.camera import Camera
from nadirfix.geo.texture import Texture
from nadirfix.geo.views import Views
from nadirfix.options.verify import VerifyOptions
from nadirfix.train.data.device_renderer import DeviceRenderer
from nadirfix.types import View
from nadirfix.verify.features import KEYPOINT_THRESHOLD, Features
from nadirfix.verify.registration import (
    FIRST_WIDTH_PX,
    MAP_SAMPLING,
    ImageFeatures,
    MatchResult,
    Registration,
    match_result,
    window_camera,
)

_CELL, _STEP_PX, _DESCRIPTOR, _MARGIN_PX = 8, 32, 64, 5


class Ground:
    """The map and the network that finds keypoints, in the GPU's memory, and threads for geometry."""

    def __init__(
        self, texture: Texture, network: torch.nn.Module, options: VerifyOptions, device: Any
    ) -> None:
        self.texture, self.network, self.options = texture, network, options
        self.source = DeviceRenderer(texture, device, options=MAP_SAMPLING)
        self.pool = ThreadPoolExecutor(2)
        self._recorded: dict[torch.Size, Recorded] = {}

    def keypoints(self, grey: Tensor) -> Keypoints:
        """Keypoints of a picture; on a GPU played back from a CUDA graph, of which each size has its own."""
        if not grey.is_cuda:
            return keypoints(self.network, grey, self.options)
        if grey.shape not in self._recorded:
            self._recorded[grey.shape] = Recorded(lambda g: keypoints(self.network, g, self.options), grey)
        return Keypoints(*(part.clone() for part in self._recorded[grey.shape](grey)))


class Keypoints(NamedTuple):
    """Keypoints of a picture and their descriptors, in the GPU's memory."""

    places: Tensor  # (n, 2) pixels
    descriptors: Tensor
    there: Tensor  # which of them are keypoints: there are always as many rows, so that nobody has to wait


class OnDevice(Registration):
    """The product's registration, with rendering, keypoints and matches on the GPU; geometry on the host."""

    def __init__(self, photo: Tensor, camera: Camera, ground: Ground) -> None:
        nothing = np.zeros((1, 1, 3), np.uint8)
        super().__init__(nothing, camera, texture=ground.texture, detector=None, options=ground.options.match)  # type: ignore[arg-type]
        self.first_matches_ms, self.geometry_ms = 0.0, [0.0]
        self._grey, self._ground = photo.float().mean(2)[None, None], ground

    def _photo(self, width_px: int) -> ImageFeatures:
        if width_px not in self._by_width:
            camera = self._camera.resized(width_px, round(width_px * 0.75))
            small = functional.interpolate(self._grey, (camera.height_px, camera.width_px), mode="area")
            found = self._ground.keypoints(small)
            self._by_width[width_px] = ImageFeatures(camera, found)  # type: ignore[arg-type]
        return self._by_width[width_px]

    def keypoint_count(self) -> int:
        return int(self._photo(FIRST_WIDTH_PX).features.there.sum())  # type: ignore[attr-defined]

    def match_all(self, views: Sequence[View]) -> Iterator[MatchResult]:
        """All at once: the GPU goes on to the next while the host is at the geometry of the one before."""
        began, width_px = time.perf_counter(), FIRST_WIDTH_PX
        rendered = [self._rendered_from(view, self._reach_m(view), width_px) for view in views]
        jobs = [
            self._ground.pool.submit(self._match_result, view, *one)
            for view, one in zip(views, rendered, strict=True)
        ]
        found = [one.result() for one in jobs]
        self.first_matches_ms += 1e3 * (time.perf_counter() - began)
        return iter(found)

    def _match(self, view: View, reach_m: float, width_px: int) -> MatchResult:
        return self._match_result(view, *self._rendered_from(view, reach_m, width_px))

    def _rendered_from(self, view: View, reach_m: float, width_px: int) -> tuple[Camera, Camera, Tensor, Any]:
        """Matches of the photo with the map from a view, on their way to the host."""
        photo = self._photo(self._width_px(view.altitude_m, width_px))
        camera = window_camera(view, photo.camera, reach_m)
        center = np.array([[view.center.east_m], [view.center.north_m]])
        query_view = Views.level(*center, np.array([view.altitude_m]), np.array([view.heading_deg]))
        rendered, _ = self._ground.source.render(query_view, camera, (camera.width_px, camera.height_px))
        ground = self._ground.keypoints(rendered.mean(1, keepdim=True))
        pairs = matched(photo.features, ground)  # type: ignore[arg-type]
        return photo.camera, camera, *arriving(pairs)

    def _match_result(
        self, view: View, photo: Camera, ground: Camera, pairs: Tensor, there: Any
    ) -> MatchResult:
        """The registration, once the matches have arrived."""
        if there is not None:
            there.synchronize()
        kept = pairs[pairs[:, 4] > 0].numpy()
        nothing, row = np.zeros((len(kept), 0), np.float32), np.arange(len(kept))
        pictures = (
            ImageFeatures(photo, Features(kept[:, :2], nothing)),
            ImageFeatures(ground, Features(kept[:, 2:4], nothing)),
        )
        began = time.perf_counter()
        match = match_result(view, *pictures, (row, row), self._options)
        self.geometry_ms.append(1e3 * (time.perf_counter() - began))
        return match


def arriving(pairs: Tensor) -> tuple[Tensor, Any]:
    """A copy on the host that is complete when the event has happened; at once where there is no GPU."""
    if not pairs.is_cuda:
        return pairs, None
    there = torch.empty(pairs.shape, dtype=pairs.dtype, pin_memory=True)
    there.copy_(pairs, non_blocking=True)
    event = torch.cuda.Event()
    event.record()
    return there, event


def matched(photo: Keypoints, ground: Keypoints) -> Tensor:
    """Every point of the photo with its likeliest counterpart, and whether each is the other's."""
    table = photo.descriptors @ ground.descriptors.T
    table = torch.where(photo.there[:, None] & ground.there[None], table, -2.0)
    similarity, forth = table.max(dim=1)
    own = torch.arange(len(table), device=table.device)
    mutual = (table.argmax(dim=0)[forth] == own) & (similarity >= 0.0) & photo.there
    return torch.cat([photo.places, ground.places[forth], mutual[:, None].float()], dim=1)


def keypoints(network: torch.nn.Module, grey: Tensor, options: Any) -> Keypoints:
    """Keypoints and descriptors as ``NetworkDetector`` finds them, found and left on the GPU."""
    rows, columns = grey.shape[-2:]
    padded = functional.pad(grey, (0, -columns % _STEP_PX, 0, -rows % _STEP_PX), mode="replicate")
    output = network(padded).float()
    chance = functional.pixel_shuffle(output[:, _DESCRIPTOR:-1], _CELL)
    peak = (chance >= functional.max_pool2d(chance, 5, 1, 2)) & (chance > KEYPOINT_THRESHOLD)
    inside = torch.zeros_like(peak)
    inside[..., _MARGIN_PX : rows - _MARGIN_PX, _MARGIN_PX : columns - _MARGIN_PX] = True
    height, width = chance.shape[-2:]
    reliable = functional.interpolate(output[:, -1:], size=(height, width), mode="bilinear")
    score = torch.where(peak & inside, chance * reliable, 0.0).flatten()
    best = score.topk(min(options.features.keypoints, score.numel()))
    at = best.indices
    y, x = at // width, at % width
    spots = torch.stack([2.0 * x / (width - 1) - 1, 2.0 * y / (height - 1) - 1], dim=1)[None, None]
    taken = functional.grid_sample(output[:, :_DESCRIPTOR], spots, mode="bicubic", align_corners=False)
    described = functional.normalize(taken[0, :, 0].T, dim=1)
    return Keypoints(torch.stack([x + 0.5, y + 0.5], dim=1), described, best.values > 0)
