"""Reference views embedded many at a time: a network runs on a mosaic, views are cut from its features.

Neighbouring views show mostly the same ground. Where they lie on whole steps of the network's feature map,
one run on a mosaic that holds many of them is enough: each view's features are a piece of the mosaic's
(ADR 29).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nadirfix.bundle.references import References
from nadirfix.camera import Camera
from nadirfix.files import atomic_file
from nadirfix.geo.angle import along_heading, from_heading
from nadirfix.geo.spans import even_spans
from nadirfix.image.crop import Canonical
from nadirfix.options.recipe import NetworkOptions
from nadirfix.runtime.network import Floats, Network
from nadirfix.types import Point, View

if TYPE_CHECKING:
    import onnx

__all__ = ["Mosaic", "mosaic_camera", "mosaics_fit", "plan_mosaics", "pool_views", "write_feature_network"]

Ints = NDArray[np.int64]

#: Centres of views on one mosaic lie at most so many views apart: larger ones waste less, need more memory.
_VIEWS_ACROSS = 5
#: Steps of real ground around a mosaic's views, so that none is cut near an edge of the picture.
_MARGIN = 2


@dataclass(frozen=True, slots=True, eq=False)
class Mosaic:
    """A piece of ground rendered in one go: its middle, its size in steps, and where on it views lie."""

    view: View
    columns: int
    rows: int
    members: Ints  # rows of the references
    left: Ints  # first column and row of each member's features
    top: Ints


def mosaics_fit(network: NetworkOptions, steps: int) -> bool:
    """Whether views can be cut from mosaics: the network pools in a way we know, steps are whole pixels."""
    whole = steps > 0 and network.width_px % steps == 0 and network.height_px % steps == 0
    return whole and network.aggregator == "gem"


def plan_mosaics(
    references: References, canonical: Canonical, steps: int, *, origin_m: tuple[float, float]
) -> list[Mosaic]:
    """Mosaics that hold every view, one heading at a time, in strips, each no larger than it must be."""
    across_m, along_m = (side_m / steps for side_m in canonical.footprint_m)
    mosaics = []
    for heading_deg in np.unique(references.heading_deg):
        members = np.flatnonzero(references.heading_deg == heading_deg)
        right_m, ahead_m = along_heading(
            references.east_m[members] - origin_m[0], references.north_m[members] - origin_m[1], heading_deg
        )
        u, v = np.rint(right_m / across_m).astype(int), np.rint(ahead_m / along_m).astype(int)
        for some in _pieces(u, v, _VIEWS_ACROSS * steps):
            lattice = _Lattice(
                heading_deg, (across_m, along_m), origin_m, canonical.altitude_m, references.epsg
            )
            mosaics.append(lattice.mosaic(members[some], u[some], v[some], steps))
    return mosaics


@dataclass(frozen=True, slots=True)
class _Lattice:
    """Where steps lie on the ground: their size, counted from the origin along a heading."""

    heading_deg: float
    step_m: tuple[float, float]
    origin_m: tuple[float, float]
    altitude_m: float
    epsg: int

    def mosaic(self, members: Ints, u: Ints, v: Ints, steps: int) -> Mosaic:
        """The smallest mosaic that shows these views with a margin."""
        columns, rows = (int(np.ptp(w)) + steps + 2 * _MARGIN for w in (u, v))
        right_m = (u.min() + u.max()) / 2 * self.step_m[0]
        ahead_m = (v.min() + v.max()) / 2 * self.step_m[1]
        east_m, north_m = from_heading(right_m, ahead_m, self.heading_deg)
        middle = Point(self.origin_m[0] + float(east_m), self.origin_m[1] + float(north_m), self.epsg)
        view = View(middle, self.altitude_m, float(self.heading_deg))
        return Mosaic(view, columns, rows, members, u - u.min() + _MARGIN, v.max() - v + _MARGIN)


def _pieces(u: Ints, v: Ints, limit: int) -> Iterator[Ints]:
    """The views in groups that lie within the limit of each other both ways: strips, and pieces of strips."""
    for strip in _cut_evenly(v, limit):
        for piece in _cut_evenly(u[strip], limit):
            yield strip[piece]


def _cut_evenly(values: Ints, limit: int) -> Iterator[Ints]:
    """Positions of the values, in groups of equal width, none wider than the limit."""
    low, span = int(values.min()), int(np.ptp(values)) + 1
    count = -(-span // limit)
    number = (values - low) * count // span
    for i in range(count):
        if (some := np.flatnonzero(number == i)).size:
            yield some


def mosaic_camera(mosaic: Mosaic, canonical: Canonical, steps: int, step_px: tuple[int, int]) -> Camera:
    """The camera that renders a mosaic with so many pixels to a step."""
    across_px, along_px = step_px
    fx_px = canonical.camera.fx_px * steps * across_px / canonical.camera.width_px
    fy_px = canonical.camera.fy_px * steps * along_px / canonical.camera.height_px
    return Camera(mosaic.columns * across_px, mosaic.rows * along_px, fx_px, fy_px)


def pool_views(
    network: Network, picture: Floats, mosaic: Mosaic, steps: int, options: NetworkOptions
) -> Floats:
    """The raw embedding of every view on a mosaic, pooled from one run of the network on it."""
    features = network.run(picture[None])[0]
    if features.shape[1:] != (mosaic.rows, mosaic.columns):
        raise ValueError(f"{features.shape[1:]} features of {mosaic.rows} × {mosaic.columns} steps")
    raised = np.ascontiguousarray(np.moveaxis(features, 0, -1))
    spans = even_spans(steps, options.gem_parts)
    parts = [(rows, columns) for rows in spans for columns in spans]
    views = (raised[y : y + steps, x : x + steps] for y, x in zip(mosaic.top, mosaic.left, strict=True))
    pooled = [[view[part].mean(axis=(0, 1)) for part in parts] for view in views]
    flat = np.asarray(pooled, np.float32).reshape(len(mosaic.members), -1)
    return np.asarray(flat ** np.float32(1 / options.gem_power), np.float32)


def write_feature_network(source: Path, target: Path) -> bool:
    """Write the part of a network before it pools, for pictures of any size; False if there is none."""
    import onnx

    model = onnx.load(source)
    graph = model.graph
    powers = [node.output[0] for node in graph.node if node.op_type == "Pow"]
    if len(powers) != 2:  # to the power, and back
        return False
    output = powers[0]
    kept = _leading_to(graph, output)
    del graph.node[:], graph.output[:], graph.value_info[:]
    graph.node.extend(kept)
    used = {name for node in kept for name in node.input}
    weights = [one for one in graph.initializer if one.name in used]
    del graph.initializer[:]
    graph.initializer.extend(weights)
    sides = ["batch", "channels", "rows", "columns"]
    graph.output.append(onnx.helper.make_tensor_value_info(output, onnx.TensorProto.FLOAT, sides))
    for side, name in zip(graph.input[0].type.tensor_type.shape.dim[2:], sides[2:], strict=True):
        side.dim_param = name
    with atomic_file(target) as scratch:
        scratch.write_bytes(model.SerializeToString(deterministic=True))
    return True


def _leading_to(graph: onnx.GraphProto, name: str) -> list[onnx.NodeProto]:
    """The nodes a result depends on, in their order."""
    needed, kept = {name}, []
    for node in reversed(graph.node):
        if needed & set(node.output):
            needed |= set(node.input)
            kept.append(node)
    return kept[::-1]
