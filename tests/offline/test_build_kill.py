"""kill -9 in every stage of a build: no partial bundle ever; resumed, it ends with a quiet build's hashes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from nadirfix.bundle import Bundle
from nadirfix.bundle.layout import MANIFEST
from tests.bundles import write_ground

ROOT = Path(__file__).parents[2]

#: Where the process dies, in the order a build comes by.
POINTS = [
    "nadirfix.offline.workdir.atomic_file before",
    "texture 700",
    "nadirfix.offline.pack_map after",
    "nadirfix.offline.sort_references after",
    "training the altitude network 2",
    "nadirfix.offline.trained_networks._export before",
    "nadirfix.offline.trained_networks._export after",
    "training the place network 1",
    "training the place network 2",
    "nadirfix.offline.trained_networks._save_prototypes after",
    "nadirfix.offline.quantise_networks after",
    "describing references 64",
    "describing references 128",
    "nadirfix.offline.describe._join before",
    "nadirfix.offline.describe._join after",
    "nadirfix.offline.index_cells after",
    "nadirfix.offline.workdir.write_manifest after",
    "nadirfix.offline.workdir.replace_dir before",
]
#: The target is there and whole, but the work has not been cleared away.
LAST = "nadirfix.offline.workdir.replace_dir after"


def drive(*arguments: object) -> list[dict]:
    command = [sys.executable, ROOT / "tests" / "offline" / "build_driver.py", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_killed_in_every_stage_it_ends_as_if_nothing_had_happened(tmp_path: Path) -> None:
    ground = write_ground(tmp_path / "map.tif")
    assert drive(ground, tmp_path / "quiet.nadir") == [{"point": None, "status": 0, "target": True}]
    tries = drive(ground, tmp_path / "killed.nadir", *POINTS, LAST)
    assert [s["point"] for s in tries if s["status"] == -signal.SIGKILL] == [*POINTS, LAST]
    assert [s["point"] for s in tries if s["target"]] == [LAST, None]
    assert tries[-1]["status"] == 0
    quiet, killed = (Bundle.check(tmp_path / f"{name}.nadir") for name in ("quiet", "killed"))
    assert killed.manifest["parts"] == quiet.manifest["parts"]
    assert (killed.path / MANIFEST).read_bytes() == (quiet.path / MANIFEST).read_bytes()
    assert sorted(p.name for p in killed.path.iterdir()) == sorted([*quiet.manifest["parts"], MANIFEST])


#: In a build whose references are cut from mosaics: between two of them, and wherever they are put together.
MOSAIC_POINTS = [
    "describing references {first}",
    "describing references {third}",
    "nadirfix.offline.describe._scatter after",
    "whitening references 1",
]


@pytest.mark.slow
def test_killed_between_two_mosaics_it_ends_as_if_nothing_had_happened(tmp_path: Path) -> None:
    ground = write_ground(tmp_path / "map.tif")
    drive("--mosaics", ground, tmp_path / "quiet.nadir")
    quiet = Bundle.check(tmp_path / "quiet.nadir")
    record = quiet.manifest["described"]["sheets"]
    assert record["count"] == 4 and record["recognised"] == 1.0
    done = np.cumsum([int((quiet.references.heading_deg == h).sum()) for h in (0.0, 90.0, 180.0)])
    points = [point.format(first=done[0], third=done[2]) for point in MOSAIC_POINTS]
    tries = drive("--mosaics", ground, tmp_path / "killed.nadir", *points)
    assert [s["point"] for s in tries if s["status"] == -signal.SIGKILL] == points
    assert [s["point"] for s in tries if s["target"]] == [None]
    killed = Bundle.check(tmp_path / "killed.nadir")
    assert (killed.path / MANIFEST).read_bytes() == (quiet.path / MANIFEST).read_bytes()
    assert sorted(p.name for p in killed.path.iterdir()) == sorted([*quiet.manifest["parts"], MANIFEST])
