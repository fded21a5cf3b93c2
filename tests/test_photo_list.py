"""Lists of photos and views: what is right comes back exact, what is wrong is named by line and column."""

from __future__ import annotations

from pathlib import Path

import pytest

from nadirfix.errors import InputError, OutputError
from nadirfix.photo_list import PhotoRecord, read_photo_list, read_views, write_photo_list
from nadirfix.types import Point, View

PLACE = Point(500_123.4567, 4_649_776.25, 32633)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").write_bytes(b"x")
    return tmp_path


def listed(folder: Path, text: str, *, encoding: str = "utf-8") -> Path:
    path = folder / "list.csv"
    path.write_bytes(text.encode(encoding))
    return path


def refusal(path: Path, *, views: bool = False) -> str:
    with pytest.raises(InputError) as caught:
        (read_views if views else read_photo_list)(path)
    assert (caught.value.code, caught.value.exit_number) == ("manifest.invalid", 2)
    assert str(path) in caught.value.seen
    return str(caught.value)


def test_degrees(folder: Path) -> None:
    [row] = read_photo_list(listed(folder, "photo,lon,lat,altitude_m\nphotos/a.jpg,15.05,42.0,120.5\n"))
    assert row.photo == folder / "photos" / "a.jpg"
    assert row.point.distance_m(Point.from_lonlat(15.05, 42.0)) < 1e-6
    assert (row.altitude_m, row.heading_deg) == (120.5, None)


def test_metres_in_any_projected_system(folder: Path) -> None:
    text = "photo,easting_m,northing_m,epsg,altitude_m\nphotos/a.jpg,{},{},{},1\n"
    [utm] = read_photo_list(listed(folder, text.format(PLACE.east_m, PLACE.north_m, 32633)))
    assert utm.point == PLACE
    # 15° E, 42° N in Web Mercator, computed by hand: R·π/12, R·ln tan(45° + 21°).
    [web] = read_photo_list(listed(folder, text.format(1669792.3619, 5160979.4440, 3857)))
    assert web.point.distance_m(Point.from_lonlat(15, 42)) < 0.01


def test_spreadsheet_habits_are_tolerated(folder: Path) -> None:
    text = "\ufeff photo , lon , lat , altitude_m , remark \r\n photos/a.jpg , 15 , 42 ,  , hello \r\n\r\n"
    [row] = read_photo_list(listed(folder, text))
    assert row.altitude_m is None


