"""What a bundle carries to verify with: chosen in the recipe, said when it cannot be had."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nadirfix.bundle import Bundle
from nadirfix.bundle.layout import MATCHER
from nadirfix.bundle.plan import Plan
from nadirfix.cli import app
from nadirfix.errors import BundleError
from nadirfix.offline import build_bundle
from nadirfix.options.recipe import RECIPES
from nadirfix.options.verify import FeatureOptions
from nadirfix.verify.features import SiftDetector
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


def test_a_matcher_that_is_not_installed_is_refused_before_anything_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nadirfix.offline.matcher.missing_xfeat_packages", lambda: ["kornia"])
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(RECIPE_TOML.replace('matcher = "none"', 'matcher = "xfeat"'), encoding="utf-8")
    ground, out = write_ground(tmp_path / "map.tif"), tmp_path / "a.nadir"
    command = ["build", str(ground), "--out", str(out), "--recipe", str(recipe)]
    built = CliRunner().invoke(app, command)
    assert built.exit_code == 5, built.output
    assert "kornia" in built.stderr and "nadirfix[train,verify]" in built.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["map.tif", "recipe.toml"]


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
    assert RECIPES["standard"].matcher == "xfeat"
