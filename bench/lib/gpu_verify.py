"""What one verified fix costs on a GPU: retrieval by the middle, keypoints, matches, the fitted view.

Networks have a random start, so what they find costs what it costs but leads nowhere; what is verified
is a place that is wrong, then the true view as far off as retrieval leaves it.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from bench.lib.gpu_matching import Ground, OnDevice
from bench.lib.gpu_pipeline import Known, Pipeline, Recorded, averages
from nadirfix.altitude.bins import AltitudeBins
from nadirfix.geo.texture import Texture
from nadirfix.geo.views import Views
from nadirfix.image.crop import Canonical, ScaledPhoto, crop_window_px
from nadirfix.options.locate import LocateOptions
from nadirfix.options.voting import VoteOptions
from nadirfix.retrieval.voting import Votes, hypotheses_from, vote_weights
from nadirfix.types import Hypothesis, Point, View
from nadirfix.verify.search import HypothesisStage, verify_hypotheses


def export_xfeat(path: Path) -> None:
    """Write the matcher as TorchScript, its weights inside."""
    from nadirfix.train.xfeat import _pretrained, _single_output

    network = _single_output(_pretrained())
    with torch.no_grad():
        torch.jit.save(torch.jit.trace(network, torch.rand(1, 1, 384, 512)), str(path))


def load_xfeat(file: Path | None, device: torch.device) -> torch.nn.Module:
    if file:
        torch._C._jit_set_profiling_executor(False)  # it would compile anew for each size of picture
        # Its sizes are worked out with constants, which have to stay on the host: asking for one that is on
        # the GPU waits for it, and cannot be recorded.
        return torch.jit.freeze(torch.jit.load(str(file), map_location="cpu").eval().to(device))
    from nadirfix.train.xfeat import _pretrained, _single_output

    return _single_output(_pretrained()).to(device)


def verified_figures(
    pipeline: Pipeline, ground: Texture, photos: Tensor, views: Views, given: argparse.Namespace
) -> dict[str, Any]:
    """Median and 95th percentile of a whole fix, part by part."""
    single = Recorded(pipeline, photos[:1]) if given.cuda else pipeline
    fixer = Fixer(pipeline, single, ground, given)
    times: dict[str, list[float]] = {}
    found, count = 0, min(len(photos), 128 if given.cuda else 2)
    torch.backends.cudnn.benchmark = False  # windows have many sizes, and it would try each one out
    for i in range(count):  # each size of window is recorded when it is first met: not in the figures
        fixer.fix(photos[i], views.take(slice(i, i + 1)))
    for i in range(count):
        parts, right = fixer.fix(photos[i], views.take(slice(i, i + 1)))
        found += right
        for name, ms in parts.items():
            times.setdefault(name, []).append(ms)
    return {
        "photos": count,
        "confirmed": found,
        "median_ms": {name: round(statistics.median(v), 2) for name, v in times.items()},
        "p95_ms": {name: round(float(np.percentile(v, 95)), 2) for name, v in times.items()},
    }


class Fixer:
    """Everything one verified fix needs, in the GPU's memory."""

    def __init__(
        self, pipeline: Pipeline, single: Callable, ground: Texture, given: argparse.Namespace
    ) -> None:
        self.pipeline, self.ground, self.given = pipeline, ground, given
        self.options = LocateOptions()
        network = load_xfeat(given.xfeat, given.device)
        self.ground_features = Ground(ground, network, self.options.verification, given.device)
        self.single = single
        self.camera = pipeline.recipe.camera
        bins = AltitudeBins.from_options(pipeline.recipe.bins)
        self.canonical = Canonical(self.camera, float(bins.centers_m[0]))
        rng = np.random.default_rng(1)
        rows = len(pipeline.known.descriptors)
        west, south, east, north = ground.bounds
        self.east, self.north = rng.uniform(west, east, rows), rng.uniform(south, north, rows)
        self.heading = rng.integers(0, 12, rows) * 30.0

    @torch.no_grad()
    def fix(self, photo: Tensor, views: Views) -> tuple[dict[str, float], bool]:
        """The parts' times, and whether the map confirmed the true view."""
        truth = View(
            Point(float(views.east_m[0]), float(views.north_m[0]), self.ground.epsg),
            float(views.altitude_m[0]),
            float(views.heading_deg[0]),
        )
        wait(self.given)
        marks = [time.perf_counter()]
        self.single(photo[None])[2].cpu()
        marks.append(time.perf_counter())
        registration = OnDevice(photo, self.camera, self.ground_features)
        verdict = verify_hypotheses(
            [HypothesisStage(self.hypotheses_at(truth))], registration, self.options.verification
        )
        marks.append(time.perf_counter())
        self.votes(photo, [0.8 * truth.altitude_m, truth.altitude_m, 1.25 * truth.altitude_m], 3)
        marks.append(time.perf_counter())
        one, matched, whole = (1e3 * (b - a) for a, b in itertools.pairwise(marks))
        right = verdict.confirmed is not None and verdict.confirmed.view.center.distance_m(truth.center) < 10
        return {
            "single crop": one,
            "hypotheses verified against the map": matched,
            "of that, first matches": registration.first_matches_ms,
            "of that, the longest geometry": max(registration.geometry_ms),
            "verified fix": one + matched,
            "votes of the whole frame, three altitudes": whole,
            "verified fix, whole frame": one + matched + whole,
        }, bool(right)

    def hypotheses_at(self, truth: View) -> list[Hypothesis]:
        """A place that is wrong, then the true view as far off as retrieval usually leaves it."""
        near = View(truth.center.moved(15.0, -12.0), truth.altitude_m * 1.05, (truth.heading_deg + 8) % 360)
        far = View(truth.center.moved(-500.0, 300.0), truth.altitude_m, (truth.heading_deg + 77) % 360)
        return [Hypothesis(far, 0.5), Hypothesis(near, 0.4)]

    def votes(self, photo: Tensor, altitudes_m: list[float], per_side: int) -> list[Hypothesis]:
        """Crops at each altitude, described on the GPU, compared with all references there."""
        votes_of_levels = []
        for altitude_m in altitudes_m:
            crops, middles = self.crops(photo, altitude_m, per_side)
            descriptors = functional.normalize(self.pipeline.place(crops).float(), dim=1)
            descriptors = functional.normalize(self.pipeline.whiten(descriptors), dim=1)
            best = nearest(self.pipeline.known, descriptors, VoteOptions().retrieve)
            votes_of_levels.append(self.crop_votes(*best, middles, altitude_m))
        joined = Votes(
            *(np.concatenate([getattr(v, name) for v in votes_of_levels]) for name in Votes.__slots__)
        )
        return hypotheses_from(joined, self.camera, self.ground.epsg, VoteOptions())

    def crops(self, photo: Tensor, altitude_m: float, per_side: int) -> tuple[Tensor, np.ndarray]:
        """The whole photo at the references' scale on the GPU, cut as ``scaled_photo`` cuts."""
        size = self.pipeline.recipe.place_network
        window, _ = crop_window_px(self.camera, self.camera.gsd_m(altitude_m), self.canonical)
        columns = int(self.camera.width_px / window[0] * size.width_px + 1e-9)
        rows = int(self.camera.height_px / window[1] * size.height_px + 1e-9)
        step = window[0] / size.width_px, window[1] / size.height_px
        across = self.banded(self.camera.width_px, columns * step[0], columns)
        down = self.banded(self.camera.height_px, rows * step[1], rows)
        planes = photo.permute(2, 0, 1).to(across.dtype)
        scaled = (down @ planes @ across.T).float()
        # The host's own class says where crops lie; it is given a picture without pixels to cut.
        plan = ScaledPhoto(np.empty((rows, columns, 0), np.float32), step, (size.width_px, size.height_px))
        corners = [(x, y) for y in plan._first_px(1, per_side) for x in plan._first_px(0, per_side)]
        taken = [scaled[:, y : y + size.height_px, x : x + size.width_px] for x, y in corners]
        return torch.stack(taken), plan.crops(per_side)[1]

    def banded(self, frame_px: int, window_px: float, count: int) -> Tensor:
        matrix = torch.from_numpy(averages(frame_px, window_px, count)).to(self.given.device)
        return matrix.half() if self.given.cuda else matrix

    def crop_votes(
        self, rows: np.ndarray, similarity: np.ndarray, middles: np.ndarray, altitude_m: float
    ) -> Votes:
        flat, count = rows.ravel(), rows.shape[1]
        right, ahead = np.repeat(middles, count, axis=0).T
        temperature = VoteOptions().temperature
        weight = vote_weights(similarity.astype(np.float64), temperature) / len(rows)
        gsd_m = np.full(flat.size, self.camera.gsd_m(altitude_m))
        where = self.east[flat], self.north[flat], self.heading[flat]
        return Votes(right, ahead, gsd_m, *where, weight.ravel())


def nearest(known: Known, descriptors: Tensor, count: int) -> tuple[np.ndarray, np.ndarray]:
    best = (descriptors.to(known.descriptors.dtype) @ known.descriptors.T).topk(count, dim=1)
    return best.indices.cpu().numpy(), best.values.float().cpu().numpy()


def wait(given: argparse.Namespace) -> None:
    if given.cuda:
        torch.cuda.synchronize()
