"""Where the blocks of land are and which edges of theirs carry roads.

Blocks are the cells around scattered sites, dense and regular in settlements, wide in the country. Their
shared edges form a graph; main roads are the cheapest ways through it from settlement to settlement and to
the border. All coordinates are metres east and south of the north-west corner.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from nadirfix.world.noise import Noise

__all__ = ["Cluster", "Edge", "Layout", "bent", "make_layout"]

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Cluster:
    """A town or a village."""

    x_m: float
    y_m: float
    radius_m: float
    angle: float
    block_m: tuple[float, float]

    def reach(self, x_m: Array, y_m: Array, noise: Noise) -> Array:
        """How far out a place lies: 0 in the middle, 1 at the ragged outer edge."""
        ragged = 1 + 0.16 * noise.at(x_m, y_m, 220.0, 901)
        away: Array = np.hypot(x_m - self.x_m, y_m - self.y_m) / (self.radius_m * np.clip(ragged, 0.6, 1.5))
        return away


@dataclass(frozen=True)
class Edge:
    """A border between two blocks, from vertex to vertex."""

    start: int
    end: int
    blocks: tuple[int, int]
    main: bool = False


@dataclass(frozen=True, eq=False)
class Layout:
    """Blocks as corner lists, their borders as a graph, and the settlements."""

    sites: Array
    cluster_of: NDArray[np.int64]  # −1 in the country
    vertices: Array
    corners: tuple[tuple[int, ...], ...]
    edges: tuple[Edge, ...]
    clusters: tuple[Cluster, ...]


def make_layout(*, size_m: float, seed: int, noise: Noise) -> Layout:
    """Blocks, borders and settlements of one world."""
    rng = np.random.default_rng([seed, 1])
    clusters = _clusters(size_m, rng)
    sites, cluster_of = _sites(size_m, clusters, rng, noise)
    vertices, corners = _cells(sites, size_m)
    layout = Layout(sites, cluster_of, vertices, corners, _edges(corners), clusters)
    return _straightened(_with_main_roads(layout, size_m, rng))


def bent(points: Array, noise: Noise) -> Array:
    """Straight plans laid over real ground: gentle bends, the same for everything that touches."""
    x, y = points[:, 0], points[:, 1]
    shift_x = 26 * noise.at(x, y, 330.0, 41) + 5 * noise.at(x, y, 90.0, 43)
    shift_y = 26 * noise.at(x, y, 330.0, 42) + 5 * noise.at(x, y, 90.0, 44)
    return np.stack([x + shift_x, y + shift_y], axis=1)


def _clusters(size_m: float, rng: np.random.Generator) -> tuple[Cluster, ...]:
    town_m = float(np.clip(size_m * rng.uniform(0.14, 0.19), 130, 620))
    middle = rng.uniform(0.3, 0.7, 2) * size_m
    block = (rng.uniform(95, 130), rng.uniform(66, 90))
    clusters = [Cluster(middle[0], middle[1], town_m, rng.uniform(0, math.pi / 2), block)]
    wanted = round(size_m**2 / 2.6e6)
    for _ in range(wanted * 6):
        x, y = rng.uniform(0.08, 0.92, 2) * size_m
        apart = all(math.hypot(x - c.x_m, y - c.y_m) > c.radius_m + 420 for c in clusters)
        if apart and len(clusters) <= wanted:
            block = (rng.uniform(110, 150), rng.uniform(80, 105))
            clusters.append(Cluster(x, y, rng.uniform(110, 200), rng.uniform(0, math.pi / 2), block))
    return tuple(clusters)


def _sites(
    size_m: float, clusters: tuple[Cluster, ...], rng: np.random.Generator, noise: Noise
) -> tuple[Array, NDArray[np.int64]]:
    spacing_m = rng.uniform(225, 310)
    country = _jittered((-spacing_m, size_m + spacing_m), spacing_m, 0.55, rng)
    country = country[rng.random(len(country)) < 0.86]  # large blocks beside small ones
    parts, owners = [], []
    for k, cluster in enumerate(clusters):
        away = cluster.reach(country[:, 0], country[:, 1], noise)
        country = country[away > 1 + 0.45 * spacing_m / cluster.radius_m]
        inner = _town_grid(cluster, rng)
        inner = inner[cluster.reach(inner[:, 0], inner[:, 1], noise) < 1]
        parts.append(inner)
        owners.append(np.full(len(inner), k))
    return np.concatenate([*parts, country]), np.concatenate([*owners, np.full(len(country), -1)])


def _jittered(span: tuple[float, float], spacing_m: float, jitter: float, rng: np.random.Generator) -> Array:
    steps = np.arange(span[0], span[1], spacing_m)
    x, y = (a.ravel() for a in np.meshgrid(steps, steps))
    x = x + np.where((y / spacing_m).round() % 2 == 0, 0.0, 0.5 * spacing_m)
    x, y = (a + rng.uniform(-jitter, jitter, a.size) * spacing_m for a in (x, y))
    return np.stack([x, y], axis=1)


def _town_grid(cluster: Cluster, rng: np.random.Generator) -> Array:
    """Nearly rectangular blocks; every other row is shifted, so that streets meet in T-junctions too."""
    across, along = (np.arange(-1.5 * cluster.radius_m, 1.5 * cluster.radius_m, b) for b in cluster.block_m)
    u, v = (a.ravel() for a in np.meshgrid(across, along))
    row = np.round(v / cluster.block_m[1]).astype(int)
    u = u + np.where(row % 3 == 0, 0.35, 0.0) * cluster.block_m[0]
    u, v = (a + rng.uniform(-0.09, 0.09, a.size) * cluster.block_m[1] for a in (u, v))
    c, s = math.cos(cluster.angle), math.sin(cluster.angle)
    return np.stack([cluster.x_m + c * u - s * v, cluster.y_m + s * u + c * v], axis=1)


def _cells(sites: Array, size_m: float) -> tuple[Array, tuple[tuple[int, ...], ...]]:
    reach = int(2 * size_m + 4000)
    plane = cv2.Subdiv2D((-reach, -reach, 3 * reach, 3 * reach))
    for x, y in sites.astype(np.float32):
        plane.insert((float(x), float(y)))
    facets, _ = plane.getVoronoiFacetList([])
    index: dict[tuple[float, float], int] = {}
    corners = []
    for facet in facets:
        ring = [index.setdefault((float(x), float(y)), len(index)) for x, y in facet]
        corners.append(tuple(v for v, before in zip(ring, ring[-1:] + ring[:-1], strict=True) if v != before))
    vertices = np.array(list(index))
    # Cells at the rim run off to infinity; nothing out there is on the map.
    return np.clip(vertices, -900, size_m + 900), tuple(corners)


def _edges(corners: tuple[tuple[int, ...], ...]) -> tuple[Edge, ...]:
    owners: dict[tuple[int, int], list[int]] = {}
    for block, ring in enumerate(corners):
        for a, b in zip(ring, ring[1:] + ring[:1], strict=True):
            owners.setdefault((min(a, b), max(a, b)), []).append(block)
    return tuple(Edge(a, b, (o[0], o[1])) for (a, b), o in owners.items() if len(o) == 2)


def _with_main_roads(layout: Layout, size_m: float, rng: np.random.Generator) -> Layout:
    """Mark the edges that carry the main roads."""
    chosen: set[int] = set()
    starts = [_nearest(layout, c.x_m, c.y_m) for c in layout.clusters]
    turn = rng.uniform(0, 2 * math.pi)
    exits = []
    for k in range(4):
        angle = turn + k * math.pi / 2 + rng.uniform(-0.4, 0.4)
        x, y = (0.5 + 0.75 * f(angle) for f in (math.cos, math.sin))
        exits.append(_nearest(layout, x * size_m, y * size_m))
    for target in starts[1:] + exits:
        chosen.update(_cheapest(layout, starts[0], target, chosen))
    edges = tuple(replace(e, main=i in chosen) for i, e in enumerate(layout.edges))
    return replace(layout, edges=edges)


def _nearest(layout: Layout, x_m: float, y_m: float) -> int:
    return int(np.argmin(np.hypot(layout.vertices[:, 0] - x_m, layout.vertices[:, 1] - y_m)))


def _cheapest(layout: Layout, start: int, end: int, chosen: set[int]) -> list[int]:
    """The edges of the shortest path; edges that already are main roads cost less."""
    adjacent = _neighbours(layout)
    best, queue, came = {start: 0.0}, [(0.0, start)], dict[int, tuple[int, int]]()
    while queue:
        cost, here = heapq.heappop(queue)
        if here == end:
            break
        for edge, there in adjacent.get(here, []):
            length = float(np.hypot(*(layout.vertices[here] - layout.vertices[there])))
            total = cost + length * (0.55 if edge in chosen else 1.0)
            if total < best.get(there, math.inf):
                best[there], came[there] = total, (edge, here)
                heapq.heappush(queue, (total, there))
    path = []
    while end in came and end != start:
        edge, end = came[end]
        path.append(edge)
    return path


def _neighbours(layout: Layout) -> dict[int, list[tuple[int, int]]]:
    adjacent: dict[int, list[tuple[int, int]]] = {}
    for i, e in enumerate(layout.edges):
        adjacent.setdefault(e.start, []).append((i, e.end))
        adjacent.setdefault(e.end, []).append((i, e.start))
    return adjacent


def _straightened(layout: Layout) -> Layout:
    """Pull the corners of main roads straight; the blocks beside them follow."""
    vertices = layout.vertices.copy()
    linked: dict[int, list[int]] = {}
    for e in layout.edges:
        if e.main:
            linked.setdefault(e.start, []).append(e.end)
            linked.setdefault(e.end, []).append(e.start)
    for _ in range(4):
        moved = vertices.copy()
        for v, others in linked.items():
            if len(others) == 2:
                moved[v] = 0.5 * vertices[v] + 0.25 * (vertices[others[0]] + vertices[others[1]])
        vertices = moved
    return replace(layout, vertices=vertices)
