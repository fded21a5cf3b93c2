"""Embedders to start from: whole ones, encoder and aggregator, shipped with the package or given as a file.

Each file states what its embedder was trained on, and under which licence: those of the tiny recipe from the
procedural world alone, those of the standard recipe from real places as well (docs/model-card.md) (ADR 39).
"""

from __future__ import annotations

import hashlib
import json
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from torch import Tensor

from nadirfix.errors import WeightsError
from nadirfix.files import atomic_file
from nadirfix.runtime.int8 import LARGE
from nadirfix.train.models.embedder import Embedder
from nadirfix.train.models.weights import WeightsRecord

__all__ = ["embedder_metadata", "load_embedder", "save_embedder"]

_SHIPPED = "nadirfix.weights"
#: The largest number half precision holds.
_HALF = 65504.0
#: An int8 tensor has a companion with this ending: the scale of each of its rows.
_FACTOR = ":factor"


def load_embedder(embedder: Embedder, start: str, record: WeightsRecord) -> WeightsRecord:
    """Fill the embedder with weights by name or path; the record says where they came from."""
    if not start:
        return record
    data = _bytes(start)
    tensors, metadata = _parsed(data, start)
    _fill(embedder, tensors, start)
    licence = metadata.get("licence", "not stated")
    return WeightsRecord(source=start, sha256=hashlib.sha256(data).hexdigest(), licence=licence)


def save_embedder(embedder: Embedder, path: Path, metadata: dict[str, str], *, int8: bool = False) -> None:
    """Write an embedder, large weights in half precision or int8, and its metadata."""
    from safetensors.torch import save

    stored: dict[str, Tensor] = {}
    for name, value in _own(embedder).items():
        stored |= _compressed(name, value.cpu(), int8=int8)
    with atomic_file(path) as scratch:
        scratch.write_bytes(save({k: v.contiguous() for k, v in stored.items()}, metadata=metadata))


def embedder_metadata(path: Path) -> dict[str, str]:
    """The metadata in an embedder's file: training data, licence and so on."""
    return dict(_parsed(path.read_bytes(), str(path))[1])


def _compressed(name: str, value: Tensor, *, int8: bool) -> dict[str, Tensor]:
    """A tensor as it is stored: half precision, or int8 with a scale for each row.

    Small ones stay as they are: a variance can be larger than half precision holds, and they cost nothing.
    """
    if not value.is_floating_point() or value.numel() < LARGE:
        return {name: value}
    if not (int8 and value.dim() > 1):
        return {name: value.half() if float(value.abs().max()) < _HALF else value}
    rows = value.float().flatten(1)
    factor = rows.abs().amax(dim=1).clamp(min=1e-12) / 127
    whole = (rows / factor[:, None]).round().char().reshape(value.shape)
    return {name: whole, name + _FACTOR: factor}


def _decompressed(stored: dict[str, Tensor]) -> dict[str, Tensor]:
    """Tensors in the precision they are trained in."""
    wide = {name: value for name, value in stored.items() if not name.endswith(_FACTOR)}
    for name, value in stored.items():
        if name.endswith(_FACTOR):
            whole = wide[name.removesuffix(_FACTOR)].float()
            factor = value.reshape(-1, *[1] * (whole.dim() - 1))
            wide[name.removesuffix(_FACTOR)] = whole * factor
    return wide


def _own(embedder: Embedder) -> dict[str, Tensor]:
    """What was learned: the normalisation follows from the options."""
    return {k: v for k, v in embedder.state_dict().items() if k not in {"mean", "scale"}}


def _bytes(start: str) -> bytes:
    if start.endswith((".safetensors", ".onnx")):
        path = Path(start).expanduser()
        if not path.is_file():
            raise _missing(start, "there is no such file")
        if start.endswith(".onnx"):
            raise _only_runs(start)
        return path.read_bytes()
    resource = files(_SHIPPED) / f"{start}.safetensors"
    if not resource.is_file():
        raise _missing(start, "the package ships no such embedder")
    with as_file(resource) as path:
        return path.read_bytes()


def _parsed(data: bytes, start: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        tensors = _decompressed(load(data))
    except (SafetensorError, KeyError) as error:
        raise _misfit(start, str(error)) from error
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return tensors, header.get("__metadata__", {})


def _fill(embedder: Embedder, tensors: dict[str, Tensor], start: str) -> None:
    wanted = _own(embedder)
    wrong = [
        k
        for k in {*wanted, *tensors}
        if k not in wanted or k not in tensors or wanted[k].shape != tensors[k].shape
    ]
    if wrong:
        raise _misfit(start, f"{len(wrong)} of {len(wanted)} tensors, such as {min(wrong)}")
    endless = [name for name, value in tensors.items() if not bool(value.isfinite().all())]
    if endless:
        raise _misfit(start, f"values that are no numbers in {len(endless)} tensors, such as {min(endless)}")
    embedder.load_state_dict({k: v.to(wanted[k].dtype) for k, v in tensors.items()}, strict=False)


def _missing(start: str, seen: str) -> WeightsError:
    return WeightsError(
        "weights.missing",
        "the embedder to start from is not here",
        seen=f"{start}: {seen}",
        do='give the path of a .safetensors file, a shipped name, or start = "" to do without; an .onnx file '
        "serves only where nothing is trained",
    )


def _only_runs(start: str) -> WeightsError:
    """An ONNX file that was not taken as it is: for training, or because it is of another network."""
    return WeightsError(
        "weights.mismatch",
        "a network that is ready to run is nothing to train from, and this one is not the recipe's",
        seen=start,
        do="build without --train with the very settings it was made with, or start from a .safetensors file",
    )


def _misfit(start: str, seen: str) -> WeightsError:
    return WeightsError(
        "weights.mismatch",
        "the embedder to start from does not fit the recipe's network",
        seen=f"{start}: {seen}",
        do="use the encoder, input size and aggregator it was trained with, or another start",
    )
