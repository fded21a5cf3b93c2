"""Other people's checkpoints: read safely, their names mapped to ours, a wrong file refused (ADR 58)."""

from __future__ import annotations

import pickle
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from nadirfix.errors import WeightsError

__all__ = ["NameTable", "fill", "official_tensors", "renamed"]

#: Patterns of official names and what they are called here, tried in order.
NameTable = Sequence[tuple[str, str]]

#: What a training program wraps its weights in, and what it puts before every name.
_WRAPPERS = ("state_dict", "model_state_dict", "model")
_PARALLEL = "module."
#: Counters of batches are no weights.
_NO_WEIGHTS = ("num_batches_tracked",)
_NAMED = 3


def official_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a checkpoint by their official names; nothing in the file is ever run."""
    stored = _safetensors(path) if path.suffix == ".safetensors" else _pickled(path)
    for wrapper in _WRAPPERS:
        inner = stored.get(wrapper)
        if isinstance(inner, Mapping):
            stored = dict(inner)
            break
    strange = [str(name) for name, value in stored.items() if not isinstance(value, Tensor)]
    if strange or not stored:
        raise _refused(path, f"{', '.join(strange[:_NAMED]) or 'nothing'} where only tensors should be")
    return {str(name).replace(_PARALLEL, ""): value for name, value in stored.items()}


def renamed(tensors: Mapping[str, Tensor], table: NameTable) -> dict[str, Tensor]:
    """The tensors by our names; one that no line of the table names keeps its own."""
    return {_renamed(name, table): value for name, value in tensors.items()}


def fill(
    network: nn.Module, path: Path, tensors: Mapping[str, Tensor], table: NameTable, *, unused: str = ""
) -> None:
    """Put a checkpoint into a network: each of its weights must be there, and fit, and nothing else.

    Names that match ``unused`` are left out knowingly.
    """
    kept = {n: t for n, t in tensors.items() if not (unused and re.fullmatch(unused, n))}
    named = {n: t for n, t in renamed(kept, table).items() if not n.endswith(_NO_WEIGHTS)}
    wanted = {n: t for n, t in network.state_dict().items() if not n.endswith(_NO_WEIGHTS)}
    _check(path, named, wanted, {_renamed(name, table): name for name in kept})
    endless = sorted(name for name, value in named.items() if not bool(value.float().isfinite().all()))
    if endless:
        raise _refused(path, f"values that are no numbers in {', '.join(endless[:_NAMED])}")
    network.load_state_dict({n: t.to(wanted[n].dtype) for n, t in named.items()}, strict=False)


def _check(
    path: Path, named: Mapping[str, Tensor], wanted: Mapping[str, Tensor], official: Mapping[str, str]
) -> None:
    """The first names that differ, in the checkpoint's own words where it has some."""
    missing = [f"no {name}" for name in wanted if name not in named]
    surplus = [f"unknown {official[name]}" for name in named if name not in wanted]
    misfit = [
        f"{official[name]} is {_shape(named[name])} and not {_shape(wanted[name])}"
        for name in wanted
        if name in named and named[name].shape != wanted[name].shape
    ]
    if missing or surplus or misfit:
        first = [*misfit[:_NAMED], *missing[:_NAMED], *surplus[:_NAMED]]
        counts = f"{len(missing)} missing, {len(surplus)} unknown, {len(misfit)} of another shape"
        raise _refused(path, f"{counts}: {'; '.join(first)}")


def _renamed(name: str, table: NameTable) -> str:
    for pattern, ours in table:
        found = re.fullmatch(pattern, name)
        if found:
            return found.expand(ours)
    return name


def _shape(value: Tensor) -> str:
    return "×".join(map(str, value.shape)) or "a number"


def _safetensors(path: Path) -> dict[str, Any]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return dict(load_file(path))
    except (OSError, SafetensorError) as error:
        raise _refused(path, str(error)) from error


def _pickled(path: Path) -> dict[str, Any]:
    """A file of torch, of which only tensors and plain values are read."""
    import torch

    try:
        stored = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, EOFError, ValueError, pickle.UnpicklingError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise _refused(path, f"it cannot be read without running what is in it ({reason})") from error
    if not isinstance(stored, Mapping):
        raise _refused(path, f"a {type(stored).__name__} and no table of weights")
    return dict(stored)


def _refused(path: Path, seen: str) -> WeightsError:
    return WeightsError(
        "weights.mismatch",
        "the checkpoint does not fit the method's network",
        seen=f"{path.name}: {seen}",
        do="give the file the table of docs/compare.md names, or its weights alone as .safetensors",
    )
