"""Networks of a bundle, looked into before a library opens them, and held to their outputs when they run.

A network is a list of operators on arrays. Those that need no file, no loop and no code of their own are
allowed, whatever the network; sizes are inferred without weights and without computing anything (ADR 54).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nadirfix.bundle.layout import MANIFEST, Manifest, damaged
from nadirfix.bundle.protobuf import Fields, Tensor, encoded, fields, tensor
from nadirfix.errors import NadirfixError
from nadirfix.runtime import Backend, NetworkFiles, load_backend, load_fastest
from nadirfix.runtime.network import Floats, Network
from nadirfix.runtime.onnx import inferred_shapes

__all__ = [
    "OPERATORS",
    "CheckedNetwork",
    "check_network",
    "open_in_float32",
    "open_network",
    "similarity_tolerance",
]

#: Of the standard domain: arrays in, arrays out.
OPERATORS = frozenset(
    re.findall(
        r"\w+",
        """
        Abs Add And ArgMax ArgMin AveragePool BatchNormalization Cast Ceil Clip Concat Constant
        ConstantOfShape Conv ConvTranspose Cos CumSum DepthToSpace DequantizeLinear Div
        DynamicQuantizeLinear Einsum Elu Equal Erf Exp Expand Flatten Floor Gather GatherElements GatherND
        Gelu Gemm GlobalAveragePool GlobalMaxPool Greater GreaterOrEqual GridSample GroupNormalization
        HardSigmoid HardSwish Identity InstanceNormalization LayerNormalization LeakyRelu Less LessOrEqual
        Log LogSoftmax LpNormalization MatMul MatMulInteger Max MaxPool Mean Min Mish Mod Mul Neg Not Or
        PRelu Pad Pow QLinearConv QLinearMatMul QuantizeLinear RMSNormalization Range Reciprocal ReduceL1
        ReduceL2 ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu
        Reshape Resize Round ScatterElements ScatterND Selu Shape Sigmoid Sign Sin Size Slice Softmax
        Softplus SpaceToDepth Split Sqrt Squeeze Sub Sum Swish Tanh Tile TopK Transpose Trilu Unsqueeze
        Where
        """,
    )
)

#: Of a descriptor's rounding error, so much remains in the difference of two cosine similarities: measured.
_ERROR_SHARE = 0.05
#: Numbers of an output; classes and projections multiply them by others.
_LARGEST_OUTPUT = 1e12
#: Bytes of the largest network that is opened; ours have 5 to 60 million.
_MOST_BYTES = 2**29
#: More nodes than any network has that a photo should wait for.
_MOST_NODES = 20_000
#: Numbers in one array inside a network, for one photo: a quarter of a gigabyte in single precision.
_MOST_NUMBERS = 2**26
#: Arrays up to this many bytes may say how others are shaped, and are kept when shapes are inferred.
_SMALL_BYTES = 4096
#: ONNX's numbers for floating-point types that have no numbers beyond all bounds.
_FLOATS = {1: "<f4", 10: "<f2", 11: "<f8"}


@dataclass(frozen=True, slots=True)
class _Graph:
    """What of a network matters here: its nodes, its stored arrays, and the file's pieces they came from."""

    whole: Fields
    graph: Fields
    nodes: list[Fields]
    tensors: list[Tensor]


def check_network(path: Path) -> None:
    """Raise ``ValueError`` where a file is no network of known operators, or needs too much memory."""
    if path.stat().st_size > _MOST_BYTES:
        raise ValueError(f"it is {path.stat().st_size} bytes long")
    skeleton, constants = _inspected(memoryview(path.read_bytes()))
    _check_sizes(inferred_shapes(skeleton), constants)


def _inspected(view: memoryview) -> tuple[bytes, set[str]]:
    network = _parsed(view)
    for node in network.nodes:
        _check_node(node)
    if not all(map(_is_finite, network.tensors)):
        raise ValueError("it holds weights that are not numbers")
    return _skeleton(network), _constants(network)


def _parsed(view: memoryview) -> _Graph:
    whole = fields(view)
    graphs = whole.pieces.get(7, [])
    if len(graphs) != 1 or 20 in whole.pieces or 25 in whole.pieces:
        raise ValueError("it is not one graph and nothing else")
    graph = fields(graphs[0])
    nodes = [fields(one) for one in graph.pieces.get(1, ())]
    if not 0 < len(nodes) <= _MOST_NODES or 15 in graph.pieces:
        raise ValueError(f"it has {len(nodes)} nodes, or sparse arrays")
    return _Graph(whole, graph, nodes, [tensor(one) for one in graph.pieces.get(5, ())])


def _check_node(node: Fields) -> None:
    operator, domain = node.text(4), node.text(7)
    if domain not in ("", "ai.onnx") or operator not in OPERATORS:
        raise ValueError(f"it has an operator {domain[:40]!a} {operator[:40]!a}")
    for attribute in map(fields, node.pieces.get(5, ())):
        if set(attribute.pieces) & {6, 11, 14, 15, 21, 22, 23}:
            raise ValueError(f"an operator {operator!a} has a graph of its own")
        for one in (*attribute.pieces.get(5, ()), *attribute.pieces.get(10, ())):
            if not _is_finite(tensor(one)):
                raise ValueError("it holds constants that are not numbers")


