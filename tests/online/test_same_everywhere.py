"""Same photo, same bundle, same answer: whatever the cache, the cores, the library (ADR 49)."""

from __future__ import annotations

import dataclasses
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from bench.accuracy.same_everywhere import all_runs, difference, located, output_of
from nadirfix.bundle import Bundle
from nadirfix.bundle import layout as parts
from nadirfix.offline import build_bundle
from nadirfix.options.recipe import RECIPES, QuantiseOptions
from tests.fixtures import once

PHOTOS = 4
SAME = ("other_status", "other_reason", "other_candidates", "beyond_bound")
#: As an earlier release kept what it had found fastest: in another precision.
OTHER_PRECISION = """
import dataclasses, sys
from nadirfix.bundle import Bundle
from nadirfix.offline.tune import measured_parts
from nadirfix.runtime.backend import Backend, remember
bundle = Bundle.load(sys.argv[1])
for files in map(bundle.network_files, measured_parts(bundle)):
    fast = Backend(precision="eight_bit")
    remember(dataclasses.replace(files, precision="single"), fast, {fast.name: {"sound": True}})
"""


@pytest.fixture(scope="module")
def bundle(shared: Path, tiny_world: Path) -> Path:
    """The tiny recipe with the matcher that ships, and networks in int8 beside those that run."""

    def build(out: Path) -> None:
        recipe = dataclasses.replace(RECIPES["tiny"], quantise=QuantiseOptions(views=16, likeness=0.9))
        build_bundle(tiny_world / "old.tif", out, recipe=recipe, train=False, device="cpu")

    return once(shared / "verified.nadir", build)


@pytest.fixture(scope="module")
def photos(tiny_photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photos")
    for photo in sorted((tiny_photos / "photos").iterdir())[:PHOTOS]:
        shutil.copy(photo, folder)
    return folder


def test_caches_cores_and_libraries_change_no_answer(bundle: Path, photos: Path, tmp_path: Path) -> None:
    runs = all_runs(bundle, photos, tmp_path)
    reference = runs.pop("empty cache")
    assert {"measured cache", "one core", "two cores, ONNX Runtime"} <= set(runs)
    assert [line["status"] for line in reference].count("fix") >= PHOTOS - 1, "there is something to compare"
    for name, lines in runs.items():
        found = difference(lines, reference)
        assert {key: found[key] for key in SAME} == dict.fromkeys(SAME, 0), name


def test_what_an_earlier_release_found_fastest_changes_no_digit(
    bundle: Path, photos: Path, tmp_path: Path
) -> None:
    assert parts.int8_part(parts.PLACE) in Bundle.load(bundle).manifest["parts"]
    every = sorted(os.sched_getaffinity(0))
    output_of(["-c", OTHER_PRECISION, bundle], tmp_path / "earlier", every)
    assert "eight_bit" in (tmp_path / "earlier" / "backends.json").read_text(encoding="utf-8")
    before = located(bundle, photos, tmp_path / "empty", every)
    after = located(bundle, photos, tmp_path / "earlier", every)
    assert [untimed(line) for line in after] == [untimed(line) for line in before]


def untimed(line: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in line.items() if key != "timings_ms"}
