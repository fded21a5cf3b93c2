"""Matchers as a bundle carries them; XFeat is made once per test run, and skipped without its packages."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from nadirfix.options.verify import FeatureOptions
from nadirfix.runtime import load_network
from nadirfix.runtime.packaged import shipped_matcher
from nadirfix.train.xfeat import export_xfeat, missing_xfeat_packages
from nadirfix.verify.features import Detector, detector_of


@pytest.fixture(scope="session")
def xfeat_file(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """The network file; workers of one run share it."""
    if missing := missing_xfeat_packages():
        pytest.skip(f"the verify extra is not installed: {', '.join(missing)}")
    base = tmp_path_factory.getbasetemp()
    folder = base.parent if hasattr(request.config, "workerinput") else base
    path = folder / "matcher.onnx"
    with (folder / "matcher.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            export_xfeat(path)
    return path


@pytest.fixture(scope="session")
def matcher_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The network file of the matcher that ships."""
    path = tmp_path_factory.mktemp("matcher") / "matcher.onnx"
    path.write_bytes(shipped_matcher().content)
    return path


@pytest.fixture(scope="session", params=["sift", "standard", "xfeat"])
def detector(request: pytest.FixtureRequest) -> Detector:
    """Each kind of detector in turn."""
    files = {"standard": "matcher_file", "xfeat": "xfeat_file"}
    file = files.get(request.param)
    network = load_network(request.getfixturevalue(file)) if file else None
    return detector_of(request.param, network, FeatureOptions())


@pytest.fixture(scope="session")
def sift() -> Detector:
    """The detector that is no network."""
    return detector_of("sift", None, FeatureOptions())


@pytest.fixture(scope="session")
def standard(matcher_file: Path) -> Detector:
    """The detector that ships."""
    return detector_of("standard", load_network(matcher_file), FeatureOptions())
