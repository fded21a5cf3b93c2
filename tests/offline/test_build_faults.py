"""What can go wrong while building: the disk fills up, inputs change, something is in the way."""

from __future__ import annotations

import dataclasses
import resource
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from nadirfix.bundle import Bundle
from nadirfix.errors import BundleError, InputError, MapError, OutputError
from nadirfix.offline import build_bundle
from nadirfix.offline.workdir import WorkDir, is_built
from nadirfix.options.recipe import BinOptions, ReferenceOptions
from tests.bundles import RECIPE, RECIPE_TOML, write_ground
from tests.command import nadirfix

INPUTS = {
    "recipe": {"grid": {"cell_m": 100.0}},
    "source": [{"files": [{"name": "a.tif", "sha256": "0" * 64}]}],
}
OTHER = {"recipe": {"grid": {"cell_m": 50.0}}, "source": [{"files": [{"name": "a.tif", "sha256": "1" * 64}]}]}


def begin(target: Path, inputs: dict = INPUTS, *, resume: bool = False, overwrite: bool = False) -> WorkDir:
    return WorkDir.begin(target, inputs, resume=resume, overwrite=overwrite)


def test_another_map_or_recipe_is_noticed_and_named(tmp_path: Path) -> None:
    begin(tmp_path / "b.nadir").part("texture.ntx").write_text("kept")
    with pytest.raises(BundleError) as caught:
        begin(tmp_path / "b.nadir", OTHER, resume=True)
    assert caught.value.code == "bundle.mismatch"
    assert "recipe.grid.cell_m was 100.0, is 50.0" in caught.value.message
    assert "source[0].files[0].sha256" in caught.value.message
    assert begin(tmp_path / "b.nadir", resume=True).part("texture.ntx").read_text() == "kept"


def test_overwrite_begins_anew_where_resume_does_not_fit(tmp_path: Path) -> None:
    begin(tmp_path / "b.nadir").part("texture.ntx").write_text("old")
    assert not begin(tmp_path / "b.nadir", OTHER, resume=True, overwrite=True).part("texture.ntx").exists()


def test_an_unfinished_build_is_not_overwritten(tmp_path: Path) -> None:
    begin(tmp_path / "b.nadir")
    with pytest.raises(OutputError) as caught:
        begin(tmp_path / "b.nadir")
    assert caught.value.code == "output.exists" and "--resume" in str(caught.value)


