"""A map hardly larger than one view: too small to try networks on, but not to locate photos on."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import rasterio
from PIL import Image
from rasterio.transform import from_origin

from nadirfix.bundle import Bundle
from nadirfix.cli import locating
from nadirfix.errors import MapError
from nadirfix.offline import build_bundle
from nadirfix.offline.int8 import altitude_examples
from nadirfix.options.recipe import RECIPES, QuantiseOptions, ReferenceOptions

#: A view from the lowest altitude takes 171 × 128 m: a few of hundreds fit, of a few dozen none.
WIDTH_M, HEIGHT_M = 225, 170
RECIPE = dataclasses.replace(
    RECIPES["tiny"], matcher="none", quantise=QuantiseOptions(views=12),
    references=ReferenceOptions(headings=2, valid_share=0.5),
)  # fmt: skip


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    folder = tmp_path_factory.mktemp("small")
    pixels = np.random.default_rng(3).integers(0, 256, (3, HEIGHT_M, WIDTH_M), dtype=np.uint8)
    place = {"crs": "EPSG:32633", "transform": from_origin(452_000.0, 5_411_500.0, 1.0, 1.0)}
    size = {"width": WIDTH_M, "height": HEIGHT_M, "count": 3, "dtype": "uint8"}
    with rasterio.open(folder / "map.tif", "w", driver="GTiff", **size, **place) as target:
        target.write(pixels)
    return build_bundle(folder / "map.tif", folder / "small.nadir", recipe=RECIPE)


def test_it_is_too_small_for_examples_and_builds_all_the_same(small: Bundle) -> None:
    with pytest.raises(MapError):
        altitude_examples(small, RECIPE)
    record = small.manifest["networks"]["altitude"]["eight_bits"]
    assert record["kept"] is False and "fits on the map" in record["why"]
    assert small.altitude_classes is not None


def test_many_photos_are_placed_on_it(
    small: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """So many that the fastest library would be looked for first, on views that do not fit."""
    monkeypatch.setenv("NADIRFIX_CACHE", str(tmp_path / "cache"))
    many = locating._MANY
    assert many >= 50
    monkeypatch.setattr(locating, "_MANY", 3)
    pixels = np.random.default_rng(4).integers(0, 256, (192, 256, 3), dtype=np.uint8)
    photos = [tmp_path / f"{i}.png" for i in range(3)]
    for photo in photos:
        Image.fromarray(pixels).save(photo)
    arguments = locating.LocateArguments(photos=[str(photo) for photo in photos], bundle=small.path)
    assert locating.locate_photos(arguments) == 0
    output = capsys.readouterr()
    assert [json.loads(line)["photo"] for line in output.out.splitlines()] == arguments.photos
    assert "not measured: no view from any altitude fits on the map" in " ".join(output.err.split())
