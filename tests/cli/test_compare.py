"""``nadirfix compare`` as a command: what it refuses, before anything is built."""

import pytest
from PIL import Image

from nadirfix.photo_list import PhotoRecord, write_photo_list
from tests.command import nadirfix
from tests.records import TRUTH


@pytest.fixture
def photos(tmp_path):
    """A list of one photo."""
    photo = tmp_path / "photo.jpg"
    Image.new("RGB", (64, 48)).save(photo)
    write_photo_list(tmp_path / "manifest.csv", [PhotoRecord(photo=photo, point=TRUTH, altitude_m=200.0)])
    return tmp_path / "manifest.csv"


@pytest.mark.parametrize(
    ("more", "exit_number", "words"),
    [
        (["--methods", "nobody"], 2, "nobody"),
        (["--weights", "salad"], 2, "NAME=PATH"),
        (["--weights", "salad=nowhere.ckpt"], 5, "weights.missing"),
        (["--altitude", "guessed"], 2, "altitude"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_is_made(
    photos, tmp_path, more, exit_number, words
):
    out = tmp_path / "out"
    done = nadirfix("compare", photos, "--map", tmp_path / "map.tif", "--out", out, *more)
    assert done.returncode == exit_number
    assert words in done.stderr
    assert not out.exists()


def test_a_map_that_is_not_there(photos, tmp_path):
    done = nadirfix("compare", photos, "--map", tmp_path / "map.tif", "--out", tmp_path / "out")
    assert done.returncode == 3
    assert "map.missing" in done.stderr