HOLDER = """
import sys, time
from pathlib import Path
from nadirfix.offline.workdir import WorkDir
workdir = WorkDir.begin(Path(sys.argv[1]), {}, resume=False, overwrite=False)
workdir.part("texture.ntx").write_text("mine")
print("begun", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("how", [{}, {"resume": True}, {"overwrite": True}])
def test_two_builds_never_write_into_one_bundle(tmp_path: Path, how: dict) -> None:
    target = tmp_path / "b.nadir"
    with subprocess.Popen([sys.executable, "-c", HOLDER, target], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "begun\n"
        with pytest.raises(OutputError) as caught:
            begin(target, {}, **how)
        other.kill()
    assert caught.value.code == "output.busy"
    assert begin(target, {}, resume=True).part("texture.ntx").read_text() == "mine", "kill -9 gives it free"


def test_what_is_not_a_bundle_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("mine")
    with pytest.raises(OutputError) as caught:
        begin(tmp_path / "thesis", overwrite=True)
    assert caught.value.code == "output.exists"
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "mine"


def test_half_written_files_are_swept_away(tmp_path: Path) -> None:
    workdir = begin(tmp_path / "b.nadir")
    (workdir.parts / ".texture.ntx.0badf00d.part").write_text("half")
    begin(tmp_path / "b.nadir", resume=True)
    assert list(workdir.parts.iterdir()) == []


def test_a_finished_bundle_of_other_inputs_is_noticed(tmp_path: Path) -> None:
    begin(tmp_path / "b.nadir", {"format": 1, **INPUTS}).finish({})
    assert is_built(tmp_path / "b.nadir", {"format": 1, **INPUTS})
    with pytest.raises(BundleError) as caught:
        is_built(tmp_path / "b.nadir", {"format": 1, **OTHER})
    assert caught.value.code == "bundle.mismatch"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("build")
    (folder / "recipe.toml").write_text(RECIPE_TOML)
    write_ground(folder / "map.tif")
    return folder


def run(
    folder: Path, *arguments: object, limit: int | None = None, **settings
) -> subprocess.CompletedProcess:
    if limit:
        settings["preexec_fn"] = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    fixed = ("build", folder / "map.tif", "--recipe", folder / "recipe.toml", "--quiet")
    return nadirfix(*fixed, *arguments, **settings)


@pytest.mark.slow
def test_a_full_disk_ends_with_exit_7_and_can_be_gone_on_from(folder: Path, trained_bundle: Path) -> None:
    """A limit on file size stands for a full disk; it strikes at the texture, then at a checkpoint."""
    target = folder / "full.nadir"
    for limit, struck in ((60_000, "texture.ntx"), (1_500_000, "checkpoint.pt")):
        full(run(folder, "--out", target, "--train", "--resume", limit=limit), struck, target)
    done = run(folder, "--out", target, "--train", "--resume")
    assert done.returncode == 0, done.stderr
    assert Bundle.check(target).manifest["parts"] == Bundle.load(trained_bundle).manifest["parts"]
    assert not list(folder.glob(".full.nadir*"))


@pytest.mark.parametrize(("limit", "struck"), [(1_500_000, "altitude.onnx"), (1_000, "state.json")])
def test_a_full_disk_at_other_parts(folder: Path, tmp_path: Path, limit: int, struck: str) -> None:
    done = run(folder, "--out", tmp_path / "b.nadir", limit=limit)
    full(done, struck, tmp_path / "b.nadir")


def full(done: subprocess.CompletedProcess, struck: str, target: Path) -> None:
    assert done.returncode == 7, done.stderr
    assert "[output.disk_full]" in done.stderr and struck in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not target.exists()


def test_an_existing_bundle_is_refused(folder: Path, tmp_path: Path) -> None:
    begin(tmp_path / "b.nadir", {"format": 1}).finish({})
    done = run(folder, "--out", tmp_path / "b.nadir")
    assert done.returncode == 7 and "[output.exists]" in done.stderr
    done = run(folder, "--out", tmp_path / "b.nadir", "--resume")
    assert done.returncode == 4 and "[bundle.mismatch]" in done.stderr


def test_without_torch_it_names_the_extra(folder: Path, tmp_path: Path) -> None:
    hide = "import sys, importlib.util as u; find = u.find_spec\n"
    hide += "u.find_spec = lambda name, *a: None if name == 'torch' else find(name, *a)\n"
    hide += "from nadirfix.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", hide, "build", folder / "map.tif", "--out", tmp_path / "b.nadir"]
    done = subprocess.run([*map(str, command), "--train"], capture_output=True, text=True)
    assert done.returncode == 5
    assert "nadirfix[train]" in done.stderr and "[weights.no_torch]" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_recipes_that_cannot_be_built_leave_nothing(folder: Path, tmp_path: Path) -> None:
    no_lattice = dataclasses.replace(RECIPE, references=ReferenceOptions(headings=0))
    no_bins = dataclasses.replace(RECIPE, bins=BinOptions(width_m=70.0))
    for recipe in (no_lattice, no_bins):
        with pytest.raises(InputError):
            build_bundle(folder / "map.tif", tmp_path / "b.nadir", recipe=recipe)
        assert not (tmp_path / "b.nadir").exists()
    with pytest.raises(MapError):
        build_bundle(tmp_path / "none.tif", tmp_path / "b.nadir", recipe=RECIPE)
