"""What a method is: ours, a published one, or anybody's descriptor from an installed package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from nadirfix.evaluation.methods.ground import CommonGround
from nadirfix.files import Progress
from nadirfix.photo_list import PhotoRecord
from nadirfix.types import Fix

__all__ = ["Describer", "FittedDescriber", "Kind", "Method", "MethodCard"]

Bytes = NDArray[np.uint8]

#: What a row needs: nothing, what the package ships, a checkpoint given by path, an outside package.
Kind = Literal["nothing learned", "ships with nadirfix", "checkpoint", "outside"]


@runtime_checkable
class Describer(Protocol):
    """Turns pictures into descriptors: pictures of one place should have a large cosine similarity."""

    @property
    def size_px(self) -> tuple[int, int]:
        """Width and height of the pictures it takes."""

    def describe(self, images: Bytes) -> NDArray[Any]:
        """A descriptor for each picture (count, rows, columns, RGB of 0 to 255), a row each."""


@runtime_checkable
class FittedDescriber(Describer, Protocol):
    """One that learns something from the map first, such as a vocabulary."""

    def fit(self, images: Bytes) -> None:
        """Learn from some of the map's references; the same ones after an interruption."""


class Method(Protocol):
    """Locates photos on one map."""

    @property
    def size_mb(self) -> float:
        """What it searches, and its network: what it needs beside the map."""

    def prepare(self, progress: Progress) -> None:
        """Make what it searches; what an earlier run left is kept."""

    def locate(self, row: PhotoRecord) -> Fix:
        """Where a photo was taken, and the places ranked after it."""


@dataclass(frozen=True, kw_only=True)
class MethodCard:
    """A row of the table: its name, what it is, what it needs, and how to make it."""

    name: str
    title: str
    kind: Kind
    make: Callable[[CommonGround, Path | None, Path], Method]  # with a checkpoint, and a folder for its files
    paper: str = ""
    checkpoint: str = ""  # which file it takes

    def status(self, weights: Path | None) -> str:
        """What the row stands on, in words."""
        if self.kind != "checkpoint":
            return self.kind
        return "awaiting a checkpoint" if weights is None else f"checkpoint given: {weights.name}"
