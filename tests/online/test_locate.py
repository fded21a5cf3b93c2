"""``nadirfix locate`` as a pilot and a program see it: one answer, whichever door it comes through."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from packaging.requirements import Requirement
from PIL import ExifTags, Image
from PIL.TiffImagePlugin import IFDRational

from nadirfix.bundle import Bundle
from nadirfix.camera import DEFAULT_CAMERA
from nadirfix.errors import InputError
from nadirfix.files import quiet as silent
from nadirfix.geo.geomap import GeoMap
from nadirfix.online import locate
from nadirfix.options.locate import LocateOptions
from nadirfix.photo_list import read_photo_list
from nadirfix.types import Fix, Point, View
from tests.command import PROGRAM, nadirfix

ROOT = Path(__file__).parents[2]
KML = {"k": "http://www.opengis.net/kml/2.2"}
FIELDS = [
    "photo", "status", "lon", "lat", "easting_m", "northing_m", "epsg", "altitude_m", "gsd_m", "heading_deg",
    "confidence", "radius95_m", "candidates", "timings_ms",
]  # fmt: skip
STAGES = {"decode", "altitude", "crop", "embed", "classify", "retrieve", "fuse", "total"}


def lines(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode in (0, 2), done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def untimed(record: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in record.items() if k != "timings_ms"}


@pytest.fixture(scope="module")
def photos(tiny_photos: Path) -> list[Path]:
    return sorted((tiny_photos / "photos").iterdir())


@pytest.fixture(scope="module")
def answers(tiny_bundle: Path, photos: list[Path]) -> list[dict[str, Any]]:
    """What Python says."""
    bundle = Bundle.load(tiny_bundle)
    return [locate(str(photo), bundle=bundle).to_dict() for photo in photos]


def test_lines_are_what_python_says(tiny_bundle: Path, photos: list[Path], answers: list[dict]) -> None:
    done = nadirfix("locate", photos[0].parent, "--bundle", tiny_bundle)
    assert done.returncode == 0, done.stderr
    assert [untimed(line) for line in lines(done)] == [untimed(answer) for answer in answers]
    assert "locating" in done.stderr
    for line in lines(done):
        assert set(FIELDS) <= set(line)
        assert set(line["timings_ms"]) >= STAGES
        assert all(name in STAGES or name.startswith("verify") for name in line["timings_ms"])
        assert 1 <= len(line["candidates"]) <= 10
        assert sum(c["weight"] for c in line["candidates"]) == pytest.approx(1)
        assert [c["rank"] for c in line["candidates"]] == list(range(1, len(line["candidates"]) + 1))


@pytest.mark.parametrize("form", ["csv", "geojson", "kml"])
def test_every_format_gives_the_same_answer(
    tiny_bundle: Path, photos: list[Path], answers: list[dict], form: str, tmp_path: Path
) -> None:
    out = tmp_path / f"answers.{form}"
    command = ["locate", *photos, "--bundle", tiny_bundle, "--format", form]
    filed, printed = nadirfix(*command, "--out", out, "--quiet"), nadirfix(*command, "--quiet")
    assert (filed.returncode, filed.stdout, filed.stderr) == (0, "", "")
    for text in (out.read_text(encoding="utf-8"), printed.stdout):
        places = {"csv": csv_places, "geojson": geojson_places, "kml": kml_places}[form](text)
        assert places == [(a["photo"], a["lon"], a["lat"], a["altitude_m"]) for a in answers]


def csv_places(text: str) -> list[tuple]:
    rows = csv.DictReader(io.StringIO(text))
    return [(r["photo"], float(r["lon"]), float(r["lat"]), float(r["altitude_m"])) for r in rows]


def geojson_places(text: str) -> list[tuple]:
    features = [f for f in json.loads(text)["features"] if f["properties"]["role"] == "unverified"]
    found = [(f["properties"], f["geometry"]["coordinates"]) for f in features]
    return [(p["photo"], lon, lat, p["altitude_m"]) for p, (lon, lat) in found]


def kml_places(text: str) -> list[tuple]:
    folders = ElementTree.fromstring(text).findall("k:Document/k:Folder", KML)
    places = []
    for mark in (folder.find("k:Placemark", KML) for folder in folders):
        assert mark is not None
        lon, lat = (float(v) for v in str(mark.findtext("k:Point/k:coordinates", None, KML)).split(","))
        data = {d.get("name"): d.findtext("k:value", None, KML) for d in mark.iter(f"{{{KML['k']}}}Data")}
        name, unverified, _ = str(mark.findtext("k:name", None, KML)).rpartition(" (unverified)")
        assert unverified, "the bundle has no matcher, and the map shows it"
        places.append((name, lon, lat, float(str(data["altitude_m"]))))
    return places


def test_options_reach_the_answer(tiny_bundle: Path, photos: list[Path]) -> None:
    bundle, photo = Bundle.load(tiny_bundle), str(photos[0])
    done = nadirfix(
        "locate", photo, "--bundle", tiny_bundle, "--no-wce", "--altitude", "150+-20",
        "--camera", "1024x768@700", "--quiet",
    )  # fmt: skip
    lens = DEFAULT_CAMERA.parse("1024x768@700")
    given = {"altitude_m": 150.0, "altitude_sigma_m": 20.0}
    want = locate(photo, bundle=bundle, camera=lens, **given, options=LocateOptions(weighted=False))
    assert [untimed(line) for line in lines(done)] == [untimed(want.to_dict())]
    assert want.candidates is not None
    assert want.position == want.candidates.point(0)
    assert want.altitude_m == 150.0


@pytest.mark.parametrize("spelled", ["150", "150+-20", "150±20", " 150 +/- 20 "])
def test_altitude_may_come_with_how_sure_it_is(tiny_bundle: Path, photos: list[Path], spelled: str) -> None:
    done = nadirfix("locate", photos[0], "--bundle", tiny_bundle, "--altitude", spelled, "--quiet")
    assert lines(done)[0]["altitude_m"] == 150.0


@pytest.mark.parametrize("spelled", ["high", "-5", "0", "150+-x", "150+-", "nan", "inf", "150+--3", "1e300"])
def test_altitude_that_is_none_is_said_at_once(tiny_bundle: Path, photos: list[Path], spelled: str) -> None:
    done = nadirfix("locate", photos[0], "--bundle", tiny_bundle, f"--altitude={spelled}")
    assert (done.returncode, done.stdout) == (2, "")
    assert "[altitude.invalid]" in done.stderr


@pytest.mark.parametrize("altitude_m", [1e308, 1e-300, float("inf"), float("nan"), -1.0])
def test_python_says_it_as_well(tiny_bundle: Path, photos: list[Path], altitude_m: float) -> None:
    with pytest.raises(InputError) as caught:
        locate(photos[0], bundle=Bundle.load(tiny_bundle), altitude_m=altitude_m)
    assert caught.value.code == "altitude.invalid"


def test_one_bad_photo_never_stops_the_rest(tiny_bundle: Path, photos: list[Path], tmp_path: Path) -> None:
    broken, empty = tmp_path / "broken.jpg", tmp_path / "no photos"
    broken.write_bytes(photos[0].read_bytes()[:2000])
    empty.mkdir()
    photo_paths = [photos[0], broken, tmp_path / "not-there.jpg", empty, photos[1]]
    done = nadirfix("locate", *photo_paths, "--bundle", tiny_bundle)
    answered = lines(done)
    assert done.returncode == 2
    assert [line["photo"] for line in answered] == [str(photo) for photo in photo_paths]
    assert [line["status"] for line in answered] == ["unverified", "error", "error", "error", "unverified"]
    codes = [line["error"]["code"] for line in answered[1:4]]
    assert codes == ["photo.unreadable", "photo.missing", "photo.missing"]
    assert all(set(line["error"]) == {"code", "message", "hint"} for line in answered[1:4])
    assert str(broken) in done.stderr


@pytest.mark.parametrize("spelled", [("--bundle", "{}"), ("--bundle={}",)], ids=["plain", "typer"])
def test_a_listener_that_goes_away_ends_the_work_in_one_line(
    tiny_bundle: Path, photos: list[Path], spelled: tuple[str, ...]
) -> None:
    """As in ``locate ... | head -1``: whoever listened has heard enough."""
    named = [word.format(tiny_bundle) for word in spelled]
    command = [PROGRAM, "locate", *photos, *photos, *named, "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None and running.stderr is not None
        assert json.loads(running.stdout.readline())["photo"] == str(photos[0])
        running.stdout.close()
        stderr = running.stderr.read()
    assert running.returncode == 7
    assert stderr.count("\n") == 1 and "[output.unwritable]" in stderr, stderr


def test_height_above_the_sea_counts_where_the_ground_s_is_given(
    tiny_bundle: Path, photos: list[Path], tmp_path: Path
) -> None:
    """The photo's GPSAltitude above ground that is told, weighed beside what the picture says."""
    high = tmp_path / "high.jpg"
    with Image.open(photos[0]) as picture:
        tags = picture.getexif()
        tags.get_ifd(ExifTags.IFD.GPSInfo).update(
            {ExifTags.GPS.GPSAltitude: IFDRational(5915, 10), ExifTags.GPS.GPSAltitudeRef: 0}
        )
        picture.save(high, exif=tags, quality=95)
    command = ("locate", high, "--bundle", tiny_bundle, "--quiet")
    (plain,), (with_tag,) = lines(nadirfix(*command)), lines(nadirfix(*command, "--ground-height", "451.5"))
    assert [source["source"] for source in plain["altitude_sources"]] == ["picture"]
    assert with_tag["altitude_sources"][0] == plain["altitude_sources"][0]
    assert with_tag["altitude_sources"][1:] == [
        {"source": "GPSAltitude", "altitude_m": 140.0, "sigma_m": 20.0}
    ]
    assert 100 < with_tag["altitude_m"] < 180
    (below,) = lines(nadirfix(*command, "--ground-height", "900"))
    assert below["altitude_sources"] == plain["altitude_sources"], "no photo is taken from below the ground"


