"""The matcher as a bundle carries it, made once per test run; skipped where its packages are not there."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from nadirfix.options.verify import FeatureOptions
from nadirfix.runtime import load_network
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


@pytest.fixture(scope="session", params=["sift", "xfeat"])
def detector(request: pytest.FixtureRequest) -> Detector:
    """Each kind of detector in turn."""
    network = load_network(request.getfixturevalue("xfeat_file")) if request.param == "xfeat" else None
    return detector_of(request.param, network, FeatureOptions())


@pytest.fixture(scope="session")
def sift() -> Detector:
    """The detector every machine has."""
    return detector_of("sift", None, FeatureOptions())


@pytest.fixture(scope="session")
def xfeat(xfeat_file: Path) -> Detector:
    """The detector of the verify extra."""
    return detector_of("xfeat", load_network(xfeat_file), FeatureOptions())
