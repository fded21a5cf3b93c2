"""Only what we wrote is replaced or removed, whatever else lies there: nobody else's file is ever lost."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nadirfix.errors import InputError, OutputError
from nadirfix.evaluation.study.contents import evaluation_contents
from nadirfix.files import atomic_dir, atomic_file, check_target, remove_ours
from nadirfix.files.owned import MARKER, marked
from nadirfix.formats import csv_text, error_record, geojson_text, json_line, kml_text, own_answers
from nadirfix.offline.contents import bundle_contents, work_contents

NAMES = st.sampled_from(["old.tif", "new.tif", "thesis", "notes.txt", "photos", MARKER, "manifest.json"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
KINDS = st.sampled_from(["file", "folder", "link to a file", "link to a folder", "changed"])


def write_ours(target: Path, *, overwrite: bool = False, inputs: tuple[Path, ...] = ()) -> None:
    with atomic_dir(target, kind="world", overwrite=overwrite, inputs=inputs) as scratch:
        (scratch / "old.tif").write_text("old")
        (scratch / "photos").mkdir()
        (scratch / "photos" / "new.tif").write_text("new")


def put(target: Path, name: str, kind: str, outside: Path) -> None:
    """Something of somebody's, wherever there is room for it."""
    path = target / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "folder":
            path.mkdir()
        elif kind.startswith("link"):
            path.symlink_to(outside / ("file" if kind == "link to a file" else "folder"))
        elif kind == "changed" or not path.exists():
            path.write_text("somebody's")
    except OSError:
        pass


def state(folder: Path) -> dict[str, str]:
    """Every path below a folder with what is there."""
    return {str(p.relative_to(folder)): _what(p) for p in sorted(folder.rglob("*"))}


def _what(path: Path) -> str:
    if path.is_symlink():
        return f"link to {path.readlink()}"
    return "folder" if path.is_dir() else path.read_text()


@given(ours=st.booleans(), things=st.lists(st.tuples(PATHS, KINDS), max_size=4), overwrite=st.booleans())
@settings(max_examples=300)
def test_a_folder_is_replaced_whole_where_it_is_ours_alone_and_else_stays_as_it_was(
    ours: bool, things: list[tuple[str, str]], overwrite: bool
) -> None:
    with tempfile.TemporaryDirectory() as name:
        base, outside = Path(name) / "base", Path(name) / "outside"
        (outside / "folder").mkdir(parents=True)
        (outside / "folder" / "thesis").write_text("years of work")
        (outside / "file").write_text("more of it")
        target = base / "target"
        base.mkdir()
        if ours:
            write_ours(target)
        written = state(target) if ours else {}
        for path, kind in things:
            put(target, path, kind, outside)
        before, around = state(base), state(outside)
        try:
            write_ours(target, overwrite=overwrite)
        except OutputError as error:
            assert error.code == "output.exists"
            assert state(base) == before
            assert target.exists() and (not overwrite or state(target) != written)
        else:
            lost = {path: what for path, what in before.items() if what == "somebody's" or "link" in what}
            assert not lost
            assert not target.exists() or sorted(p.name for p in base.iterdir()) == ["target"]
        assert state(outside) == around


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["", ".", "..", "a/..", "./"])
def test_an_output_needs_a_name_of_its_own(home: Path, name: str) -> None:
    with pytest.raises(InputError, match="a name of its own"):
        check_target(Path(name), overwrite=True, recognise=marked("world"))