@pytest.mark.parametrize("height", ["nan", "inf", "-501", "9001", "29000"])
def test_a_height_no_ground_has_is_said_at_once(tiny_bundle: Path, photos: list[Path], height: str) -> None:
    done = nadirfix("locate", photos[0], "--bundle", tiny_bundle, f"--ground-height={height}")
    assert (done.returncode, done.stdout) == (2, "")
    assert "[options.invalid]" in done.stderr and "-500 to 9000" in done.stderr


@pytest.mark.parametrize("form", ["jsonl", "csv", "geojson", "kml"])
def test_bad_photos_are_in_every_format(tiny_bundle: Path, tmp_path: Path, form: str) -> None:
    out = tmp_path / "answers"
    done = nadirfix("locate", "none.jpg", "--bundle", tiny_bundle, "--format", form, "--out", out, "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")
    assert "photo.missing" in out.read_text(encoding="utf-8")


def test_folders_become_their_photos_and_arguments_are_echoed(
    tiny_bundle: Path, photos: list[Path], tmp_path: Path
) -> None:
    flight = tmp_path / "flight"
    (flight / "deeper").mkdir(parents=True)
    for name in ("b.JPG", "a.jpg", "deeper/c.jpg"):
        shutil.copy(photos[0], flight / name)
    (flight / "notes.txt").write_text("not a photo")
    (flight / "folder.jpg").mkdir()
    done = nadirfix(
        "locate", "./flight", "./flight/../flight/a.jpg", "--bundle", tiny_bundle, "--quiet", cwd=tmp_path
    )
    assert [line["photo"] for line in lines(done)] == [
        "./flight/a.jpg", "./flight/b.JPG", "./flight/deeper/c.jpg", "./flight/../flight/a.jpg",
    ]  # fmt: skip


