"""A photo held against the map with rendering, points and matches on a GPU; geometry stays on the host."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import torch
from gpu_path import Recorded
from torch import Tensor
from torch.nn import functional

from nadirfix.camera import Camera
from nadirfix.geo.texture import Texture
from nadirfix.geo.views import Views
from nadirfix.options.map import RenderOptions
from nadirfix.options.verify import VerifyOptions
from nadirfix.train.data.device_renderer import DeviceTexture
from nadirfix.types import View
from nadirfix.verify.features import Features
from nadirfix.verify.registration import Comparison, Sighting, _Picture, _sighting, window_camera

_CELL, _STEP_PX, _DESCRIPTION, _MARGIN_PX = 8, 32, 64, 5


class Ground:
    """The map and the network that finds points, in the GPU's memory, and threads for geometry."""

    def __init__(
        self, texture: Texture, network: torch.nn.Module, options: VerifyOptions, device: Any
    ) -> None:
        self.texture, self.network, self.options = texture, network, options
        sampled = RenderOptions(supersample=options.supersample)
        self.source = DeviceTexture(texture, device, options=sampled)
        self.pool, self.movements = ThreadPoolExecutor(2), ThreadPoolExecutor(4)
        self._recorded: dict[torch.Size, Recorded] = {}

    def points(self, grey: Tensor) -> Points:
        """Points of a picture; on a GPU played back from a CUDA graph, of which each size has its own."""
        if not grey.is_cuda:
            return points(self.network, grey, self.options)
        if grey.shape not in self._recorded:
            self._recorded[grey.shape] = Recorded(lambda g: points(self.network, g, self.options), grey)
        return Points(*(part.clone() for part in self._recorded[grey.shape](grey)))


class Points(NamedTuple):
    """Points of a picture and their descriptions, in the GPU's memory."""

    places: Tensor  # (n, 2) pixels
    descriptions: Tensor
    there: Tensor  # which of them are points: there are always as many rows, so that nobody has to wait


class OnDevice(Comparison):
    """The product's comparison with rendering, points and matches on the GPU; geometry stays on the host."""

    def __init__(self, photo: Tensor, camera: Camera, ground: Ground) -> None:
        nothing = np.zeros((1, 1, 3), np.uint8)
        super().__init__(nothing, camera, texture=ground.texture, detector=None, options=ground.options)  # type: ignore[arg-type]
        self.first_looks_ms, self.geometry_ms = 0.0, [0.0]
        self._grey, self._ground = photo.float().mean(2)[None, None], ground

    def _photo(self, width_px: int) -> _Picture:
        if width_px not in self._seen:
            camera = self._camera.resized(width_px, round(width_px * 0.75))
            small = functional.interpolate(self._grey, (camera.height_px, camera.width_px), mode="area")
            found = self._ground.points(small)
            self._seen[width_px] = _Picture(camera, found)  # type: ignore[arg-type]
        return self._seen[width_px]

    def points(self) -> int:
        return int(self._photo(self._options.first_width_px).features.there.sum())  # type: ignore[attr-defined]

    def first_looks(self, views: Sequence[View]) -> Iterator[Sighting]:
        """All at once: the GPU goes on to the next while the host is at the geometry of the one before."""
        began, width_px = time.perf_counter(), self._options.first_width_px
        seen = [self._seen_from(view, self._reach_m(view), width_px) for view in views]
        told = [
            self._ground.pool.submit(self._told, view, *one) for view, one in zip(views, seen, strict=True)
        ]
        found = [one.result() for one in told]
        self.first_looks_ms += 1e3 * (time.perf_counter() - began)
        return iter(found)

    def _look(self, view: View, reach_m: float, width_px: int) -> Sighting:
        return self._told(view, *self._seen_from(view, reach_m, width_px))

    def _seen_from(self, view: View, reach_m: float, width_px: int) -> tuple[Camera, Camera, Tensor, Any]:
        """Matches of the photo with the map from a view, on their way to the host."""
        photo = self._photo(self._width_px(view.altitude_m, width_px))
        camera = window_camera(view, photo.camera, reach_m)
        center = np.array([[view.center.east_m], [view.center.north_m]])
        asked = Views.level(*center, np.array([view.altitude_m]), np.array([view.heading_deg]))
        shown, _ = self._ground.source.render(asked, camera, (camera.width_px, camera.height_px))
        ground = self._ground.points(shown.mean(1, keepdim=True))
        pairs = matched(photo.features, ground, self._options.min_likeness)  # type: ignore[arg-type]
        return photo.camera, camera, *arriving(pairs)

    def _told(self, view: View, photo: Camera, ground: Camera, pairs: Tensor, there: Any) -> Sighting:
        """What the matches say, once they are there."""
        if there is not None:
            there.synchronize()
        kept = pairs[pairs[:, 4] > 0].numpy()
        nothing, row = np.zeros((len(kept), 0), np.float32), np.arange(len(kept))
        pictures = (
            _Picture(photo, Features(kept[:, :2], nothing)),
            _Picture(ground, Features(kept[:, 2:4], nothing)),
        )
        began = time.perf_counter()
        seen = _sighting(view, *pictures, (row, row), self._options, pool=self._ground.movements)
        self.geometry_ms.append(1e3 * (time.perf_counter() - began))
        return seen


