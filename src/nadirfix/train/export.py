"""A trained network as one ONNX file: the same network always becomes the same bytes."""

from __future__ import annotations

import copy
import logging
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from nadirfix.files import atomic_file

if TYPE_CHECKING:
    import onnx

__all__ = ["export_network"]

#: How many example pictures the exporter gets; one would be taken for "always one".
_EXAMPLES = 2
_EXPORTER_LOG = "torch.onnx._internal.exporter._registration"


def export_network(
    module: nn.Module, path: Path, *, input_shape: tuple[int, ...], side_step_px: int | None = None
) -> None:
    """Write a network so that it runs without torch, for any number of pictures at a time.

    ``input_shape`` is one picture's: channels, rows, columns. With ``side_step_px`` rows and columns are
    free, in multiples of it. The module itself is left as it is.
    """
    still = copy.deepcopy(module).cpu().float().eval()
    model = _traced(still, torch.zeros(_EXAMPLES, *input_shape), _free(side_step_px))
    _strip(model)
    with atomic_file(path) as scratch:
        scratch.write_bytes(model.SerializeToString(deterministic=True))


def _free(side_step_px: int | None) -> dict[int, Any]:
    """Which sizes of the input may change: how many pictures, and with a step their rows and columns."""
    free: dict[int, Any] = {0: torch.export.Dim("batch", min=1, max=2**20)}
    if side_step_px is not None:
        free[2] = side_step_px * torch.export.Dim("rows", min=1, max=2**10)
        free[3] = side_step_px * torch.export.Dim("columns", min=1, max=2**10)
    return free


def _traced(module: nn.Module, examples: torch.Tensor, free: dict[int, Any]) -> onnx.ModelProto:
    with torch.no_grad(), _quiet_exporter():
        program = torch.onnx.export(
            module,
            (examples,),
            input_names=["inputs"],
            output_names=["outputs"],
            dynamic_shapes=[free],
            dynamo=True,
            verbose=False,
        )
    if program is None:
        raise RuntimeError("the exporter gave no program")
    return program.model_proto


@contextmanager
def _quiet_exporter() -> Iterator[None]:
    """Hides the exporter's remarks about libraries we do not use."""
    log = logging.getLogger(_EXPORTER_LOG)
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            yield
    finally:
        log.setLevel(level)


def _strip(model: onnx.ModelProto) -> None:
    """Take out what the exporter notes about itself: stack traces with file paths, shapes it can infer."""
    graph = model.graph
    del graph.value_info[:]
    _clear_notes(model, [graph, *graph.node, *graph.input, *graph.output, *graph.initializer])


def _clear_notes(model: onnx.ModelProto, parts: Iterable[Any]) -> None:
    for part in (model, *parts):
        part.ClearField("doc_string")
        part.ClearField("metadata_props")
