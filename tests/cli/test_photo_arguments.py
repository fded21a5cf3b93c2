"""Photos as they come: folders with what is below them, links, standard input, a list of what is known."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from nadirfix.cli.locating import LocateArguments, _options, _priors, locate_photos
from nadirfix.cli.photo_arguments import expand_folders
from nadirfix.errors import InputError
from nadirfix.prior import Prior
from nadirfix.types import Point


def touch(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")


def test_a_folder_stands_for_all_photos_below_it(tmp_path: Path) -> None:
    wanted = ["b.jpg", "z.HEIC", "a/c.TIF", "a/deep/er/d.png", "m/e.jpeg"]
    touch(*(tmp_path / name for name in wanted))
    touch(tmp_path / "notes.txt", tmp_path / ".hidden/x.jpg", tmp_path / "a/.x.jpg")
    assert expand_folders([str(tmp_path), "other.jpg"]) == [*(str(tmp_path / n) for n in wanted), "other.jpg"]


def test_links_are_followed_but_not_in_circles(tmp_path: Path) -> None:
    photos, elsewhere = tmp_path / "photos", tmp_path / "elsewhere"
    touch(photos / "one.jpg", elsewhere / "two.jpg")
    (photos / "to-elsewhere").symlink_to(elsewhere)
    (elsewhere / "back").symlink_to(photos)
    (photos / "zz-itself").symlink_to(photos)
    found = [Path(photo).resolve() for photo in expand_folders([str(photos)])]
    assert found == [(photos / "one.jpg").resolve(), (elsewhere / "two.jpg").resolve()]


def test_standard_input_is_a_photo_and_only_one() -> None:
    assert expand_folders(["a.jpg", "-"]) == ["a.jpg", "-"]
    with pytest.raises(InputError, match="holds one photo"):
        expand_folders(["-", "a.jpg", "-"])


def test_a_photo_from_standard_input_is_the_same_photo(
    tiny_bundle: Path, tiny_photos: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    photo = min((tiny_photos / "photos").iterdir())

    def line(name: str) -> dict:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(photo.read_bytes())))
        assert locate_photos(LocateArguments(photos=[name], bundle=tiny_bundle, quiet=True)) == 0
        return json.loads(capsys.readouterr().out)

    piped, named = line("-"), line(str(photo))
    assert (piped.pop("photo"), named.pop("photo")) == ("-", str(photo))
    for answer in (piped, named):
        del answer["timings_ms"]
    assert piped == named


def arguments(folder: Path, text: str | None = None, **options: object) -> LocateArguments:
    listed = folder / "known.csv"
    if text is not None:
        listed.write_text(text)
    return LocateArguments(photos=[], bundle=Path("b"), priors=listed if text else None, **options)


def test_what_a_list_says_goes_over_what_is_said_of_all(tmp_path: Path) -> None:
    photos = [str(tmp_path / name) for name in ("a.jpg", "b.jpg")]
    touch(*map(Path, photos))
    text = "photo,lon,lat,sigma_m,heading_deg,altitude_m,altitude_sigma_m\na.jpg,14.5,48.5,30,,120,6\n"
    given = arguments(
        tmp_path, text, near="14.0,48.0+-90", heading="10+-3", altitude="420@sea", ground_height_m=300.0
    )
    known = _priors(given, photos)
    rest = {"heading_deg": 10.0, "heading_sigma_deg": 3.0}
    place = Point.from_lonlat(14.5, 48.5)
    assert known[photos[0]] == Prior(
        near=place, near_sigma_m=30.0, altitude_m=120.0, altitude_sigma_m=6.0, **rest
    )
    assert known[photos[1]] == Prior(
        near=Point.from_lonlat(14.0, 48.0), near_sigma_m=90.0, altitude_m=120.0, altitude_sigma_m=20.0, **rest
    )


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("photo,lon,lat\nother.jpg,14,48\n", "line 2, column photo: 'other.jpg'"),
        ("photo,lon,lat\na.jpg,14,48\na.jpg,14,48\n", "line 3, column photo: 'a.jpg'"),
        ("photo,lon,lat\na.jpg,14,\n", "line 2, column lat: ''"),
        ("photo,lon,lat\na.jpg,14,x\n", "line 2, column lat: 'x'"),
        ("photo,sigma_m\na.jpg,50\n", "line 2, column sigma_m: '50'"),
        ("photo,heading_deg\na.jpg,400\n", "line 2, column heading_deg: '400'"),
        ("photo,altitude_m\n\na.jpg,-3\n", "line 3, column altitude_m: '-3'"),
        ("photo,heading\na.jpg,40\n", "line 1: column heading"),
        ("lon,lat\n14,48\n", "line 1: no column photo"),
    ],
)
def test_what_is_wrong_with_a_list_is_named_by_its_line(tmp_path: Path, text: str, where: str) -> None:
    touch(tmp_path / "a.jpg")
    with pytest.raises(InputError, match="list") as caught:
        _priors(arguments(tmp_path, text), [str(tmp_path / "a.jpg")])
    assert caught.value.code == "manifest.invalid"
    assert where in caught.value.seen


def test_the_photos_own_position_is_an_option(tmp_path: Path) -> None:
    assert not _options(arguments(tmp_path)).priors.exif_position
    assert _options(arguments(tmp_path, use_exif_position=True)).priors.exif_position
