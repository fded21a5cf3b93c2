"""Each switch of ``locate`` turns off one thing: the weighted coordinate, the votes, the verification."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nadirfix.bundle import Bundle
from nadirfix.cli.locating import LocateArguments, _options, locate_photos


def options_with(**switches: bool) -> tuple[bool, bool | None, bool]:
    options = _options(LocateArguments(photos=["a.jpg"], bundle=Path("b.nadir"), **switches))
    return options.weighted, options.whole_frame, options.verify


def test_no_wce_turns_off_the_weighted_coordinate_alone() -> None:
    assert options_with() == (True, None, True)
    assert options_with(no_wce=True) == (False, None, True)


def test_no_vote_turns_off_the_votes_alone() -> None:
    assert options_with(no_vote=True) == (True, False, True)
    assert options_with(no_verify=True) == (True, None, False)


@pytest.fixture
def photo(tiny_photos: Path) -> str:
    return str(min((tiny_photos / "photos").iterdir()))


def test_voting_goes_on_without_the_weighted_coordinate_and_the_other_way_round(
    tiny_bundle: Path, photo: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a bundle where nothing was trained, as the whole frame votes there."""
    monkeypatch.setattr(Bundle, "described", True)

    def located(**switches: bool) -> dict[str, Any]:
        arguments = LocateArguments(photos=[photo], bundle=tiny_bundle, quiet=True, **switches)
        assert locate_photos(arguments) == 0
        return json.loads(capsys.readouterr().out)

    voted, unweighted, unvoted = located(), located(no_wce=True), located(no_vote=True)
    nearest = located(no_wce=True, no_vote=True)
    position = lambda line: (line["easting_m"], line["northing_m"])  # noqa: E731
    assert "votes" in voted["timings_ms"] and position(voted) == position(unweighted)
    assert "votes" not in unvoted["timings_ms"] and position(unvoted) != position(voted)
    assert position(nearest) == position(nearest["candidates"][0]) != position(unvoted)
