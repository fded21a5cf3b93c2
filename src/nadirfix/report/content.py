"""What a report is made of: the answers, the figures, and a card that says what the bundle is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nadirfix.camera import Camera
from nadirfix.evaluation.metrics import QueryRecord
from nadirfix.geo.texture import Texture
from nadirfix.image.crop import Canonical

__all__ = ["COLUMN_NAMES", "MAIN", "VERIFIED", "BundleCard", "Content", "Query", "headline", "spread"]

#: The published method with the altitude it found in the photo itself; the other tables compare with it.
MAIN = "estimated"
#: What is answered where the bundle lets fixes be verified.
VERIFIED = "verified"

#: The variants of an evaluation, in words.
COLUMN_NAMES = {
    VERIFIED: "verified against the map",
    MAIN: "altitude estimated from the photo",
    "whole": "without altitude (whole photo)",
    "true": "true altitude given",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class BundleCard:
    """What the answers came from: the map it carries, what references show, and facts to print."""

    name: str
    texture: Texture
    canonical: Canonical
    edges_m: Sequence[float]
    facts: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Query:
    """A photo on disk with the camera that took it."""

    path: Path
    camera: Camera | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Content:
    """Everything a report shows."""

    title: str
    columns: Mapping[str, Sequence[QueryRecord]]
    metrics: Mapping[str, Any]
    bundle: BundleCard
    queries: Mapping[str, Query]
    made: str = ""
    ablation: Sequence[Mapping[str, Any]] = field(default_factory=tuple)

    @property
    def records(self) -> Sequence[QueryRecord]:
        """The answers the report is about."""
        return self.columns[headline(self.columns)]


def headline(columns: Mapping[str, object]) -> str:
    """The column everything is about: what ``locate`` answers."""
    return VERIFIED if VERIFIED in columns else MAIN


def spread(values: Sequence[float], count: int) -> list[int]:
    """Which values to show: evenly over their order, so that none is chosen for its looks."""
    ranked = sorted(range(len(values)), key=lambda i: values[i])
    steps = min(count, len(ranked))
    return [ranked[math.floor((k + 0.5) * len(ranked) / steps)] for k in range(steps)]