def test_a_photo_whose_name_is_no_text(tiny_bundle: Path, photos: list[Path], tmp_path: Path) -> None:
    odd = os.fsencode(tmp_path) + b"/\xff.jpg"
    shutil.copy(photos[0], odd)
    command = [PROGRAM, "locate", odd, "--bundle", tiny_bundle, "--quiet"]
    done = subprocess.run(command, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert os.fsencode(json.loads(done.stdout)["photo"]) == odd


def test_output_is_not_replaced_unasked(tiny_bundle: Path, photos: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    out.write_text("precious")
    command = ["locate", photos[0], "--bundle", tiny_bundle, "--out", out, "--quiet"]
    refused = nadirfix(*command)
    assert refused.returncode == 7
    assert "[output.exists]" in refused.stderr
    assert out.read_text() == "precious"
    unlike_ours = nadirfix(*command, "--overwrite")
    assert unlike_ours.returncode == 7 and "allow replacing" not in unlike_ours.stderr
    assert out.read_text() == "precious"
    out.write_text('{"photo": "a.jpg", "status": "fix"}\n')
    assert nadirfix(*command, "--overwrite").returncode == 0
    assert json.loads(out.read_text())["status"] == "unverified"
    assert list(tmp_path.iterdir()) == [out]


def test_no_bundle_is_exit_4(photos: list[Path], tmp_path: Path) -> None:
    done = nadirfix("locate", photos[0], "--bundle", tmp_path / "none.nadir")
    assert (done.returncode, done.stdout) == (4, "")
    assert "[bundle.missing]" in done.stderr


def test_answers_reach_standard_output_while_a_bar_is_drawn(tiny_bundle: Path, photos: list[Path]) -> None:
    """On a terminal the bar catches what is printed; answers piped elsewhere must not end up in it."""
    watcher, terminal = pty.openpty()
    command = [PROGRAM, "locate", photos[0], photos[1], "--bundle", tiny_bundle]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, text=True) as running:
        stdout, _ = running.communicate(timeout=120)
    os.close(terminal)
    os.close(watcher)
    assert [json.loads(line)["status"] for line in stdout.splitlines()] == ["unverified", "unverified"]


def test_answers_come_one_by_one(tiny_bundle: Path, photos: list[Path]) -> None:
    """When the second photo is looked at, the first one's line has left."""
    from nadirfix.cli.locating import Format, _answer, _write_all

    bundle = Bundle.load(tiny_bundle)
    written: list[str] = []
    written_before: list[int] = []

    def place(photo: str) -> Fix:
        written_before.append(len(written))
        return locate(photo, bundle=bundle)

    paths = [str(photo) for photo in photos[:3]]
    answers = (_answer(path, place) for path in paths)
    assert _write_all(answers, 3, Format.JSONL, written.append, silent, quiet=True) == 0
    assert written_before == [0, 1, 2]


def test_a_fault_of_our_own_stays_with_its_photo(tiny_bundle: Path, photos: list[Path]) -> None:
    from nadirfix.cli.locating import Format, _answer, _write_all

    bundle = Bundle.load(tiny_bundle)
    written: list[str] = []

    def place(photo: str) -> Fix:
        if photo == "odd":
            raise ZeroDivisionError("a bug")
        return locate(photo, bundle=bundle)

    photo_paths = [str(photos[0]), "odd", "not-there.jpg", str(photos[1])]
    answers = (_answer(photo, place) for photo in photo_paths)
    assert _write_all(answers, 4, Format.JSONL, written.append, silent, quiet=True) == 1
    answered = [json.loads(line) for line in written]
    assert [line["status"] for line in answered] == ["unverified", "error", "error", "unverified"]
    assert [line["error"]["code"] for line in answered[1:3]] == ["internal.error", "photo.missing"]


def test_a_photo_taken_where_a_reference_looks_from_finds_it(tiny_bundle: Path, tiny_world: Path) -> None:
    """Untrained networks know no place by heart, but the same ground at the same scale looks the same.

    Only references that lie wholly on the map: beyond its edge a test photo shows something else.
    """
    bundle = Bundle.load(tiny_bundle)
    options = LocateOptions(weighted=False, cells=0)
    found = []
    with GeoMap.open(tiny_world / "old.tif") as ground:
        for row in np.random.default_rng(2).permutation(len(bundle.references)):
            view = reference_view(bundle, row)
            rendered = ground.render(view, DEFAULT_CAMERA, (1024, 768))
            if rendered.valid_share < 1:
                continue
            photo = io.BytesIO()
            Image.fromarray(rendered.pixels).save(photo, "PNG")
            fix = locate(photo.getvalue(), bundle=bundle, altitude_m=view.altitude_m, options=options)
            assert fix.position is not None
            found.append((fix.position.distance_m(view.center), fix.heading_deg == view.heading_deg))
            if len(found) == 8:
                break
    print("metres off and heading right:", found)
    assert found == [(0.0, True)] * 8


def reference_view(bundle: Bundle, row: int) -> View:
    known = bundle.references
    place = Point(float(known.east_m[row]), float(known.north_m[row]), bundle.epsg)
    return View(place, bundle.canonical.altitude_m, float(known.heading_deg[row]))


LOCATE = """
import sys
from nadirfix.cli import main
{before}
code = main()
print("LOADED", *sorted({{name.partition(".")[0] for name in sys.modules}}), file=sys.stderr)
sys.exit(code)
"""


#: As if they were not installed: a library that looks for another in passing finds nothing.
BLOCK = """
class NotInstalled:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {beyond}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, NotInstalled)
"""


def run_in_python(before: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", LOCATE.format(before=before), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_locating_never_loads_torch(tiny_bundle: Path, photos: list[Path]) -> None:
    done = run_in_python("", "locate", photos[0], "--bundle", tiny_bundle, "--quiet")
    assert lines(done)[0]["status"] == "unverified"
    loaded = set(done.stderr.rpartition("LOADED ")[2].split())
    slow = {"scipy", "sklearn", "pydantic", "pandas", "matplotlib", "pyarrow", "faiss", "fastapi"}
    assert not {"torch", "transformers", "safetensors", "onnx", "onnxscript", "rasterio", *slow} & loaded
    assert "onnxruntime" in loaded


def test_locating_needs_no_library_beyond_the_core(
    tiny_bundle: Path, photos: list[Path], answers: list[dict]
) -> None:
    """Everything the core install would not bring is made impossible to import."""
    core = core_distributions()
    homes = metadata.packages_distributions()
    beyond = sorted(m for m, dists in homes.items() if not {canonical(d) for d in dists} & core)
    assert {"torch", "transformers", "pytest", "pyarrow", "sklearn"} <= set(beyond)
    done = run_in_python(BLOCK.format(beyond=beyond), "locate", photos[0], "--bundle", tiny_bundle, "--quiet")
    assert [untimed(line) for line in lines(done)] == [untimed(answers[0])]


def core_distributions() -> set[str]:
    """Ourselves and all that our dependencies require, extras left out."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {"nadirfix"}.union(*(with_requirements(name) for name in needed(project["dependencies"])))


@cache
def with_requirements(name: str) -> frozenset[str]:
    parts = (with_requirements(other) for other in needed(metadata.requires(name) or []))
    return frozenset({canonical(name)}.union(*parts))


def needed(requirements: list[str]) -> set[str]:
    parsed = [Requirement(text) for text in requirements]
    return {r.name for r in parsed if r.marker is None or r.marker.evaluate({"extra": ""})}


def canonical(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


@pytest.mark.slow
@pytest.mark.long
def test_locating_in_a_fresh_core_environment(
    tiny_bundle: Path, tiny_world: Path, tiny_photos: Path, photos: list[Path], answers: list[dict]
) -> None:
    """The wheel alone: both bundles of one recipe are the same, so both answers are; the default verifies.

    Last, the README's own example, whose photo's truth it states: on the command line, and served.
    """
    ground = tiny_world / "old.tif"
    script = ROOT / "tests" / "core_install.sh"
    command = [script, tiny_bundle, photos[0], ground, ROOT / "README.md", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, timeout=580)
    answered = lines(done)
    print(done.stderr)
    nameless = [{**untimed(line), "photo": ""} for line in [*answered, answers[0]]]
    assert nameless[:2] == [nameless[-1]] * 2
    standard, readme, _ = answered[2:]
    assert nameless[4] == nameless[3], "served as located"
    assert all(set(line) == set(answers[0]) for line in (standard, readme))
    truth = read_photo_list(tiny_photos / "manifest.csv")[0]
    place = Point(standard["easting_m"], standard["northing_m"], standard["epsg"])
    assert standard["status"] == readme["status"] == "fix", "what ships verifies"
    assert place.distance_m(truth.point) < 10
    assert standard["altitude_m"] == pytest.approx(truth.altitude_m, rel=0.05)
    promised = json.loads(re.findall(r"```json\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[0])
    printed = Point.from_lonlat(promised["lon"], promised["lat"])
    assert printed.distance_m(Point.from_lonlat(readme["lon"], readme["lat"])) < 0.5, "as the README shows it"


@pytest.mark.parametrize(("altitude_m", "sigma_m"), [(None, None), (140.0, None), (140.0, 20.0)])
def test_the_whole_frame_may_vote(
    tiny_bundle: Path, photos: list[Path], altitude_m: float | None, sigma_m: float | None
) -> None:
    bundle = Bundle.load(tiny_bundle)
    options = LocateOptions(whole_frame=True)
    known = {"altitude_m": altitude_m, "altitude_sigma_m": sigma_m}
    fix = locate(photos[0], bundle=bundle, options=options, **known)
    assert fix.status == "unverified" and "votes" in fix.timings_ms
    assert fix.altitude_m is not None and fix.gsd_m == pytest.approx(fix.altitude_m / 600.0)
    west, south, east, north = bundle.texture.bounds
    assert west < fix.position.east_m < east and south < fix.position.north_m < north
    plain = locate(photos[0], bundle=bundle, altitude_m=altitude_m)
    assert fix.candidates.reference.tolist() == plain.candidates.reference.tolist()
    assert fix.position != plain.position


def test_networks_are_chosen_by_how_many_pictures_they_will_see(
    tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One photo goes through the altitude network once, through the others many times."""
    from nadirfix.bundle import layout as parts
    from nadirfix.bundle import networks as opened

    runs_of: dict[str, int | None] = {}

    def load(files, *, expected_runs: int | None = None, **_more: object) -> None:
        runs_of[files.float32.name] = expected_runs

    monkeypatch.setattr(opened, "load_fastest", load)
    monkeypatch.setattr(Bundle, "matcher_name", "xfeat")
    for photos in (3, None):
        bundle = Bundle.load(tiny_bundle, photos=photos)
        _ = bundle.altitude_network, bundle.place_network, bundle.matcher_network
        expected_runs = [runs_of[name] for name in (parts.ALTITUDE, parts.PLACE, parts.MATCHER)]
        if photos is None:
            assert expected_runs == [None, None, None], "nobody knows: the fastest in the long run"
        else:
            assert expected_runs[0] == 3 and all(
                count is not None and count > 3 for count in expected_runs[1:]
            )


def test_the_whole_frame_answers_where_a_network_never_saw_the_map(
    tiny_bundle: Path, photos: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A described bundle without a matcher; as published, and the nearest alone, only when asked for."""
    bundle = Bundle.load(tiny_bundle)
    plain = locate(photos[0], bundle=bundle, options=LocateOptions(cells=0))  # as where nothing was trained
    voted = locate(photos[0], bundle=bundle, options=LocateOptions(whole_frame=True))
    monkeypatch.setattr(Bundle, "described", True)
    assert locate(photos[0], bundle=bundle).position == voted.position != plain.position
    published = locate(photos[0], bundle=bundle, options=LocateOptions(whole_frame=False))
    assert published.position == plain.position
    given = locate(photos[0], bundle=bundle, altitude_m=140.0)
    assert given.altitude_m == 140.0 and "votes" in given.timings_ms
