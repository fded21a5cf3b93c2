"""Networks of a run as files."""

from __future__ import annotations

import argparse

import torch
from safetensors.torch import save_file


def keep(given: argparse.Namespace, part: str, network: torch.nn.Module) -> None:
    """A trained network whole, classes or cells included, for what is measured with it elsewhere."""
    halves = {key: narrowed(value) for key, value in network.state_dict().items()}
    save_file(halves, given.out / f"published_{given.name}-{part}.safetensors")


def narrowed(value: torch.Tensor) -> torch.Tensor:
    """Large weights in half precision; small ones as they are: a variance may be too large for half."""
    large = value.is_floating_point() and value.numel() >= 1024 and value.dim() > 1
    return (value.half() if large else value).contiguous().cpu()
