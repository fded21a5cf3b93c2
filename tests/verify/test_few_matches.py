"""Where few matches are right: a similarity still finds what a homography cannot."""

from __future__ import annotations

import numpy as np

from nadirfix.verify.matching import estimate_models


def _matches(right: int, wrong: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    photo = draw.uniform(0, 512, (right + wrong, 2))
    turn = np.deg2rad(9.0)
    rotation = 1.07 * np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    there = photo @ rotation.T + [60.0, 25.0] + draw.normal(0, 0.6, photo.shape)
    there[right:] = draw.uniform(0, 640, (wrong, 2))
    return photo, there


def test_a_similarity_is_found_where_one_match_in_twelve_is_right() -> None:
    """A homography by chance needs four right ones at once: 1 in 20 000 draws, of 5000."""
    for seed in range(5):
        photo, there = _matches(40, 440, seed)
        *_, last = estimate_models(photo, there, inlier_px=3.0)
        assert np.count_nonzero(last.inliers[:40]) >= 36, seed
        assert np.count_nonzero(last.inliers[40:]) <= 8, seed
        assert np.allclose(last.map_from_photo[2], [0, 0, 1])


def test_the_homography_comes_first_and_the_similarity_only_where_it_is_needed() -> None:
    photo, there = _matches(200, 50, 1)
    found = estimate_models(photo, there, inlier_px=3.0)
    assert np.count_nonzero(next(found).inliers[:200]) >= 180
    assert np.count_nonzero(next(found).inliers[:200]) >= 180


def test_models_are_the_same_every_time() -> None:
    photo, there = _matches(60, 120, 2)
    first, second = (list(estimate_models(photo, there, inlier_px=3.0)) for _ in range(2))
    assert len(first) == len(second) == 2
    for a, b in zip(first, second, strict=True):
        assert np.array_equal(a.map_from_photo, b.map_from_photo)
        assert np.array_equal(a.inliers, b.inliers)


def test_fewer_than_four_matches_give_no_model() -> None:
    photo, there = _matches(3, 0, 0)
    assert list(estimate_models(photo, there, inlier_px=3.0)) == []
