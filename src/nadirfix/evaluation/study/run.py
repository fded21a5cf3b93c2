"""Every photo of a test set, located with every variant compared; one bad photo never stops the rest."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from nadirfix.bundle import Bundle
from nadirfix.bundle.plan import Plan
from nadirfix.camera import Camera
from nadirfix.errors import BundleError, InputError, NadirfixError, OutputError, WeightsError
from nadirfix.evaluation.metrics import QueryRecord
from nadirfix.evaluation.study.answers import Answers, record_of
from nadirfix.evaluation.study.journal import Journal
from nadirfix.files import Progress
from nadirfix.image.tags import read_tags
from nadirfix.online import locate
from nadirfix.options.locate import LocateOptions
from nadirfix.photo_list import PhotoRecord
from nadirfix.report.content import MAIN, VERIFIED
from nadirfix.types import Fix

__all__ = ["Locator", "Variant", "answer_all", "columns_of", "named_rows", "variants_of"]

#: Locates one photo, with what is known of its altitude settled before.
Variant = Callable[[str, PhotoRecord], Fix | None]

#: What is not the photo's fault must not be counted as if it were.
_FATAL = (BundleError, WeightsError, OutputError)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Locator:
    """How photos are located in a study: with which bundle, camera and options."""

    bundle: Bundle
    camera: Camera | None = None
    options: LocateOptions = LocateOptions()  # noqa: RUF009
    exif_pose: bool = False

    def locate(self, photo: Path, *, altitude_m: float | None = None, crop: bool = True) -> Fix:
        """Where a photo was taken, according to the bundle."""
        # In simulated sets tags are the truth: only --use-exif-pose reads them, or the answer would leak.
        ignored = dataclasses.replace(self.options.tags, believed=False)
        options = dataclasses.replace(self.options, crop=crop, tags=ignored)
        return locate(photo, bundle=self.bundle, camera=self.camera, altitude_m=altitude_m, options=options)

    @property
    def verifies(self) -> bool:
        """Whether answers are verified against the map."""
        return Plan.of(self.bundle, self.options).verifies

    def published(self) -> Locator:
        """The same without what goes beyond the published method."""
        cells = self.options.published_cells if self.options.cells is None else self.options.cells
        published = dataclasses.replace(self.options, verify=False, whole_frame=False, cells=cells)
        return dataclasses.replace(self, options=published)


def variants_of(locator: Locator) -> dict[str, Variant]:
    """What is answered, and the published method with its altitude estimated, not known, and true."""
    published = locator.published()
    variants: dict[str, Variant] = {
        MAIN: lambda _name, row: published.locate(row.photo, altitude_m=_tagged_altitude_m(published, row)),
        "whole": lambda _name, row: published.locate(row.photo, crop=False),
        "true": lambda _name, row: (
            None if row.altitude_m is None else published.locate(row.photo, altitude_m=row.altitude_m)
        ),
    }
    if not locator.verifies:
        return variants
    return {
        VERIFIED: lambda _name, row: locator.locate(row.photo, altitude_m=_tagged_altitude_m(locator, row))
    } | variants


def named_rows(rows: Sequence[PhotoRecord], folder: Path) -> dict[str, PhotoRecord]:
    """Photos by the name the tables use: their path below the test set's folder."""
    named = {_name(row.photo, folder): row for row in rows}
    if len(named) != len(rows):
        raise InputError(
            "manifest.invalid",
            "a photo is listed more than once",
            seen=f"{len(rows)} lines, {len(named)} photos",
            do="list every photo once",
        )
    return named


def answer_all(
    rows: Mapping[str, PhotoRecord],
    variants: Mapping[str, Variant],
    *,
    journal: Journal,
    stage: str,
    progress: Progress,
) -> dict[str, Answers]:
    """What came back for every photo; those the journal already has are not located again."""
    known = journal.begin()
    progress(stage, len(known), len(rows))
    for name, row in rows.items():
        if name not in known:
            known[name] = _answers(name, row, variants)
            journal.add(name, known[name])
            progress(stage, len(known), len(rows))
    journal.finish(known)
    _check_not_all_ours(known)
    return known


def _check_not_all_ours(known: Mapping[str, Answers]) -> None:
    """A fault that meets every photo is no property of the photos: say so instead of measuring it."""
    errors = [record.error for answers in known.values() for record in answers.values()]
    if errors and all(error and error["code"] == "internal.error" for error in errors):
        raise NadirfixError(
            "internal.error",
            "not one photo could be located, and not through any fault of theirs",
            seen=str((errors[0] or {}).get("message")),
            do="report it; --resume locates these photos again",
        )


def columns_of(
    answers: Mapping[str, Answers], rows: Mapping[str, PhotoRecord]
) -> dict[str, list[QueryRecord]]:
    """The answers by variant, in the order of the test set; a variant that fits no photo is left out."""
    columns: dict[str, list[QueryRecord]] = {}
    for name in rows:
        for variant, record in answers[name].items():
            columns.setdefault(variant, []).append(record)
    return columns


def _answers(name: str, row: PhotoRecord, variants: Mapping[str, Variant]) -> Answers:
    records = {key: _answer(name, row, variant) for key, variant in variants.items()}
    return {key: record for key, record in records.items() if record is not None}


def _answer(name: str, row: PhotoRecord, variant: Variant) -> QueryRecord | None:
    try:
        fix = variant(name, row)
    except _FATAL:
        raise
    except NadirfixError as error:
        return record_of(name, row, error=error.to_dict())
    except Exception as error:  # a photo that finds a fault of ours is one error, not the end
        return record_of(name, row, error=_unexpected(error))
    return None if fix is None else record_of(name, row, fix=fix)


def _unexpected(error: Exception) -> dict[str, str]:
    message = f"nadirfix did not expect this: {type(error).__name__}: {error}"
    return {"code": "internal.error", "message": message, "hint": "Report it with the photo"}


def _tagged_altitude_m(locator: Locator, row: PhotoRecord) -> float | None:
    """The altitude from the photo's own tags: only on request, or the answer would leak."""
    if not locator.exif_pose:
        return None
    tagged_m = read_tags(row.photo).relative_altitude_m
    return tagged_m if tagged_m is not None and tagged_m > 0 else None


def _name(photo: Path, folder: Path) -> str:
    return Path(os.path.relpath(photo, folder)).as_posix()
