"""The plan of a photo: who has the last word, for every bundle and every way to ask it."""

from __future__ import annotations

import dataclasses
from itertools import product
from types import SimpleNamespace

import pytest

from nadirfix.bundle.plan import Plan
from nadirfix.options.locate import LocateOptions

USUAL = LocateOptions()


def bundle(
    *, described: bool = True, matcher: str | None = "xfeat", references: int = 1000
) -> SimpleNamespace:
    return SimpleNamespace(described=described, matcher_name=matcher, reference_count=references)


@pytest.mark.parametrize(
    ("made", "options", "answered_by"),
    [
        (bundle(), USUAL, "verification"),
        (bundle(described=False), USUAL, "verification"),
        (bundle(matcher=None), USUAL, "voting"),
        (bundle(matcher=None, described=False), USUAL, "retrieval"),
        (bundle(), LocateOptions(verify=False), "voting"),
        (bundle(), LocateOptions(verify=False, whole_frame=False), "retrieval"),
        (bundle(), LocateOptions(whole_frame=False), "verification"),
        (bundle(matcher=None, described=False), LocateOptions(whole_frame=True), "voting"),
        (bundle(), LocateOptions(crop=False), "retrieval"),
    ],
)
def test_who_has_the_last_word(made: SimpleNamespace, options: LocateOptions, answered_by: str) -> None:
    assert Plan.of(made, options).answered_by == answered_by


def test_a_given_altitude_is_a_scale_even_for_the_whole_photo() -> None:
    options = LocateOptions(crop=False)
    assert Plan.of(bundle(), options, altitude_given=True).verifies
    assert not Plan.of(bundle(), options, altitude_given=True).cropped


def test_exactly_one_stage_answers_whatever_is_wanted() -> None:
    for described, matcher, crop, verify, frame, given in product(
        (True, False), (None, "sift"), (True, False), (True, False), (True, False, None), (True, False)
    ):
        options = LocateOptions(crop=crop, verify=verify, whole_frame=frame)
        plan = Plan.of(bundle(described=described, matcher=matcher), options, altitude_given=given)
        assert plan.ties_matter == (plan.answered_by == "retrieval")
        assert plan.votes != plan.ties_matter
        assert not plan.verifies or (verify and matcher is not None)


@pytest.mark.parametrize(
    ("made", "options", "cells"),
    [
        (bundle(references=1000), USUAL, 0),
        (bundle(references=1001), LocateOptions(search_all_up_to=1000), 3),
        (bundle(described=False), USUAL, 3),
        (bundle(described=False), LocateOptions(cells=0), 0),
        (bundle(), LocateOptions(cells=7), 7),
    ],
)
def test_how_many_cells_are_searched(made: SimpleNamespace, options: LocateOptions, cells: int) -> None:
    assert Plan.of(made, options).cells == cells


@pytest.mark.parametrize(
    ("made", "options", "given", "sweeps"),
    [
        (bundle(), USUAL, False, True),
        (bundle(matcher=None), USUAL, False, False),
        (bundle(), USUAL, True, False),
        (bundle(described=False), USUAL, False, False),
        (bundle(), LocateOptions(sweep=None), False, False),
        (bundle(), LocateOptions(crop=False), False, False),
    ],
)
def test_when_the_map_is_swept_for_the_altitude(
    made: SimpleNamespace, options: LocateOptions, given: bool, sweeps: bool
) -> None:
    assert Plan.of(made, options, altitude_given=given).sweeps == sweeps


def test_a_plan_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Plan.of(bundle()).cells = 1  # type: ignore[misc]