def test_neither_the_folder_one_is_in_nor_what_holds_it_is_replaced(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_ours(home / "a")
    monkeypatch.chdir(home / "a" / "photos")
    with pytest.raises(OutputError, match="being used"):
        write_ours(home / "a", overwrite=True)


@pytest.mark.parametrize("name", ["a/old.tif", "a", "link/old.tif", "a/photos/../old.tif"])
def test_what_is_read_is_not_replaced(home: Path, name: str) -> None:
    """However it is named: also by a link to the folder that would go."""
    write_ours(home / "a")
    (home / "link").symlink_to(home / "a")
    with pytest.raises(OutputError, match="being used"):
        write_ours(home / "a", overwrite=True, inputs=(Path(name),))
    write_ours(home / "a", overwrite=True, inputs=(home / "elsewhere.tif",))


def test_a_plain_file_never_becomes_a_folder_nor_a_folder_a_file(home: Path) -> None:
    (home / "thesis").write_text("years of work")
    with pytest.raises(OutputError):
        write_ours(home / "thesis", overwrite=True)
    (home / "folder").mkdir()
    with pytest.raises(OutputError), atomic_file(home / "folder", recognise=own_answers):
        pass
    assert (home / "thesis").read_text() == "years of work" and (home / "folder").is_dir()


@pytest.mark.parametrize("where", ["file", "folder", "nowhere"])
def test_links_are_not_followed_nor_replaced(home: Path, where: str) -> None:
    (home / "file").write_text("mine")
    write_ours(home / "folder")
    link = home / "link"
    link.symlink_to(home / where)
    before = state(home)
    for write in (lambda: write_ours(link, overwrite=True), lambda: write_file(link)):
        with pytest.raises(OutputError, match="link"):
            write()
    assert state(home) == before


def write_file(target: Path, text: str = "x") -> None:
    with atomic_file(target) as scratch:
        scratch.write_text(text)


def test_a_device_is_not_replaced() -> None:
    with pytest.raises(OutputError):
        write_file(Path(os.devnull))
    assert Path(os.devnull).is_char_device()


def test_something_put_there_while_we_worked_stays(home: Path) -> None:
    write_ours(home / "a")
    with pytest.raises(OutputError, match="thesis"), atomic_dir(home / "a", kind="world", overwrite=True):
        (home / "a" / "thesis").write_text("years of work")
    assert (home / "a" / "thesis").read_text() == "years of work"
    assert sorted(p.name for p in home.iterdir()) == ["a"]


def test_advice_is_not_what_was_given(home: Path) -> None:
    write_ours(home / "a")
    with pytest.raises(OutputError, match="--overwrite"):
        write_ours(home / "a")
    (home / "a" / "thesis").write_text("")
    for overwrite in (False, True):
        with pytest.raises(OutputError) as refusal:
            write_ours(home / "a", overwrite=overwrite)
        assert "--overwrite" not in refusal.value.do


def test_another_kind_of_ours_is_not_replaced(home: Path) -> None:
    write_ours(home / "a")
    with pytest.raises(OutputError), atomic_dir(home / "a", kind="photos", overwrite=True):
        pass
    marker = json.loads((home / "a" / MARKER).read_text())
    assert marker["kind"] == "world" and sorted(marker["files"]) == ["old.tif", "photos/new.tif"]


RECORD = error_record("a.jpg", InputError("photo.missing", "there is none", seen="a.jpg", do="name one"))
DOCUMENTS: dict[str, Callable[[], str]] = {
    "jsonl": lambda: json_line(RECORD) * 3,
    "geojson": lambda: geojson_text([RECORD]),
    "no answers": lambda: geojson_text([]),
    "csv": lambda: csv_text([RECORD]),
    "kml": lambda: kml_text([RECORD]),
    "empty": str,
}


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_answers_are_replaced_by_answers(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "answers"
    path.write_text(DOCUMENTS[kind]())
    check_target(path, overwrite=True, recognise=own_answers)


@pytest.mark.parametrize(
    "text",
    ["years of work", '{"photo": 1}', "photo,lon,lat\n", '{"type": "FeatureCollection", "features": [1]}'],
)
def test_answers_replace_nothing_else(tmp_path: Path, text: str) -> None:
    path = tmp_path / "answers"
    path.write_text(text)
    with pytest.raises(OutputError, match="not written by this command"):
        check_target(path, overwrite=True, recognise=own_answers)


def test_a_bundle_is_its_manifest_s_parts_and_nothing_else(tmp_path: Path) -> None:
    bundle = tmp_path / "b.nadir"
    bundle.mkdir()
    (bundle / "manifest.json").write_text('{"format": 5, "parts": {"a.npy": {}, "gone.npy": {}}}')
    (bundle / "a.npy").write_text("damaged")
    check_target(bundle, overwrite=True, recognise=bundle_contents)
    (bundle / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"notes\.txt"):
        remove_ours(bundle, recognise=bundle_contents)
    (bundle / "notes.txt").unlink()
    remove_ours(bundle, recognise=bundle_contents)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("recognise", [bundle_contents, work_contents, evaluation_contents, marked("world")])
@pytest.mark.parametrize(
    "name", ["manifest.json", "state.json", "settings.json", "labels.json", "metrics.json", MARKER]
)
@pytest.mark.parametrize(
    "text", ["{}", "[]", "{", '{"parts": [1], "format": 5}', '{"written_by": "nadirfix"}']
)
def test_a_file_of_a_name_we_use_makes_nothing_ours(
    tmp_path: Path, recognise: Callable[[Path], object], name: str, text: str
) -> None:
    folder = tmp_path / "a"
    (folder / "thesis").mkdir(parents=True)
    (folder / name).write_text(text)
    if recognise is work_contents and name == "state.json" and text.startswith("{") and text != "{":
        return  # a hidden folder of a build; what is in it is a build's
    with pytest.raises(OutputError):
        remove_ours(folder, recognise=recognise)
    assert (folder / "thesis").is_dir()


def test_an_evaluation_is_removed_with_what_it_built(tmp_path: Path) -> None:
    out = tmp_path / "out"
    built = out / "ablation" / "a.nadir"
    built.mkdir(parents=True)
    (built / "manifest.json").write_text('{"format": 5, "parts": {}}')
    (out / "ablation" / "map.tif").write_text("map")
    (out / ".queries.csv.01234567.part").write_text("half")
    keys = ("nadirfix", "bundle", "bundle_sha256", "camera", "exif_pose", "options")
    (out / "settings.json").write_text(json.dumps(dict.fromkeys(keys)))
    (out / "ablation" / "thesis").write_text("years of work")
    with pytest.raises(OutputError, match="thesis"):
        remove_ours(out, recognise=evaluation_contents)
    (out / "ablation" / "thesis").unlink()
    remove_ours(out, recognise=evaluation_contents)
    assert list(tmp_path.iterdir()) == []