def arriving(pairs: Tensor) -> tuple[Tensor, Any]:
    """A copy on the host that is complete when the event has happened; at once where there is no GPU."""
    if not pairs.is_cuda:
        return pairs, None
    there = torch.empty(pairs.shape, dtype=pairs.dtype, pin_memory=True)
    there.copy_(pairs, non_blocking=True)
    event = torch.cuda.Event()
    event.record()
    return there, event


def matched(photo: Points, ground: Points, min_likeness: float) -> Tensor:
    """Every point of the photo with its likeliest counterpart, and whether each is the other's."""
    table = photo.descriptions @ ground.descriptions.T
    table = torch.where(photo.there[:, None] & ground.there[None], table, -2.0)
    likeness, forth = table.max(dim=1)
    own = torch.arange(len(table), device=table.device)
    mutual = (table.argmax(dim=0)[forth] == own) & (likeness >= min_likeness) & photo.there
    return torch.cat([photo.places, ground.places[forth], mutual[:, None].float()], dim=1)


def points(network: torch.nn.Module, grey: Tensor, options: Any) -> Points:
    """Points and descriptions as ``XFeatDetector`` finds them, found and left on the GPU."""
    rows, columns = grey.shape[-2:]
    padded = functional.pad(grey, (0, -columns % _STEP_PX, 0, -rows % _STEP_PX), mode="replicate")
    told = network(padded).float()
    chance = functional.pixel_shuffle(told[:, _DESCRIPTION:-1], _CELL)
    peak = (chance >= functional.max_pool2d(chance, 5, 1, 2)) & (chance > options.features.xfeat_threshold)
    inside = torch.zeros_like(peak)
    inside[..., _MARGIN_PX : rows - _MARGIN_PX, _MARGIN_PX : columns - _MARGIN_PX] = True
    height, width = chance.shape[-2:]
    reliable = functional.interpolate(told[:, -1:], size=(height, width), mode="bilinear")
    score = torch.where(peak & inside, chance * reliable, 0.0).flatten()
    best = score.topk(min(options.features.points, score.numel()))
    at = best.indices
    y, x = at // width, at % width
    spots = torch.stack([2.0 * x / (width - 1) - 1, 2.0 * y / (height - 1) - 1], dim=1)[None, None]
    taken = functional.grid_sample(told[:, :_DESCRIPTION], spots, mode="bicubic", align_corners=False)
    described = functional.normalize(taken[0, :, 0].T, dim=1)
    return Points(torch.stack([x + 0.5, y + 0.5], dim=1), described, best.values > 0)
