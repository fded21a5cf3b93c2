"""Labels that are wrong by a known field are put right to within two metres; the rest stay as they are."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from nadirfix.altitude.bins import AltitudeBins, canonical_altitude_m
from nadirfix.bundle import Bundle
from nadirfix.cli import app
from nadirfix.errors import BundleError, InputError, OutputError
from nadirfix.evaluation.study.labels import CheckedLabel, check_labels, regions_of
from nadirfix.evaluation.study.relabel import run_relabel
from nadirfix.image.crop import Canonical
from nadirfix.options.recipe import RECIPES
from nadirfix.options.verify import LabelOptions, MatchOptions, VerifyOptions
from nadirfix.photo_list import PhotoRecord, read_photo_list, write_photo_list
from nadirfix.types import Point, View
from nadirfix.verify.features import Detector
from tests.places import CAMERA, other_place, photo_from, place, view_of

EPSG = 32633
#: Photos are matched half as wide as usual: a quarter of the time, and still within two metres.
SMALL = VerifyOptions(match=MatchOptions(width_px=256))
CORNERS = [(-90.0, -90.0), (-90.0, 90.0), (90.0, -90.0), (60.0, 90.0)]


def bundle_of(detector: Detector | None) -> Any:
    recipe = RECIPES["tiny"]
    bins = AltitudeBins.from_options(recipe.bins)
    canonical = Canonical(CAMERA, canonical_altitude_m(recipe.references, bins))
    return SimpleNamespace(
        path=Path("a.nadir"), camera=CAMERA, recipe=recipe, epsg=EPSG, texture=place(), bins=bins,
        keypoint_detector=lambda _options: detector, matcher_name="sift" if detector else None,
        canonical=canonical,
        altitude_scores=lambda inputs: np.tile(9.0 * np.eye(len(bins))[0], (len(inputs), 1)),
    )  # fmt: skip


def wrong_by(place_m: tuple[float, float]) -> tuple[float, float]:
    """A smooth field: labels lie so far from the truth, up to some 70 m."""
    east, north = place_m
    return 45.0 + 0.15 * north + 6.0 * math.sin(east / 60.0), -30.0 + 0.1 * east


def written(folder: Path, views: list[View], *, ground: Any = None, **missing: None) -> Path:
    """Photos of these views, and a manifest with wrong labels."""
    folder.mkdir()
    rows, middle = [], place().center
    for i, view in enumerate(views):
        photo = folder / f"{i}.png"
        Image.fromarray(photo_from(ground or place(), view)).save(photo)
        off = wrong_by((view.center.east_m - middle.east_m, view.center.north_m - middle.north_m))
        label = {"altitude_m": view.altitude_m, "heading_deg": view.heading_deg, **missing}
        rows.append(PhotoRecord(photo=photo, point=view.center.moved(*off), **label))
    write_photo_list(folder / "manifest.csv", rows)
    return folder / "manifest.csv"


def corner_views() -> list[View]:
    return [view_of(place(), east_m=e, north_m=n, altitude_m=130.0, heading_deg=e) for e, n in CORNERS]


def checked(manifest: Path, detector: Detector) -> list[CheckedLabel]:
    rows, options = read_photo_list(manifest), LabelOptions(verification=SMALL)
    return check_labels(rows, bundle_of(detector), camera=CAMERA, options=options)


def test_a_smooth_field_is_taken_out_of_the_labels(sift: Detector, tmp_path: Path) -> None:
    views = corner_views()
    summary = checked(written(tmp_path / "set", views), sift)
    for one, true in zip(summary, views, strict=True):
        corrected = one.corrected()
        assert corrected.point.distance_m(true.center) < 2.0
        assert one.row.point.distance_m(true.center) > 30.0
        assert one.sigma_m is not None and 0.5 < one.sigma_m < 10.0
        assert (corrected.photo, corrected.altitude_m) == (one.row.photo, one.row.altitude_m)


def test_labels_without_heading_or_altitude_are_checked_too(sift: Detector, tmp_path: Path) -> None:
    views = corner_views()[3:]
    for name, missing in (("low", {"altitude_m": None}), ("turned", {"heading_deg": None})):
        (one,) = checked(written(tmp_path / name, views, **missing), sift)
        assert one.corrected().point.distance_m(views[0].center) < 2.0
        assert one.corrected().altitude_m == one.row.altitude_m, "only the place is put right"


def test_a_low_photo_is_searched_all_around_its_label(sift: Detector, tmp_path: Path) -> None:
    """From 60 m one match reaches 51 m: the label's 90 m take several."""
    true = view_of(place(), altitude_m=60.0)
    (tmp_path / "set").mkdir()
    Image.fromarray(photo_from(place(), true)).save(tmp_path / "set" / "a.png")
    row = PhotoRecord(
        photo=tmp_path / "set" / "a.png",
        point=true.center.moved(-85.0, 90.0),
        altitude_m=60.0,
        heading_deg=40.0,
    )
    options = LabelOptions(verification=SMALL)
    (one,) = check_labels([row], bundle_of(sift), camera=CAMERA, options=options)
    assert one.corrected().point.distance_m(true.center) < 2.0


