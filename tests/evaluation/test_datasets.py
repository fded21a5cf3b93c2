"""Other people's test sets give the same rows as our manifest, or a clear error."""

from pathlib import Path

import pytest

from nadirfix.errors import InputError
from nadirfix.evaluation.datasets import detect_format, read_queries
from nadirfix.photo_list import PhotoRecord, write_photo_list
from nadirfix.types import Point

POINT = Point(584_123.4, 4_477_000.5, 32617)


def folder_of(tmp_path: Path, *names: str) -> Path:
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    return tmp_path


def test_utm_names_with_a_zone(tmp_path):
    name = "@584123.4@4477000.5@17@T@40.44@-80.01@pano@3@370.0@0@0@120@2020@note@.jpg"
    (row,) = read_queries(folder_of(tmp_path, name))
    assert row.point == POINT
    assert row.heading_deg == 10.0
    assert row.altitude_m is None  # the height does not say above what


def test_utm_names_south_of_the_equator(tmp_path):
    (row,) = read_queries(folder_of(tmp_path, "sub/@584123.4@7477000.5@17@K@@@.png"))
    assert row.point.epsg == 32717


def test_utm_names_latitude_decides_over_a_letter_that_means_south(tmp_path):
    (row,) = read_queries(folder_of(tmp_path, "@584123.4@7477000.5@17@S@-22.8@-80@.png"))
    assert row.point.epsg == 32717


def test_utm_names_without_a_zone_need_one(tmp_path):
    folder = folder_of(tmp_path, "@584123.4@4477000.5@.jpg")
    with pytest.raises(InputError, match="--epsg"):
        read_queries(folder)
    assert read_queries(folder, epsg=32617)[0].point == POINT


def test_ae_vpr_names(tmp_path):
    folder = folder_of(tmp_path, "@2022@250.0@-30@584123.4@4477000.5@.png")
    with pytest.raises(InputError, match="--epsg"):
        read_queries(folder)
    (row,) = read_queries(folder, epsg=32617)
    assert (row.point, row.altitude_m, row.heading_deg) == (POINT, 250.0, 330.0)


def test_ae_vpr_years_may_be_words(tmp_path):
    folder = folder_of(tmp_path, "@CT01-new@250.0@0@584123.4@4477000.5@.png")
    assert read_queries(folder, epsg=32617)[0].altitude_m == 250.0


def test_uav_visloc(tmp_path):
    folder_of(tmp_path, "drone/03_0001.JPG", "drone/03_0002.JPG")
    table = tmp_path / "03.csv"
    table.write_text(
        "num,filename,date,lat,lon,height,Omega,Kappa,Phi1,Phi2\n"
        "1,03_0001.JPG,2022,32.1,119.9,466.0,1.0,-2.0,-90.0,-91.0\n"
        "2,03_0002.JPG,2022,32.2,119.9,466.0,1.0,-2.0,91.0,90.0\n"
    )
    first, second = read_queries(table)
    assert first.point.lonlat == pytest.approx((119.9, 32.1))
    assert (first.heading_deg, second.heading_deg) == (270.0, 91.0)
    assert first.altitude_m is None  # height is above the sea


def test_uav_visloc_without_angles(tmp_path):
    folder_of(tmp_path, "07_0001.JPG")
    (tmp_path / "07.csv").write_text("num,filename,date,lat,lon,height\n1,07_0001.JPG,2022,32.1,119.9,466\n")
    assert read_queries(tmp_path / "07.csv")[0].heading_deg is None


@pytest.mark.parametrize(
    ("line", "named"), [("1,no.JPG,2022,32.1,119.9,4", "no.JPG"), ("1,07.JPG,2022,x,119.9,4", "lat 'x'")]
)
def test_uav_visloc_errors_name_the_line(tmp_path, line, named):
    folder_of(tmp_path, "07.JPG")
    (tmp_path / "07.csv").write_text(f"num,filename,date,lat,lon,height\n{line}\n")
    with pytest.raises(InputError, match=f"line 2.*{named}"):
        read_queries(tmp_path / "07.csv")


def test_our_manifest_by_file_or_by_folder(tmp_path):
    folder_of(tmp_path, "photos/a.jpg")
    write_photo_list(
        tmp_path / "manifest.csv",
        [PhotoRecord(photo=tmp_path / "photos/a.jpg", point=POINT, altitude_m=150.0)],
    )
    for source in (tmp_path, tmp_path / "manifest.csv"):
        assert detect_format(source) == "manifest"
        assert read_queries(source)[0].altitude_m == 150.0


@pytest.mark.parametrize(
    "names",
    [
        ("a.jpg",),
        ("@584123.4@4477000.5@17@T@.jpg", "@2022@250.0@0@584123.4@4477000.5@.png"),
        ("@1@2@.jpg",),
        ("readme.txt",),
    ],
)
def test_unsure_is_an_error_that_asks(tmp_path, names):
    with pytest.raises(InputError, match="--format"):
        detect_format(folder_of(tmp_path, *names))


def test_missing_and_unknown(tmp_path):
    with pytest.raises(InputError, match="nothing there"):
        read_queries(tmp_path / "none")
    with pytest.raises(InputError, match="--format exif"):
        read_queries(tmp_path, kind="exif")


def test_a_name_that_does_not_fit_the_format_given(tmp_path):
    with pytest.raises(InputError, match=r"a\.jpg"):
        read_queries(folder_of(tmp_path, "a.jpg"), kind="utm-names")
    with pytest.raises(InputError, match=r"a\.jpg"):
        read_queries(tmp_path, kind="ae-vpr", epsg=32617)
