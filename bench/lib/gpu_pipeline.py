"""The published path for whole batches on one GPU: photos in its memory go in, ranked references come out.

Everything between is products of matrices and two networks: nothing waits for the host, so that one batch can
be recorded as a CUDA graph and played back.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from nadirfix.altitude.bins import AltitudeBins, canonical_altitude_m
from nadirfix.geo.grid import ClassOrder, Grid
from nadirfix.image.crop import Canonical, crop_window_px
from nadirfix.options.recipe import Recipe
from nadirfix.train.data.spectrum import log_spectrum
from nadirfix.train.models.altitude import build_altitude_network
from nadirfix.train.models.embedder import Embedder
from nadirfix.train.models.place import build_place_network

HEADINGS = 12
CELLS, RETRIEVE = 3, 10


@dataclass(frozen=True, eq=False)
class Known:
    """What a map is to this path: prototypes of cells, descriptors of references, and which are whose."""

    prototypes: Tensor  # (cells, dimensions), unit, group after group
    sizes: tuple[int, ...]  # cells per group
    descriptors: Tensor  # (references, dimensions), unit, sorted by cell
    first: Tensor  # (cells,) row of each cell's first reference
    count: int  # references per cell

    @classmethod
    def made(cls, references: int, dimensions: int, device: torch.device) -> Known:
        """So many references in random directions; what they hold does not change how long a search takes."""
        torch.manual_seed(0)
        count = 3 * HEADINGS  # a stride of 60 m puts close to three places into a cell of 100 m
        cells = references // count
        unit = nn.functional.normalize
        prototypes = unit(torch.randn(cells, dimensions, device=device), dim=1)
        descriptors = unit(torch.randn(cells * count, dimensions, device=device), dim=1)
        sizes = tuple(len(part) for part in np.array_split(np.arange(cells), 4))
        first = torch.arange(cells, device=device) * count
        return cls(prototypes.bfloat16(), sizes, descriptors.bfloat16(), first, count)

    def likeliest(self, embedding: Tensor) -> Tensor:
        """The three cells with the best odds, each within its own group."""
        scores = 100 * (embedding.to(self.prototypes.dtype) @ self.prototypes.T).float()
        odds = []
        for group in scores.split(self.sizes, dim=1):
            share = (group - group.logsumexp(dim=1, keepdim=True)).clamp(max=-1e-6)
            odds.append(share - torch.log(-torch.expm1(share)))
        return torch.cat(odds, dim=1).topk(CELLS, dim=1).indices

    def search(self, embedding: Tensor, cells: Tensor) -> tuple[Tensor, Tensor]:
        """The nearest references of these cells and their cosines, the nearest first."""
        rows = self.first[cells][..., None] + torch.arange(self.count, device=cells.device)
        rows = rows.flatten(1)
        similarity = torch.bmm(self.descriptors[rows], embedding.to(self.descriptors.dtype)[..., None])[
            ..., 0
        ]
        best = similarity.float().topk(RETRIEVE, dim=1)
        return rows.gather(1, best.indices), best.values

    def search_all(self, embedding: Tensor) -> tuple[Tensor, Tensor]:
        """The nearest of all references."""
        best = (embedding.to(self.descriptors.dtype) @ self.descriptors.T).topk(RETRIEVE, dim=1)
        return best.indices, best.values


@dataclass(frozen=True, eq=False)
class Networks:
    """Both networks of a recipe with a random start whose statistics were taken from pictures."""

    altitude: nn.Module
    place: nn.Module
    place_dimensions: int

    @classmethod
    def made(cls, recipe: Recipe, device: torch.device) -> Networks:
        bins, order = AltitudeBins.from_options(recipe.bins), _any_order(recipe)
        altitude, _ = build_altitude_network(recipe.altitude_network, bins, seed=0)
        place, _ = build_place_network(recipe.place_network, recipe.head, order, seed=0)
        embedder = place.embedder
        return cls(altitude.to(device).eval(), embedder.to(device).eval(), embedder.dimensions)

    def fast(self, dtype: torch.dtype) -> Networks:
        """Normalisations folded into convolutions, channels last, in this precision."""
        both = (in_precision(folded(copy.deepcopy(n)), dtype) for n in (self.altitude, self.place))
        return Networks(*both, self.place_dimensions)


def _any_order(recipe: Recipe) -> ClassOrder:
    grid = Grid.from_options(recipe.grid, anchor_m=(0.0, 0.0))
    return ClassOrder.from_cells(grid, [(0, 0), (0, 1), (1, 0), (1, 1)])


class Reducer(nn.Module):
    """The middle of photos at a network's size: the mean of the ground under each new pixel, exactly.

    Averaging along an axis is a product with a banded matrix; there is one for each window, and each photo of
    a batch takes its own.
    """

    def __init__(
        self, frame_px: tuple[int, int], windows_px: list[tuple[float, float]], size_px: tuple[int, int]
    ) -> None:
        super().__init__()
        across = [averages(frame_px[0], window[0], size_px[0]) for window in windows_px]
        down = [averages(frame_px[1], window[1], size_px[1]) for window in windows_px]
        self.register_buffer("across", torch.from_numpy(np.stack(across)))
        self.register_buffer("down", torch.from_numpy(np.stack(down)))

    def forward(self, photos: Tensor, which: Tensor, dtype: torch.dtype) -> Tensor:
        """Photos (batch, rows, columns, RGB; bytes) as pictures (batch, RGB, rows, columns; 0-255)."""
        batch, rows, columns, _ = photos.shape
        flat = photos.view(batch, rows, columns * 3).to(dtype)
        lower = torch.bmm(self.down[which].to(dtype), flat)
        planes = lower.view(batch, -1, columns, 3).permute(0, 3, 1, 2).reshape(batch, -1, columns)
        small = torch.bmm(planes, self.across[which].to(dtype).transpose(1, 2))
        return small.view(batch, 3, -1, small.shape[-1]).float()


def averages(frame_px: int, window_px: float, count: int) -> np.ndarray:
    """Each row holds what every old pixel counts for one new pixel of the central window."""
    edges = (frame_px - window_px) / 2 + window_px / count * np.arange(count + 1)
    pixel = np.arange(frame_px)
    overlap = np.minimum(edges[1:, None], pixel + 1) - np.maximum(edges[:-1, None], pixel)
    return (np.clip(overlap, 0, None) / (window_px / count)).astype(np.float32)


class Pipeline(nn.Module):
    """From photos as bytes to altitude class, cells and references."""

    def __init__(self, recipe: Recipe, networks: Networks, known: Known, *, half: bool) -> None:
        super().__init__()
        self.recipe, self.known, self.half = recipe, known, half
        self.altitude, self.place = networks.altitude, networks.place
        self.place_dimensions = networks.place_dimensions
        camera, small, crop = recipe.camera, recipe.altitude_network, recipe.place_network
        frame_px = camera.width_px, camera.height_px
        bins = AltitudeBins.from_options(recipe.bins)
        canonical = Canonical(camera, canonical_altitude_m(recipe.references, bins))
        windows = [crop_window_px(camera, camera.gsd_m(h), canonical)[0] for h in bins.centers_m]
        whole = (float(frame_px[0]), float(frame_px[1]))
        dims = recipe.references.whiten_dims
        self.whiten = nn.Linear(networks.place_dimensions, dims, bias=False) if dims else nn.Identity()
        self.shrink = Reducer(frame_px, [whole], (small.width_px, small.height_px))
        self.cut = Reducer(frame_px, windows, (crop.width_px, crop.height_px))

    def classes(self, photos: Tensor) -> Tensor:
        """Scores of the altitude classes."""
        everyone = torch.zeros(len(photos), dtype=torch.long, device=photos.device)
        # Ten bits of mantissa leave 0.06 grey levels of rounding, as much as eight-bit pixels have anyway.
        frames = self.shrink(photos, everyone, torch.float32)
        return self.altitude(log_spectrum(frames, self.recipe.altitude_network)).float()

    def embed(self, photos: Tensor, which: Tensor) -> Tensor:
        """The descriptor of each photo's middle at the scale of its altitude class."""
        crops = self.cut(photos, which, torch.float16 if self.half else torch.float32)
        unit = nn.functional.normalize(self.place(crops).float(), dim=1)
        return nn.functional.normalize(self.whiten(unit), dim=1)

    def forward(self, photos: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Altitude class, descriptor, references and cosines of each photo."""
        which = self.classes(photos).argmax(1)
        descriptors = self.embed(photos, which)
        rows, similarity = self.known.search(descriptors, self.known.likeliest(descriptors))
        return which, descriptors, rows, similarity


def folded(network: nn.Module) -> nn.Module:
    """The network with each batch normalisation folded into the convolution before it."""
    for parent in network.modules():
        names = [name for name, child in parent.named_children() if not isinstance(child, nn.ZeroPad2d)]
        for before, after in itertools.pairwise(names):
            first, second = getattr(parent, before), getattr(parent, after)
            if isinstance(first, nn.Conv2d) and isinstance(second, nn.BatchNorm2d):
                setattr(parent, before, torch.nn.utils.fusion.fuse_conv_bn_eval(first, second))
                setattr(parent, after, nn.Identity())
    return network


def in_precision(network: nn.Module, dtype: torch.dtype) -> nn.Module:
    """The network in this precision; its input is still normalised in single precision."""
    embedder = network if isinstance(network, Embedder) else network.embedder
    mean, scale = embedder.mean.clone(), embedder.scale.clone()
    network.to(dtype=dtype, memory_format=torch.channels_last)
    embedder.mean, embedder.scale = torch.zeros_like(embedder.mean), torch.ones_like(embedder.scale)
    return Normed(network, mean, scale, dtype)


class Normed(nn.Module):
    """A network behind its own normalisation, done in single precision."""

    def __init__(self, network: nn.Module, mean: Tensor, scale: Tensor, dtype: torch.dtype) -> None:
        super().__init__()
        self.network, self.dtype = network, dtype
        self.register_buffer("mean", mean)
        self.register_buffer("scale", scale)

    def forward(self, pictures: Tensor) -> Tensor:
        normed = ((pictures - self.mean) / self.scale).to(self.dtype, memory_format=torch.channels_last)
        return self.network(normed)


@torch.no_grad()
def settle(pipeline: Pipeline, photos: Tensor, centers: int) -> None:
    """Running statistics of a random start, taken from photos: without them numbers run away with depth."""
    for part in pipeline.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.reset_running_stats()
            part.momentum = None
            part.train()
    pipeline.classes(photos)
    pipeline.embed(photos, torch.arange(len(photos), device=photos.device) % centers)
    pipeline.eval()


class Recorded:
    """A function of photos, recorded once as a CUDA graph and played back."""

    def __init__(self, function: Callable[[Tensor], Any], photos: Tensor) -> None:
        self.photos = photos.clone()
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream), torch.no_grad():
            for _ in range(3):
                function(self.photos)
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph), torch.no_grad():
            self.answer = function(self.photos)

    def __call__(self, photos: Tensor) -> tuple[Tensor, ...]:
        self.photos.copy_(photos, non_blocking=True)
        self.graph.replay()
        return self.answer
