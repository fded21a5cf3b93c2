"""What a training run leaves on disk: a checkpoint to go on from, and a log of every step.

Both survive a killed process: a checkpoint is written beside the last one and renamed when whole, the log is
cut back to what the checkpoint knows, so that no step is in it twice.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import os
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from nadirfix.errors import TrainingError
from nadirfix.files import atomic_file, output_errors
from nadirfix.options.training import TrainOptions

__all__ = ["COLUMNS", "StepLog", "identity_of", "load_checkpoint", "save_checkpoint"]

#: The log's columns; ``validation`` is the network's own headline measure, where one was taken.
COLUMNS = (
    "step", "loss", "extractor_rate", "classifier_rate", "images_per_s", "elapsed_s", "validation",
)  # fmt: skip
_FORMAT = 1
_CHECKPOINT, _LOG = "checkpoint.pt", "log.csv"
#: Settings that may change between a stop and a resume because they do not change what is learned.
_FREE = {"checkpoint_every_s"}


def identity_of(options: TrainOptions, details: dict[str, Any]) -> str:
    """A short name for what is trained on what; a checkpoint with another name is refused."""
    settings = {k: v for k, v in dataclasses.asdict(options).items() if k not in _FREE}
    text = json.dumps({"training": settings, **details}, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def save_checkpoint(folder: Path, content: dict[str, Any], *, identity: str) -> None:
    """Write the checkpoint so that there is always a whole one."""
    whole = io.BytesIO()  # torch says nothing of a full disk; writing the bytes ourselves does
    torch.save({"format": _FORMAT, "identity": identity, **content}, whole)
    with atomic_file(folder / _CHECKPOINT) as scratch:
        scratch.write_bytes(whole.getbuffer())


def load_checkpoint(folder: Path | None, *, identity: str) -> dict[str, Any] | None:
    """The last checkpoint, or None when there is none yet; one from another run is an error."""
    path = folder / _CHECKPOINT if folder else None
    if path is None or not path.exists():
        return None
    try:
        content: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
        raise _refused(f"{path} cannot be read ({type(error).__name__})") from error
    if content.get("format") != _FORMAT or content.get("identity") != identity:
        raise _refused(f"{path} belongs to {content.get('identity')}, this run is {identity}")
    return content


class StepLog:
    """One line of CSV for every step."""

    def __init__(self, folder: Path | None) -> None:
        self.path = folder / _LOG if folder else None

    def begin(self, keep_bytes: int = 0) -> None:
        """Cut the log back to what is known to be good; a new one starts with its heading."""
        if self.path is None:
            return
        with output_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            whole = self.path.exists() and self.path.stat().st_size >= keep_bytes > 0
            if whole:
                os.truncate(self.path, keep_bytes)
            else:
                self.path.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")

    def add(self, rows: Iterable[Iterable[object]]) -> None:
        """Append lines in one go."""
        text = "".join(",".join(map(_cell, row)) + "\n" for row in rows)
        if self.path is None or not text:
            return
        with output_errors(self.path), self.path.open("ab", buffering=0) as file:
            file.write(text.encode())
            os.fsync(file.fileno())

    def size(self) -> int:
        """How long the log is now."""
        return self.path.stat().st_size if self.path and self.path.exists() else 0


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _refused(seen: str) -> TrainingError:
    return TrainingError(
        "training.checkpoint",
        "this checkpoint does not belong to this training run",
        seen=seen,
        do="resume with the recipe, map and version it was started with, or start again in another folder",
    )