def test_absolute_photo_path(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("other") / "b.jpg"
    elsewhere.write_bytes(b"x")
    [row] = read_photo_list(listed(folder, f"photo,lon,lat,altitude_m\n{elsewhere},15,42,100\n"))
    assert row.photo == elsewhere


def test_what_is_written_is_read_back(folder: Path) -> None:
    row = PhotoRecord(
        photo=folder / "photos" / "a.jpg", point=PLACE, altitude_m=123.4, heading_deg=0.0, tilt_deg=1.5,
        tilt_toward_deg=90.0, valid_share=0.75,
    )  # fmt: skip
    write_photo_list(folder / "m.csv", [row, row])
    assert (folder / "m.csv").read_text().splitlines()[1].startswith("photos/a.jpg,")
    assert read_photo_list(folder / "m.csv") == [row, row]


def test_photo_list_can_be_used_as_views(folder: Path) -> None:
    row = PhotoRecord(photo=folder / "photos" / "a.jpg", point=PLACE, altitude_m=123.4, heading_deg=10.0)
    write_photo_list(folder / "m.csv", [row])
    assert read_views(folder / "m.csv") == [View(PLACE, 123.4, 10.0)]


def test_photo_list_is_not_replaced_unless_allowed(folder: Path) -> None:
    (folder / "m.csv").write_text("mine")
    with pytest.raises(OutputError):
        write_photo_list(folder / "m.csv", [], overwrite=False)
    assert (folder / "m.csv").read_text() == "mine"


@pytest.mark.parametrize(
    ("header", "missing"),
    [
        ("lon,lat,altitude_m", "photo"),
        ("photo,lon,altitude_m", "lat"),
        ("photo,easting_m,northing_m,altitude_m", "lon, lat"),
        ("photo,lon,lat", "altitude_m"),
        ("photo;lon;lat;altitude_m", "photo, altitude_m"),
    ],
)
def test_missing_column_is_named(folder: Path, header: str, missing: str) -> None:
    assert f"line 1: no column {missing} among" in refusal(listed(folder, f"{header}\n1\n"))


@pytest.mark.parametrize(
    ("line", "column", "value"),
    [
        ("photos/b.jpg,15,42,100,", "photo", "photos/b.jpg"),
        (",15,42,100,", "photo", ""),
        ("photos,15,42,100,", "photo", "photos"),
        ("photos/a.jpg,east,42,100,", "lon", "east"),
        ("photos/a.jpg,15,nan,100,", "lat", "nan"),
        ("photos/a.jpg,15,,100,", "lat", ""),
        ("photos/a.jpg,215,42,100,", "lon", "215"),
        ("photos/a.jpg,15,42,0,", "altitude_m", "0"),
        ("photos/a.jpg,15,42,-5,", "altitude_m", "-5"),
        ("photos/a.jpg,15,42,inf,", "altitude_m", "inf"),
        ("photos/a.jpg,15,42,100,north", "heading_deg", "north"),
    ],
)
def test_wrong_value_is_named_by_line_and_column(folder: Path, line: str, column: str, value: str) -> None:
    text = f"photo,lon,lat,altitude_m,heading_deg\nphotos/a.jpg,15,42,100,\n\n{line}\n"
    assert f"line 4, column {column}: {value!r}" in refusal(listed(folder, text))


def test_two_forms_that_disagree(folder: Path) -> None:
    text = (
        "photo,lon,lat,easting_m,northing_m,epsg,altitude_m\nphotos/a.jpg,15.001,42,5e5,4649776,32633,100\n"
    )
    assert "Make both forms one place" in refusal(listed(folder, text))


@pytest.mark.parametrize("epsg", ["4326", "1", "32633.5", "x", ""])
def test_epsg_must_be_a_projected_system(folder: Path, epsg: str) -> None:
    text = f"easting_m,northing_m,epsg,altitude_m,heading_deg\n15,42,{epsg},100,0\n"
    assert "line 2, column epsg" in refusal(listed(folder, text), views=True)


def test_views_need_every_column(folder: Path) -> None:
    text = "easting_m,northing_m,epsg,altitude_m\n500000,4649776,32633,100\n"
    assert "no column heading_deg" in refusal(listed(folder, text), views=True)


def test_views_in_order_with_tilt(folder: Path) -> None:
    text = (
        "easting_m,northing_m,epsg,altitude_m,heading_deg,tilt_deg,tilt_toward_deg\n"
        "500000,4649776,32633,100,350,2,90\n500001,4649776,32633,200,10,,\n"
    )
    first, second = read_views(listed(folder, text))
    assert first == View(Point(500_000, 4_649_776, 32633), 100, 350, 2, 90)
    assert (second.center.east_m, second.altitude_m, second.tilt_deg) == (500_001, 200, 0)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no column names"),
        ("photo,lon,lat,altitude_m\n", "no lines below"),
        ("photo,lon,lat,lat,altitude_m\na,1,2,3,4\n", "column lat is there twice"),
        ("photo,lon,lat,altitude_m\nphotos/a.jpg,15,42\n", "line 2: 3 values for 4 columns"),
        ("photo,lon,lat,altitude_m\nphotos/a.jpg,15,42,100,9\n", "line 2: 5 values for 4 columns"),
        ('photo,lon,lat,altitude_m\n"photos/a.jpg,15,42,100\n', "line 2"),
    ],
)
def test_broken_list(folder: Path, text: str, why: str) -> None:
    assert why in refusal(listed(folder, text))


def test_list_that_cannot_be_read(folder: Path) -> None:
    assert "No such file" in refusal(folder / "none.csv")
    assert "directory" in refusal(folder)
    assert "not UTF-8" in refusal(listed(folder, "photo,lön\n", encoding="latin-1"))


def test_photos_beside_the_list_s_folder_are_found_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path relative to where the command runs is none that a reader of the list could follow."""
    monkeypatch.chdir(tmp_path)
    for folder in ("photos", "out"):
        Path(folder).mkdir()
    Path("photos/a.jpg").write_bytes(b"")
    row = PhotoRecord(
        photo=Path("photos/a.jpg"), point=Point(500_000.0, 5_400_000.0, 32633), altitude_m=100.0
    )
    write_photo_list(Path("out/manifest.csv"), [row])
    monkeypatch.chdir("/")
    (again,) = read_photo_list(tmp_path / "out" / "manifest.csv")
    assert again.photo.resolve() == (tmp_path / "photos" / "a.jpg").resolve()
