"""The story of one photo, told with networks that say what the test wants to hear."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from nadirfix.altitude.bins import AltitudeBins
from nadirfix.bundle import Bundle
from nadirfix.camera import Camera
from nadirfix.errors import InputError
from nadirfix.geo.grid import ClassOrder, Grid
from nadirfix.image.crop import Canonical, canonical_crop
from nadirfix.online import locate
from nadirfix.options.locate import LocateOptions
from nadirfix.options.recipe import RECIPES
from nadirfix.retrieval.cells import CellClassifier
from nadirfix.retrieval.index import ReferenceIndex
from tests.photos import corners, encoded, exif, jpeg, rational

RECIPE = RECIPES["tiny"]
EPSG = 32633
#: Per class of cell: how many references there are. The second is empty.
SIZES = [3, 0, 2, 5]
STAGES = ["decode", "altitude", "crop", "embed", "classify", "retrieve", "fuse", "total"]


@dataclass
class FixedNetwork:
    """A network that always gives the same output and keeps its inputs."""

    answer: np.ndarray
    inputs: list[np.ndarray] = field(default_factory=list)

    def run(self, inputs: np.ndarray) -> np.ndarray:
        self.inputs.append(inputs)
        return np.tile(self.answer, (len(inputs), 1)).astype(np.float32)


@dataclass
class Places:
    east_m: np.ndarray
    north_m: np.ndarray
    heading_deg: np.ndarray
    cell: np.ndarray


class Fake:
    """A bundle of four cells in a row; ``class_of`` is the one the place network speaks for."""

    describe, likeliest_cells, altitude_scores = (
        Bundle.describe,
        Bundle.likeliest_cells,
        Bundle.altitude_scores,
    )

    def __init__(self, *, altitude_class: int = 4, class_of: int = 3, recipe=RECIPE) -> None:
        self.recipe, self.camera, self.epsg = recipe, recipe.camera, EPSG
        self.bins = AltitudeBins.from_options(recipe.bins)
        self.canonical = Canonical(recipe.camera, 125.0)
        self.order = ClassOrder.from_cells(Grid(100.0, 1), [(c, 0) for c in range(4)])
        directions = np.eye(4)
        self.cell_classifier = CellClassifier([directions], self.order, recipe.head)
        self.manifest, self.projection = {"networks": {"place": {"training": None}}}, None
        self.described, self.matcher_name, self.similarity_tolerance = False, None, 0.0
        self.altitude_classes = None
        self.altitude_network = FixedNetwork(np.eye(len(self.bins))[altitude_class])
        self.place_network = FixedNetwork(3 * directions[class_of] + 0.1)
        label = np.repeat(np.arange(4), SIZES)
        row = np.arange(len(label))
        self.references = Places(
            100.0 * label + 10.0 * row,
            np.full(len(row), 50.0),
            30.0 * row,
            np.column_stack([label, np.zeros_like(label)]),
        )
        rows = directions[label] + 0.01 * row[:, None]
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        self.index = ReferenceIndex(unit.astype(np.float16), np.concatenate([[0], np.cumsum(SIZES)]))

    @property
    def reference_count(self) -> int:
        return sum(SIZES)


def photo(width_px: int = 512, height_px: int = 384, focal_35mm: float | None = None) -> bytes:
    tags = None
    if focal_35mm is not None:
        tags = exif(photo={0x920A: rational(10.0), 0xA405: round(focal_35mm)})
    return jpeg((width_px, height_px), tags=tags)


def test_every_stage_is_timed_and_nothing_is_left_out() -> None:
    fix = locate(photo(), bundle=Fake())
    assert list(fix.timings_ms) == STAGES
    assert all(spent_ms >= 0 for spent_ms in fix.timings_ms.values())
    assert fix.timings_ms["total"] >= sum(fix.timings_ms[stage] for stage in STAGES[:-1])
    assert fix.status == "unverified"


def test_only_the_likeliest_cells_are_searched() -> None:
    options = LocateOptions(cells=1)
    found = locate(photo(), bundle=Fake(class_of=2), options=options).candidates
    assert found is not None
    assert set(found.cell[:, 0]) == {2}


def test_no_limit_searches_every_cell() -> None:
    found = locate(photo(), bundle=Fake(), options=LocateOptions(cells=0, retrieve=100)).candidates
    assert found is not None
    assert len(found) == sum(SIZES)


def test_where_nothing_was_trained_every_cell_is_searched_up_to_a_size() -> None:
    described = Fake()
    described.described = True
    usual = LocateOptions(retrieve=100, whole_frame=False, published_cells=1)
    small = dataclasses.replace(usual, search_all_up_to=sum(SIZES) - 1)

    def cells(bundle: Fake, options: LocateOptions) -> int:
        found = locate(photo(), bundle=bundle, options=options).candidates
        assert found is not None
        return len(set(found.cell[:, 0]))

    assert cells(described, usual) == np.count_nonzero(SIZES)
    assert (cells(described, small), cells(Fake(), usual)) == (1, 1)


def test_more_references_asked_than_the_cells_hold() -> None:
    fix = locate(photo(), bundle=Fake(class_of=0), options=LocateOptions(cells=1, retrieve=10))
    assert fix.candidates is not None
    assert len(fix.candidates) == SIZES[0]
    assert fix.weights is not None
    assert fix.weights.sum() == pytest.approx(1)


def test_an_empty_cell_is_no_fix_with_a_reason_and_not_an_error() -> None:
    fix = locate(photo(), bundle=Fake(class_of=1), options=LocateOptions(cells=1))
    assert (fix.status, fix.position, fix.heading_deg) == ("no_fix", None, None)
    assert "no references" in str(fix.reason)
    assert fix.to_dict()["candidates"] == []


def test_an_empty_cell_among_others_does_no_harm() -> None:
    assert locate(photo(), bundle=Fake(class_of=1), options=LocateOptions(cells=2)).status == "unverified"


def test_heading_is_the_best_reference_s() -> None:
    fix = locate(photo(), bundle=Fake())
    assert fix.candidates is not None
    assert fix.heading_deg == fix.candidates.heading_deg[0] % 360


def test_without_weighting_the_answer_is_the_nearest_reference() -> None:
    fix = locate(photo(), bundle=Fake(), options=LocateOptions(weighted=False))
    assert fix.candidates is not None
    assert fix.position == fix.candidates.point(0)


def test_altitude_is_the_middle_of_the_class_for_the_nominal_camera() -> None:
    fix = locate(photo(), bundle=Fake(altitude_class=4))
    assert fix.altitude_m == 325.0
    assert fix.gsd_m == pytest.approx(325.0 / 300.0)  # the nominal 1200 px at a quarter of the width
    assert any("nominal camera" in warning for warning in fix.warnings)


@pytest.mark.parametrize("ratio", [0.5, 1.0, 2.0])
def test_another_lens_changes_the_altitude_and_not_the_crop(ratio: float) -> None:
    """METHOD §1: the reported altitude is h_net·f'/f; the crop follows from the footprint alone."""
    lens = Camera(512, 384, 300.0 * ratio, 300.0 * ratio)
    bundle = Fake(altitude_class=4)
    fix = locate(photo(), bundle=bundle, camera=lens)
    assert fix.altitude_m == pytest.approx(325.0 * ratio)
    assert fix.gsd_m == pytest.approx(325.0 / 300.0)
    assert fix.footprint_m == pytest.approx((512 * 325 / 300, 384 * 325 / 300))
    assert fix.altitude is not None
    assert fix.altitude.altitude_m == fix.altitude_m
    assert fix.altitude.centers_m[4] == pytest.approx(fix.altitude_m)
    plain = Fake(altitude_class=4)
    locate(photo(), bundle=plain)
    np.testing.assert_allclose(bundle.place_network.inputs[0], plain.place_network.inputs[0], atol=1e-3)


