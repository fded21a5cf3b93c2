"""What every test shares: repeatable property tests, and one thread per worker on a small machine."""

import os
import tempfile

import pytest
from hypothesis import settings

pytest_plugins = ["tests.fixtures", "tests.matchers"]

# What this machine found out about itself, in earlier runs, must not decide what a test sees.
_CACHE = tempfile.TemporaryDirectory(prefix="nadirfix-tests-")
os.environ["NADIRFIX_CACHE"] = _CACHE.name

# Threads that spin while they wait make two busy workers many times slower.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("GOMP_SPINCOUNT", "0")

if "PYTEST_XDIST_WORKER" in os.environ:
    # Workers already fill the cores; threads on top of them only get in each other's way.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")

# A shared machine is slow at times: a deadline would fail good code. Same examples on every run.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")

#: Takes minutes, most of them waiting for an installation.
LONGEST = ("test_locating_in_a_fresh_core_environment",)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first: nobody waits for it alone at the end."""
    items.sort(key=lambda item: (item.name not in LONGEST, item.get_closest_marker("slow") is None))
