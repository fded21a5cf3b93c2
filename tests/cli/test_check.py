"""``nadirfix check`` and its old name, kept for one release."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nadirfix.bundle import Bundle
from tests.command import nadirfix


def test_verify_does_the_same_as_check_and_names_it(tiny_bundle: Path) -> None:
    old, new = nadirfix("verify", tiny_bundle), nadirfix("check", tiny_bundle)
    assert old.returncode == new.returncode == 0
    assert old.stdout == new.stdout and json.loads(new.stdout)["whole"] is True
    assert old.stderr == "nadirfix: verify is now called check: nadirfix check BUNDLE\n"
    assert new.stderr == ""
    missing = nadirfix("verify", tiny_bundle / "none.nadir", "--quiet")
    assert missing.returncode == 4 and missing.stderr.count("\n") == 1


def test_the_old_name_is_not_in_the_help() -> None:
    commands = nadirfix("--help").stdout
    assert " check " in commands and " verify " not in commands


def test_the_old_method_warns(tiny_bundle: Path) -> None:
    with pytest.warns(DeprecationWarning, match=r"Bundle\.check"):
        opened = Bundle.verify(tiny_bundle)
    assert opened.path == Bundle.check(tiny_bundle).path
