"""The one thing the rest of the house knows about a network: it can be run."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "Network"]

Floats = NDArray[np.float32]


class Network(Protocol):
    """A trained network, ready to run on pictures."""

    def run(self, inputs: Floats) -> Floats:
        """The network's output for each input of a batch, one row each."""
        ...
