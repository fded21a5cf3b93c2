"""Our own rows: the standard bundle as ``locate`` uses it, with and without what comes after retrieval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from nadirfix.bundle import layout as parts
from nadirfix.evaluation.answer_files import candidates_at
from nadirfix.evaluation.methods.ground import CommonGround
from nadirfix.files import Progress
from nadirfix.online import locate
from nadirfix.options.locate import LocateOptions
from nadirfix.photo_list import PhotoRecord
from nadirfix.types import Candidates, Fix, Point

__all__ = ["BundleMethod", "ranked_places", "retrieval_alone", "standard", "unverified"]

#: What each row needs of a bundle, besides the map's own texture.
_RETRIEVAL = (parts.PLACE, parts.DESCRIPTORS, parts.PROJECTION, parts.REFERENCES)
_MEGA = 1e6


@dataclass(frozen=True, eq=False)
class BundleMethod:
    """Locates through the bundle, with some of its stages switched off."""

    ground: CommonGround
    changes: Mapping[str, Any]
    needs: tuple[str, ...] | Literal["all"] = "all"

    @property
    def size_mb(self) -> float:
        """The parts of the bundle it uses."""
        sizes = {name: part["bytes"] for name, part in self.ground.bundle.manifest["parts"].items()}
        wanted = set(sizes) - {parts.TEXTURE} if self.needs == "all" else set(self.needs)
        return float(sum(size for name, size in sizes.items() if name in wanted)) / _MEGA

    def prepare(self, progress: Progress) -> None:
        """The bundle is there already."""

    def locate(self, row: PhotoRecord) -> Fix:
        """What ``locate`` answers, and the places it ranks after that."""
        options: LocateOptions = replace(self.ground.options, **self.changes)
        fix = locate(
            row.photo,
            bundle=self.ground.bundle,
            camera=self.ground.camera,
            altitude_m=self.ground.known_altitude_m(row),
            options=options,
        )
        return replace(fix, candidates=ranked_places(fix), weights=None)


def standard(ground: CommonGround, _weights: Path | None, _folder: Path) -> BundleMethod:
    """The recipe as it comes: retrieval, votes of the whole frame, verification against the map."""
    return BundleMethod(ground, {})


def unverified(ground: CommonGround, _weights: Path | None, _folder: Path) -> BundleMethod:
    """The same without verification: the view most votes agree on."""
    return BundleMethod(ground, {"verify": False})


def retrieval_alone(ground: CommonGround, _weights: Path | None, _folder: Path) -> BundleMethod:
    """The place network that ships and nothing else: the nearest reference of all answers."""
    changes = {"verify": False, "whole_frame": False, "weighted": False, "cells": 0}
    return BundleMethod(ground, changes, _RETRIEVAL)


def ranked_places(fix: Fix) -> Candidates | None:
    """The places of an answer, its own first, then other hypotheses, then what was retrieved."""
    if fix.position is None:
        return None
    ranked: list[tuple[Point, float]] = [(fix.position, fix.heading_deg or 0.0)]
    ranked += [(other.position, other.heading_deg or 0.0) for other in fix.hypotheses if other.position]
    found = fix.candidates
    if found is not None:
        first = 1 if len(found) and len(ranked) == 1 and _is_first(found, fix.position) else 0
        ranked += [(found.point(i), float(found.heading_deg[i])) for i in range(first, len(found))]
    points, headings_deg = zip(*ranked, strict=True)
    return candidates_at(points, headings_deg, range(len(points)))


def _is_first(found: Candidates, position: Point) -> bool:
    """Whether the answer is the nearest reference itself, which must not count as two places."""
    return found.point(0).distance_m(position) == 0.0