def _is_finite(one: Tensor) -> bool:
    kind = _FLOATS.get(one.data_type)
    if kind is None or one.raw is None or len(one.raw) <= _SMALL_BYTES:
        return True  # a limit may be infinite: what comes out is looked at, too
    return bool(np.isfinite(np.frombuffer(one.raw, kind)).all())


def _constants(network: _Graph) -> set[str]:
    """Arrays that depend on no photo: a library computes them when it opens the network."""
    known = {one.name for one in network.tensors}
    for node in network.nodes:
        used = [name for name in node.texts(1) if name]
        if set(used) <= known:
            known.update(node.texts(2))
    return known - {one.name for one in network.tensors}


def _skeleton(network: _Graph) -> bytes:
    """The network without its weights, every array inside it an output: sizes can be read off it.

    What it says of their sizes itself is left out.
    """
    whole, graph = network.whole, network.graph
    pieces = [encoded(number, bytes(one)) for number in (1, 11) for one in graph.pieces.get(number, ())]
    pieces.append(encoded(2, b"sizes"))
    for message, one in zip(graph.pieces.get(5, ()), network.tensors, strict=True):
        small = one.stored_bytes <= _SMALL_BYTES
        pieces.append(encoded(5, bytes(message)) if small else encoded(11, _value_info(one)))
    inside = dict.fromkeys(name for node in network.nodes for name in node.texts(2) if name)
    pieces += [encoded(12, encoded(1, name.encode())) for name in inside]
    head = [encoded(1, whole.numbers.get(1, [8])[-1])]
    head += [encoded(8, bytes(one)) for one in whole.pieces.get(8, ())]
    return b"".join([*head, encoded(7, b"".join(pieces))])


def _value_info(one: Tensor) -> bytes:
    """The name, type and shape of an array, as an input has them."""
    sides = b"".join(encoded(1, encoded(1, side)) for side in one.dims)
    kind = encoded(1, encoded(1, one.data_type) + encoded(2, sides))
    return encoded(1, one.name.encode()) + encoded(2, kind)


def _check_sizes(shapes: dict[str, tuple[int | str | None, ...]], constants: set[str]) -> None:
    """No array is huge for one photo; where sides are free, memory is bounded when it runs."""
    for name, shape in shapes.items():
        sides = [side for side in shape if isinstance(side, int)]
        if math.prod(sides) > _MOST_NUMBERS:
            raise ValueError(f"its array {name[:60]!a} would have {math.prod(sides)} numbers")
        if name in constants and len(sides) < len(shape):
            raise ValueError(f"nobody knows how large its constant {name[:60]!a} is")


def open_network(
    files: NetworkFiles, sides: tuple[int, ...], *, threads: int, expected_runs: int | None
) -> Network:
    """A network as it is fastest here, held to the sides of what it gives."""
    network = load_fastest(files, threads=threads, expected_runs=expected_runs, bounded=True)
    return CheckedNetwork(network, files.float32, sides)


def open_in_float32(files: NetworkFiles, sides: tuple[int, ...], *, threads: int) -> Network:
    """The same in single precision, whatever it usually runs in."""
    network = load_backend(files, Backend(), threads=threads, bounded=True)
    return CheckedNetwork(network, files.float32, sides)


def similarity_tolerance(manifest: Manifest, folder: Path) -> float:
    """How far cosine similarities must differ for the place network in int8 to rank them as it would be."""
    measured = (manifest["networks"]["place"].get("eight_bits") or {}).get("likeness")
    if measured is None:
        raise damaged(folder, f"{MANIFEST} does not say how similar both place networks are")
    return _ERROR_SHARE * math.sqrt(max(0.0, 2 - 2 * float(measured)))


class CheckedNetwork:
    """A network of a bundle that does what the bundle says; if it does not, the bundle is damaged.

    Its output has these sides for each input; one below zero is a share of the input's own side there.
    """

    def __init__(self, network: Network, path: Path, sides: tuple[int, ...]) -> None:
        self.network, self._path, self._sides = network, path, sides

    def run(self, inputs: Floats) -> Floats:
        """The network's output for each input of a batch, one row each."""
        try:
            outputs = self.network.run(inputs)
        except (NadirfixError, MemoryError):
            raise
        except Exception as error:  # libraries have a dozen of their own
            raise self._damaged(str(error).partition("\n")[0][:200]) from error
        pairs = zip(self._sides, inputs.shape[1:], strict=False)
        expected = (len(inputs), *(side if side > 0 else given // -side for side, given in pairs))
        if outputs.shape != expected:
            raise self._damaged(f"its output is {outputs.shape}, not {expected}")
        if not np.abs(outputs).max(initial=0.0) <= _LARGEST_OUTPUT:
            raise self._damaged("its output is not finite, or beyond all bounds")
        return outputs

    def _damaged(self, why: str) -> NadirfixError:
        return damaged(self._path.parent, f"{self._path.name} cannot be run ({why})")
