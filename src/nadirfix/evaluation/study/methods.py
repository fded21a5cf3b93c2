"""Methods side by side: the same references, the same photos, one table and one page (ADR 58).

Everything lies in one folder: the standard bundle, which gives map and references to all; for each method
what it searches and its answers; then ``comparison.json`` and ``report.html``.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nadirfix import __version__
from nadirfix.bundle import Bundle
from nadirfix.camera import Camera
from nadirfix.errors import InputError
from nadirfix.evaluation.methods.ground import Altitude, CommonGround
from nadirfix.evaluation.methods.protocol import MethodCard
from nadirfix.evaluation.methods.registry import chosen_cards, known_methods
from nadirfix.evaluation.metrics import QueryRecord
from nadirfix.evaluation.study.contents import COMPARED_BUNDLE as _BUNDLE
from nadirfix.evaluation.study.contents import COMPARISON as _TABLE
from nadirfix.evaluation.study.contents import METHODS as _METHODS
from nadirfix.evaluation.study.contents import REPORT as _REPORT
from nadirfix.evaluation.study.contents import SETTINGS as _SETTINGS
from nadirfix.evaluation.study.contents import comparison_contents
from nadirfix.evaluation.study.facts import bundle_facts
from nadirfix.evaluation.study.method_answers import AnswerFile, answer_photos
from nadirfix.evaluation.study.method_figures import beside_first, figures_of
from nadirfix.evaluation.study.run import named_rows
from nadirfix.files import (
    Progress,
    atomic_file,
    check_folder,
    check_target,
    output_errors,
    quiet,
    remove_ours,
)
from nadirfix.files.owned import is_empty
from nadirfix.offline import build_bundle
from nadirfix.options.recipe import RECIPES, Recipe
from nadirfix.photo_list import PhotoRecord
from nadirfix.report.methods import MethodsContent, write_methods_report

__all__ = ["MethodStudy", "run_methods"]

#: What is said of methods that are known and were not named.
_LISTED = ("name", "title", "status", "paper", "checkpoint")

Record = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class MethodStudy:
    """What is compared: which methods with which checkpoints, and what is known of the photos."""

    maps: Sequence[Path]
    methods: Sequence[str] = ()  # in the table's order; none: all that can run
    weights: Mapping[str, Path] = field(default_factory=dict)
    altitude: Altitude = "estimated"
    camera: Camera | None = None
    recipe: Recipe = RECIPES["standard"]


def run_methods(
    rows: Sequence[PhotoRecord],
    study: MethodStudy,
    out: Path,
    *,
    folder: Path,
    resume: bool = False,
    overwrite: bool = False,
    progress: Progress = quiet,
) -> Record:
    """Locate every photo with every method, measure, write table and page; returns the table."""
    named, cards = named_rows(rows, folder), chosen_cards(study.methods, study.weights)
    _check_altitudes(named, study.altitude)
    inputs = [*study.maps, *study.weights.values(), *(row.photo for row in rows)]
    _begin(out, _settings(named, study), resume=resume, overwrite=overwrite, inputs=inputs)
    bundle = build_bundle(study.maps, out / _BUNDLE, recipe=study.recipe, resume=True, progress=progress)
    ground = CommonGround(bundle, study.altitude, study.camera)
    answers: dict[str, list[QueryRecord]] = {}
    entries = [_entry(card, study.weights.get(card.name)) for card in cards]
    for card, entry in zip(cards, entries, strict=True):
        if entry["measured"]:
            weights = study.weights.get(card.name)
            answers[card.name], entry["size_mb"] = _answers(
                card, ground, named, out=out, weights=weights, progress=progress
            )
            entry.update(figures_of(answers[card.name]))
            entry["beside_first"] = beside_first(answers[next(iter(answers))], answers[card.name])
    table = _table(entries, study, bundle, named)
    _write_json(out / _TABLE, table)
    write_methods_report(out / _REPORT, _content(table, answers, ground, named), progress=progress)
    return table


def _answers(
    card: MethodCard,
    ground: CommonGround,
    named: Mapping[str, PhotoRecord],
    *,
    out: Path,
    weights: Path | None,
    progress: Progress,
) -> tuple[list[QueryRecord], float]:
    """What one method answers, and how many megabytes it searches."""
    folder = out / _METHODS / card.name
    with output_errors(folder):
        (folder / "pieces").mkdir(parents=True, exist_ok=True)
    _check_method(folder, {"title": card.title, "sha256": _sha256(weights)})
    method = card.make(ground, weights, folder)
    method.prepare(lambda stage, done, total: progress(f"{card.name}: {stage}", done, total))
    file = AnswerFile(folder / "answers.jsonl", named)
    records = answer_photos(method, named, file, stage=f"{card.name}: locating photos", progress=progress)
    return records, round(method.size_mb, 1)


def _entry(card: MethodCard, weights: Path | None) -> Record:
    measured = card.kind != "checkpoint" or weights is not None
    return {
        "name": card.name,
        "title": card.title,
        "status": card.status(weights),
        "paper": card.paper,
        "checkpoint": card.checkpoint,
        "sha256": _sha256(weights),
        "measured": measured,
    }


def _table(
    entries: list[Record], study: MethodStudy, bundle: Bundle, named: Mapping[str, PhotoRecord]
) -> Record:
    """The table, and the methods known that are not in it."""
    listed = {entry["name"] for entry in entries}
    others = [_entry(card, None) for name, card in known_methods().items() if name not in listed]
    return {
        "nadirfix": __version__,
        "photos": len(named),
        "references": len(bundle.references),
        "altitude": study.altitude,
        "maps": [Path(path).name for path in study.maps],
        "methods": entries,
        "other_methods": [{key: other[key] for key in _LISTED} for other in others],
    }


def _content(
    table: Record,
    answers: Mapping[str, Sequence[QueryRecord]],
    ground: CommonGround,
    named: Mapping[str, PhotoRecord],
) -> MethodsContent:
    return MethodsContent(
        table=table,
        answers=answers,
        texture=ground.bundle.texture,
        canonical=ground.bundle.canonical,
        photos={name: row.photo for name, row in named.items()},
        facts=bundle_facts(ground.bundle),
        made=f" {__version__} on {datetime.now(UTC):%Y-%m-%d}",
    )


def _check_altitudes(named: Mapping[str, PhotoRecord], altitude: Altitude) -> None:
    without = [name for name, row in named.items() if row.altitude_m is None]
    if altitude == "true" and without:
        raise InputError(
            "altitude.invalid",
            "the true altitude of a photo is not known",
            seen=f"{without[0]}, and {len(without) - 1} more: no altitude_m",
            do="give altitude_m in the manifest, or use --altitude estimated or none",
        )


def _settings(named: Mapping[str, PhotoRecord], study: MethodStudy) -> Record:
    """Everything answers depend on, except the map, which the bundle guards, and the methods themselves."""
    photos = [
        (name, dataclasses.astuple(row.point), row.altitude_m, row.heading_deg) for name, row in named.items()
    ]
    return {
        "nadirfix": __version__,
        "altitude": study.altitude,
        "camera": study.camera.spec if study.camera else None,
        "photos_sha256": hashlib.sha256(json.dumps(photos).encode()).hexdigest(),
    }


def _begin(out: Path, settings: Record, *, resume: bool, overwrite: bool, inputs: Sequence[Path]) -> None:
    """Make the folder, or take over the one an earlier run left; never touch anything that is not ours."""
    check_folder(out, overwrite=True)
    found = _read_json(out / _SETTINGS)
    if resume and found is not None and not overwrite:
        _check_same(out, found, settings)
    elif not is_empty(out):
        check_target(out, overwrite=overwrite, recognise=comparison_contents, inputs=inputs)
        remove_ours(out, recognise=comparison_contents)
    with output_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        (out / _TABLE).unlink(missing_ok=True)  # so that it never describes other answers
    _write_json(out / _SETTINGS, settings)


def _check_method(folder: Path, settings: Record) -> None:
    """Answers and descriptors that are there must be of this method with this checkpoint."""
    found = _read_json(folder / _SETTINGS)
    if found is None:
        _write_json(folder / _SETTINGS, settings)
    else:
        _check_same(folder, found, settings)


def _check_same(out: Path, found: Record, settings: Record) -> None:
    changed = sorted(name for name in {*found, *settings} if found.get(name) != settings.get(name))
    if changed:
        raise InputError(
            "options.invalid",
            "this comparison was begun with other settings",
            seen=f"{out}: {', '.join(changed)} changed",
            do="give the old settings, name another --out, or begin anew with --overwrite",
        )


def _sha256(path: Path | None) -> str | None:
    if path is None:
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_json(path: Path) -> Record | None:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None


def _write_json(path: Path, content: Record) -> None:
    with atomic_file(path) as scratch:
        text = json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False)
        scratch.write_text(text + "\n", encoding="utf-8")
