"""Labels checked and written: a corrected manifest, what was measured, and a picture of it, in one folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nadirfix.bundle import Bundle
from nadirfix.camera import Camera
from nadirfix.evaluation.study.labels import CheckedLabel, check_labels, summary_of
from nadirfix.files import Progress, atomic_dir, check_target, quiet
from nadirfix.files.owned import marked
from nadirfix.options.verify import LabelOptions
from nadirfix.photo_list import PhotoRecord, write_photo_list
from nadirfix.report.labels import labels_picture

__all__ = ["KIND", "run_relabel"]

#: What the marker in the folder says.
KIND = "labels"

_MANIFEST, _MEASURED, _PICTURE = "manifest.csv", "labels.json", "labels.png"


def run_relabel(
    rows: Sequence[PhotoRecord],
    bundle: Bundle,
    out: Path,
    *,
    source: Path,
    camera: Camera | None = None,
    options: LabelOptions,
    overwrite: bool = False,
    progress: Progress = quiet,
) -> dict[str, Any]:
    """Check every label and write the folder; the photos and their own list are only read."""
    inputs = [source, bundle.path, *(row.photo for row in rows)]
    check_target(out, overwrite=overwrite, recognise=marked(KIND), inputs=inputs)
    checked = check_labels(rows, bundle, camera=camera, options=options, progress=progress)
    summary = summary_of(checked, epsg=bundle.epsg, options=options)
    with atomic_dir(out, kind=KIND, overwrite=overwrite, inputs=inputs) as folder:
        corrected = [one.corrected() for one in checked]
        write_photo_list(folder / _MANIFEST, corrected, more=[_more(one) for one in checked])
        text = json.dumps(summary, indent=1, allow_nan=False)
        (folder / _MEASURED).write_text(text + "\n", encoding="utf-8")
        _write_picture(folder / _PICTURE, bundle, checked, summary)
    return summary


def _more(one: CheckedLabel) -> Mapping[str, str]:
    """What the corrected manifest says beyond a plain one."""
    east_m, north_m = one.offset_m or (None, None)
    found = one.found
    numbers = {
        "sigma_m": one.sigma_m,
        "moved_east_m": east_m,
        "moved_north_m": north_m,
        "found_altitude_m": found.altitude_m if found else None,
        "found_heading_deg": found.heading_deg if found else None,
    }
    return {
        "label": "corrected" if found else "kept",
        **{name: "" if value is None else f"{value:.3f}" for name, value in numbers.items()},
        "inliers": str(one.inliers) if found else "",
        "why": one.why,
    }


def _write_picture(
    path: Path, bundle: Bundle, checked: Sequence[CheckedLabel], summary: Mapping[str, Any]
) -> None:
    from PIL import Image

    labels = [(one.label_in(bundle.epsg), one.offset_m) for one in checked]
    moves = [(label, off_m) for label, off_m in labels if label is not None]
    Image.fromarray(labels_picture(bundle.texture, moves, _lines(summary))).save(path, format="PNG")


def _lines(summary: Mapping[str, Any]) -> list[str]:
    counted = (
        f"{summary['matched']} of {summary['photos']} photos found on the map; dots: the others, labels kept"
    )
    if summary["east_m"] is None:
        return [counted]
    off = f"median {summary['east_m']:+.1f} m east, {summary['north_m']:+.1f} m north"
    return [counted, f"{off}; single labels {summary['residual_m']:.1f} m around that in the median"]
