"""The device that trains: getting numbers there without waiting, and one kernel instead of many."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["compiled", "upload"]

F = TypeVar("F", bound=Callable[..., Any])


def upload(values: NDArray[Any], device: torch.device, dtype: torch.dtype | None = None) -> Tensor:
    """An array on a device; the CPU does not wait for the transfer, nor the device for the CPU."""
    return torch.from_numpy(np.ascontiguousarray(values)).to(device, dtype, non_blocking=True)


def compiled(function: F, device: torch.device) -> F:
    """The function as one kernel where the device and its compiler allow, else as it is: same numbers."""
    if device.type != "cuda" or find_spec("triton") is None:
        return function
    return cast(F, torch.compile(function))