def test_altitude_given_is_believed_and_the_network_not_asked() -> None:
    bundle = Fake(altitude_class=0)
    fix = locate(photo(), bundle=bundle, altitude_m=250.0)
    assert (fix.altitude_m, fix.altitude) == (250.0, None)
    assert fix.gsd_m == pytest.approx(250.0 / 300.0)
    assert not bundle.altitude_network.inputs
    assert list(fix.timings_ms) == STAGES


def test_altitude_given_and_estimated_alike_give_the_same_crop() -> None:
    one, other = Fake(altitude_class=4), Fake()
    locate(photo(), bundle=one)
    locate(photo(), bundle=other, altitude_m=325.0)
    np.testing.assert_array_equal(one.place_network.inputs[0], other.place_network.inputs[0])


@pytest.mark.parametrize("altitude_m", [0.0, -5.0, np.nan, np.inf])
def test_altitude_that_is_none_is_refused(altitude_m: float) -> None:
    with pytest.raises(InputError) as failed:
        locate(photo(), bundle=Fake(), altitude_m=altitude_m)
    assert failed.value.code == "altitude.invalid"


def test_below_the_canonical_altitude_the_whole_frame_is_used_and_said() -> None:
    assert locate(photo(), bundle=Fake(), altitude_m=100.0).crop_clamped
    assert not locate(photo(), bundle=Fake(), altitude_m=125.0).crop_clamped


@pytest.mark.parametrize(("altitude_class", "warned"), [(0, True), (1, False), (11, True)])
def test_an_altitude_at_the_edge_is_said(altitude_class: int, warned: bool) -> None:
    fix = locate(photo(), bundle=Fake(altitude_class=altitude_class))
    assert any("beyond" in warning for warning in fix.warnings) == warned


def test_without_crop_the_whole_photo_is_shown_and_no_altitude_claimed() -> None:
    bundle = Fake()
    fix = locate(photo(), bundle=bundle, options=LocateOptions(crop=False))
    assert (fix.altitude_m, fix.gsd_m, fix.footprint_m) == (None, None, None)
    assert not bundle.altitude_network.inputs
    pixels_in = bundle.place_network.inputs[0][0]
    assert pixels_in.shape == (3, 112, 112)
    assert pixels_in[:, 5, 5].tolist() == pytest.approx([255, 0, 0], abs=8)  # the corners are still there
    assert pixels_in[:, -5, -5].tolist() == pytest.approx([255, 255, 255], abs=8)


