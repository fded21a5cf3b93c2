"""The matcher that ships beside XFeat as published: the same keypoints, nearly the same descriptors."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from nadirfix.runtime import load_network
from nadirfix.runtime.packaged import shipped_matcher

CELL, DESCRIPTOR = 8, 64
#: The least cosine of a descriptor in int8 with the same in single precision.
SIMILAR = 0.99
LARGEST_MB = 6


@pytest.fixture(scope="module")
def grey() -> np.ndarray:
    """Something to see at every scale: noise, smoothed more and less, a row and a column of cells each."""
    draw, size = np.random.default_rng(3), (32 * CELL, 40 * CELL)
    layers = [40 * s * cv2.GaussianBlur(draw.normal(0, 1, size), (0, 0), s) for s in (1, 2, 5, 12)]
    return np.clip(sum(layers) + 120, 0, 255).astype(np.float32)[None, None]


def outputs(path: Path, grey: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Descriptors, keypoint probabilities and reliability."""
    output = load_network(path, threads=1).run(grey)[0]
    assert output.shape == (DESCRIPTOR + CELL**2 + 1, 32, 40)
    return output[:DESCRIPTOR], output[DESCRIPTOR:-1], output[-1]


def test_in_int8_keypoints_are_xfeat_s_and_descriptors_nearly(
    matcher_file: Path, xfeat_file: Path, grey: np.ndarray
) -> None:
    ours, theirs = outputs(matcher_file, grey), outputs(xfeat_file, grey)
    assert np.abs(ours[1] - theirs[1]).max() < 1e-4, "what finds keypoints is in single precision"
    assert theirs[1].max() > 0.5, "there are keypoints"
    similarity = (ours[0] * theirs[0]).sum(axis=0)
    assert similarity.min() > SIMILAR
    assert np.linalg.norm(ours[0], axis=0) == pytest.approx(1, abs=1e-4)
    assert np.abs(ours[2] - theirs[2]).max() < 0.15


def test_the_form_for_processors_gives_xfeat_s_numbers(xfeat_file: Path, grey: np.ndarray) -> None:
    torch = pytest.importorskip("torch")
    from nadirfix.train.models.matcher import from_xfeat
    from nadirfix.train.xfeat import xfeat_weights

    with torch.no_grad():
        ours = from_xfeat(xfeat_weights())(torch.from_numpy(grey))[0].numpy()
    theirs = load_network(xfeat_file, threads=1).run(grey)[0]
    assert np.abs(ours - theirs).max() < 1e-4


def test_the_file_is_small_and_names_its_origin() -> None:
    matcher = shipped_matcher()
    assert len(matcher.content) < 1e6 * LARGEST_MB
    assert matcher.card["weights"]["licence"] == "Apache-2.0"
    assert matcher.card["precision"]["int8"] == "convolutions"
    assert "/" not in str(matcher.card), "no path of the machine that made it"