def test_regions_give_the_median_and_what_is_left_around_it() -> None:
    def label(east_m: float, off_m: tuple[float, float] | None) -> CheckedLabel:
        point = Point(500_000.0 + east_m, 5_400_010.0, EPSG)
        found = None if off_m is None else View(point.moved(*off_m), 100.0)
        return CheckedLabel(row=PhotoRecord(photo=Path("p"), point=point), found=found)

    west = [label(10.0, (10.0, 0.0)), label(20.0, (12.0, 2.0)), label(30.0, (14.0, -2.0)), label(40.0, None)]
    regions = regions_of([*west, label(510.0, None)], epsg=EPSG, region_m=500.0)
    assert [(r["easting_m"], r["photos"], r["matched"]) for r in regions] == [
        (500_000, 4, 3),
        (500_500, 1, 0),
    ]
    assert (regions[0]["east_m"], regions[0]["north_m"]) == (12.0, 0.0)
    assert regions[0]["residual_m"] == pytest.approx(2.0)
    assert regions[1]["east_m"] is None


def test_the_folder_has_a_manifest_to_evaluate_with_and_the_input_is_untouched(
    sift: Detector, tmp_path: Path
) -> None:
    manifest = written(tmp_path / "set", corner_views()[:2])
    strange = tmp_path / "set" / "9.png"
    Image.fromarray(photo_from(other_place(), view_of(other_place()))).save(strange)
    rows = [*read_photo_list(manifest), PhotoRecord(photo=strange, point=place().center, altitude_m=150.0)]
    write_photo_list(manifest, rows)
    before = manifest.read_bytes()
    settings = {"source": manifest, "camera": CAMERA, "options": LabelOptions(headings=1, verification=SMALL)}
    summary = run_relabel(read_photo_list(manifest), bundle_of(sift), tmp_path / "out", **settings)
    assert manifest.read_bytes() == before
    assert (summary["photos"], summary["matched"], summary["unreadable"]) == (3, 2, 0)
    assert json.loads((tmp_path / "out" / "labels.json").read_text())["matched"] == 2
    again = read_photo_list(tmp_path / "out" / "manifest.csv")
    assert [row.photo.resolve() for row in again] == [row.photo.resolve() for row in rows]
    assert again[2].point.distance_m(place().center) < 1e-3, "what is not found keeps its label"
    lines = list(csv.DictReader((tmp_path / "out" / "manifest.csv").open(encoding="utf-8")))
    assert [line["label"] for line in lines] == ["corrected", "corrected", "kept"]
    assert lines[2]["sigma_m"] == "" and "confirms none" in lines[2]["why"]
    with Image.open(tmp_path / "out" / "labels.png") as picture:
        assert picture.width == 1200


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_with_the_photos_in_it_is_never_replaced(
    sift: Detector, tmp_path: Path, overwrite: bool
) -> None:
    manifest = written(tmp_path / "set", corner_views()[:1])
    rows = read_photo_list(manifest)
    for out in (tmp_path / "set", tmp_path):
        with pytest.raises(OutputError, match=r"not written by this command|already there"):
            run_relabel(
                rows, bundle_of(sift), out, source=manifest, options=LabelOptions(), overwrite=overwrite
            )
    other = tmp_path / "notes"
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"not written by this command|already there"):
        run_relabel(
            rows, bundle_of(sift), other, source=manifest, options=LabelOptions(), overwrite=overwrite
        )


def test_a_photo_that_cannot_be_read_keeps_its_label(sift: Detector, tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(b"no picture")
    row = PhotoRecord(photo=tmp_path / "a.jpg", point=place().center, altitude_m=100.0)
    (one,) = check_labels([row], bundle_of(sift), options=LabelOptions())
    assert one.unreadable and one.corrected() is row and one.offset_m is None


def test_a_label_on_the_other_side_of_the_earth_is_counted_and_kept(sift: Detector, tmp_path: Path) -> None:
    manifest = written(tmp_path / "set", corner_views()[:1])
    (row,) = read_photo_list(manifest)
    lost = PhotoRecord(photo=row.photo, point=Point.from_lonlat(-165.0, -48.0), altitude_m=130.0)
    settings = {"source": manifest, "camera": CAMERA, "options": LabelOptions(headings=1, verification=SMALL)}
    summary = run_relabel([lost], bundle_of(sift), tmp_path / "out", **settings)
    assert (summary["photos"], summary["matched"]) == (1, 0)


def test_without_a_matcher_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="matcher"):
        check_labels([], bundle_of(None), options=LabelOptions())
    with pytest.raises(InputError, match="above 0 m"):
        LabelOptions(reach_m=0.0)


def test_the_command_prints_what_it_measured(
    sift: Detector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Bundle, "load", lambda _path: bundle_of(sift))
    manifest, out = written(tmp_path / "set", corner_views()[:1]), tmp_path / "out"
    command = ["relabel", str(manifest), "--bundle", "a.nadir", "--out", str(out), "--camera", CAMERA.spec]
    ended = CliRunner().invoke(app, command)
    assert ended.exit_code == 0, ended.output
    summary = json.loads(ended.stdout)
    east_m, north_m = wrong_by(CORNERS[0])
    assert summary["east_m"] == pytest.approx(-east_m, abs=2.0)
    assert summary["north_m"] == pytest.approx(-north_m, abs=2.0)
    assert "labels are off by" in ended.stderr