@pytest.mark.parametrize("enlarge", ["mean", "cubic"])
def test_the_photo_comes_to_scale_as_the_recipe_says(enlarge: Any) -> None:
    bundle = Fake(altitude_class=4, recipe=replace(RECIPE, enlarge=enlarge))
    data = encoded(Image.fromarray(noise(512, 384)), "PNG")
    locate(data, bundle=bundle)
    lens = Camera(512, 384, 300.0, 300.0)
    crop = {
        way: canonical_crop(
            noise(512, 384), lens, 325.0 / 300.0, bundle.canonical, width_px=112, height_px=112, enlarge=way
        ).pixels
        for way in ("mean", "cubic")
    }
    other = "mean" if enlarge == "cubic" else "cubic"
    pixels_in = np.moveaxis(bundle.place_network.inputs[0][0], 0, -1)
    np.testing.assert_allclose(pixels_in, crop[enlarge], atol=1e-3)
    assert np.abs(pixels_in - crop[other]).mean() > 1


def noise(width_px: int, height_px: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (height_px, width_px, 3), dtype=np.uint8)


def test_networks_are_shown_what_they_were_made_for() -> None:
    bundle = Fake()
    locate(photo(), bundle=bundle)
    spectrum, picture = bundle.altitude_network.inputs[0], bundle.place_network.inputs[0]
    assert (spectrum.shape, spectrum.dtype) == ((1, 3, 168, 224), np.float32)
    assert (picture.shape, picture.dtype) == ((1, 3, 112, 112), np.float32)
    assert 0 <= picture.min() <= picture.max() <= 255


def test_a_network_for_pixels_is_shown_pixels() -> None:
    plain = replace(RECIPE, altitude_network=replace(RECIPE.altitude_network, input="pixels"))
    bundle = Fake(recipe=plain)
    locate(photo(), bundle=bundle)
    pixels_in = bundle.altitude_network.inputs[0][0]
    assert pixels_in[:, 5, 5].tolist() == pytest.approx([255, 0, 0], abs=8)


def test_camera_comes_from_the_tags_before_the_nominal_one() -> None:
    fix = locate(photo(focal_35mm=50.0), bundle=Fake(altitude_class=4))
    focal_px = 50.0 / 43.2666 * np.hypot(512, 384)
    assert fix.altitude_m == pytest.approx(325.0 * focal_px / 300.0, rel=1e-4)
    assert not any("nominal" in warning for warning in fix.warnings)


def test_camera_given_comes_before_the_tags() -> None:
    fix = locate(photo(focal_35mm=50.0), bundle=Fake(), camera=Camera(512, 384, 300.0, 300.0))
    assert fix.altitude_m == pytest.approx(325.0)


def test_camera_of_another_shape_is_refused() -> None:
    with pytest.raises(InputError) as failed:
        locate(photo(), bundle=Fake(), camera=Camera(500, 500, 300.0, 300.0))
    assert failed.value.code == "camera.invalid"


def test_a_photo_smaller_than_the_networks_is_enlarged_and_said() -> None:
    fix = locate(photo(100, 75), bundle=Fake())
    assert fix.status == "unverified"
    assert any("enlarged" in warning for warning in fix.warnings)
    assert not any("enlarged" in warning for warning in locate(photo(), bundle=Fake()).warnings)


@pytest.mark.parametrize("size", [(31, 400), (400, 31), (1, 1)])
def test_a_photo_with_nothing_to_see_is_refused(size: tuple[int, int]) -> None:
    with pytest.raises(InputError) as failed:
        locate(photo(*size), bundle=Fake())
    assert failed.value.code == "photo.too_small"


def test_bytes_and_file_give_the_same_answer(tmp_path) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(photo())
    here, there = locate(path, bundle=Fake()), locate(photo(), bundle=Fake())
    assert (here.photo, there.photo) == (str(path), "")
    assert without(here.to_dict()) == without(there.to_dict())


def without(record: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in record.items() if k not in ("photo", "timings_ms")}


def test_size_limit_is_the_option_s() -> None:
    with pytest.raises(InputError) as failed:
        locate(photo(), bundle=Fake(), options=LocateOptions(max_pixels=1000))
    assert failed.value.code == "photo.too_large"


@pytest.mark.parametrize(
    "wrong",
    [
        {"cells": -1}, {"retrieve": 0},
        {"outlier_share": 0.0}, {"outlier_share": 1.1}, {"weight_epsilon": 0.0},
    ],
)  # fmt: skip
def test_options_that_cannot_work_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError) as failed:
        LocateOptions(**wrong)
    assert failed.value.code == "options.invalid"


def test_png_is_as_good_as_jpeg() -> None:
    assert locate(encoded(Image.fromarray(corners(512, 384)), "PNG"), bundle=Fake()).status == "unverified"
