"""An evaluation from photos to metrics.json, queries.csv and report.html, in one folder."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nadirfix import __version__
from nadirfix.bundle import Bundle
from nadirfix.errors import InputError, NadirfixError
from nadirfix.evaluation.metrics import compared, metrics
from nadirfix.evaluation.study.ablate import ablate as run_ablation
from nadirfix.evaluation.study.contents import (
    ABLATION,
    METRICS,
    QUERIES,
    REPORT,
    SETTINGS,
    evaluation_contents,
    read_settings,
)
from nadirfix.evaluation.study.facts import bundle_facts
from nadirfix.evaluation.study.journal import Journal
from nadirfix.evaluation.study.memory import PeakMemory
from nadirfix.evaluation.study.run import Locator, answer_all, columns_of, named_rows, variants_of
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
from nadirfix.files.text import json_text
from nadirfix.image.tags import choose_camera, read_tags
from nadirfix.image.undistort import straight_camera
from nadirfix.photo_list import PhotoRecord
from nadirfix.report.content import BundleCard, Content, Query, headline
from nadirfix.report.page import write_report
from nadirfix.report.pictures import choose

__all__ = ["run_evaluation"]


def run_evaluation(
    rows: Sequence[PhotoRecord],
    locator: Locator,
    out: Path,
    *,
    folder: Path,
    ablate: bool = False,
    device: str = "auto",
    resume: bool = False,
    overwrite: bool = False,
    title: str = "",
    progress: Progress = quiet,
) -> dict[str, Any]:
    """Locate every photo with every variant, measure, write tables and report; returns the metrics."""
    named = named_rows(rows, folder)
    inputs = [folder, locator.bundle.path, *(row.photo for row in rows)]
    _begin(out, _settings(locator), resume=resume, overwrite=overwrite, inputs=inputs)
    journal, memory = Journal(out / QUERIES, named), PeakMemory()
    answers = answer_all(
        named, variants_of(locator), journal=journal, stage="locating photos", progress=progress
    )
    columns = columns_of(answers, named)
    summary = metrics(columns[headline(columns)], peak_rss_mb=memory.peak_mb(), exif_pose=locator.exif_pose)
    summary["comparison"] = compared(columns)
    if ablate:
        summary["ablation"] = run_ablation(
            columns, named, locator, out / ABLATION, device=device, progress=progress
        )
    _write_json(out / METRICS, summary)
    content = _content(title, columns, summary, locator, named)
    write_report(out / REPORT, content, progress=progress)
    return summary


def _begin(
    out: Path, settings: Mapping[str, Any], *, resume: bool, overwrite: bool, inputs: Sequence[Path]
) -> None:
    """Make the folder, or take over the one an earlier run left; never touch anything that is not ours."""
    check_folder(out, overwrite=True)
    found = read_settings(out)
    if resume and found is not None and not overwrite:
        _check_same(out, found, settings)
    elif not is_empty(out):
        check_target(out, overwrite=overwrite, recognise=evaluation_contents, inputs=inputs)
        remove_ours(out, recognise=evaluation_contents)
    with output_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        (out / METRICS).unlink(missing_ok=True)  # so that it never describes other answers
    _write_json(out / SETTINGS, settings)


def _settings(locator: Locator) -> dict[str, Any]:
    """Everything answers depend on, except the photos themselves."""
    manifest = json.dumps(locator.bundle.manifest, sort_keys=True).encode()
    return {
        "nadirfix": __version__,
        "bundle": locator.bundle.path.name,
        "bundle_sha256": hashlib.sha256(manifest).hexdigest(),
        "camera": locator.camera.spec if locator.camera else None,
        "exif_pose": locator.exif_pose,
        "options": dataclasses.asdict(locator.options),
    }


def _check_same(out: Path, found: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    changed = sorted(name for name in {*found, *settings} if found.get(name) != settings.get(name))
    if changed:
        raise InputError(
            "options.invalid",
            "this evaluation was begun with other settings",
            seen=f"{out}: {', '.join(changed)} changed",
            do="give the old settings, name another --out, or begin anew with --overwrite",
        )


def _content(
    title: str,
    columns: Mapping[str, Any],
    summary: Mapping[str, Any],
    locator: Locator,
    named: Mapping[str, PhotoRecord],
) -> Content:
    bundle = locator.bundle
    card = BundleCard(
        name=bundle.path.name,
        texture=bundle.texture,
        canonical=bundle.canonical,
        edges_m=[*map(float, bundle.bins.edges_m[:-1]), bundle.recipe.bins.max_m],
        facts=bundle_facts(bundle),
    )
    chosen = [record.photo for group in choose(columns[headline(columns)]).values() for record in group]
    queries = {name: Query(path=named[name].photo, camera=_camera(locator, named[name])) for name in chosen}
    return Content(
        title=title or f"{len(named)} photos on {bundle.path.name}",
        columns=columns,
        metrics=summary,
        bundle=card,
        queries=queries,
        made=f" {__version__} on {datetime.now(UTC):%Y-%m-%d}",
        ablation=summary.get("ablation", ()),
    )


def _camera(locator: Locator, row: PhotoRecord) -> Any:
    """The camera the photo was located with; None where that cannot be said."""
    try:
        nominal: Bundle = locator.bundle
        chosen = choose_camera(read_tags(row.photo), explicit=locator.camera, nominal=nominal.camera)
        return straight_camera(chosen.camera)
    except NadirfixError:
        return None


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    with atomic_file(path) as scratch:
        scratch.write_text(json_text(content, indent=1) + "\n", encoding="utf-8")
