"""Keypoints of images: found again where the image moved to, and nowhere in plain or missing parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nadirfix.options.recipe import NETWORK_MATCHERS
from nadirfix.options.verify import FeatureOptions
from nadirfix.runtime import load_network
from nadirfix.verify.features import Detector, Features, NetworkDetector, detector_of, grey_of
from nadirfix.verify.matching import mutual_matches
from tests.places import photo_from, place, view_of


@pytest.fixture(scope="module")
def image() -> np.ndarray:
    return grey_of(photo_from(place(), view_of(place())))[:352, :448]


@pytest.mark.parametrize("level", [0.0, 127.0, 255.0])
def test_a_plain_image_has_no_keypoints(detector: Detector, level: float) -> None:
    assert len(detector(np.full((384, 512), level, np.float32))) == 0


def test_no_map_means_no_keypoints(detector: Detector, image: np.ndarray) -> None:
    assert len(detector(image, np.zeros(image.shape, np.uint8))) == 0


def test_keypoints_keep_off_the_edge_of_the_map(detector: Detector, image: np.ndarray) -> None:
    valid = np.full(image.shape, 255, np.uint8)
    valid[:, 200:] = 0
    found = detector(np.where(valid > 0, image, 0), valid)
    assert len(found) > 50
    assert found.keypoints_px[:, 0].max() < 200 - 3


@pytest.mark.parametrize("shape", [(33, 47), (40, 300), (7, 9), (1, 1)])
def test_any_size_will_do(detector: Detector, image: np.ndarray, shape: tuple[int, int]) -> None:
    part = np.ascontiguousarray(image[: shape[0], : shape[1]])
    found = detector(part)
    assert np.isfinite(found.keypoints_px).all()
    assert (found.keypoints_px < [shape[1], shape[0]]).all()


def test_descriptors_have_unit_length_and_the_strongest_come_first(
    detector: Detector, image: np.ndarray
) -> None:
    found = detector(image)
    assert np.linalg.norm(found.descriptors, axis=1) == pytest.approx(1.0, abs=1e-5)


def test_a_moved_image_has_its_keypoints_moved(detector: Detector, image: np.ndarray) -> None:
    """By 16 px: both are found on whole pixels, so what is left is far below one."""
    here, there = detector(image), detector(np.ascontiguousarray(image[16:, 16:]))
    a, b = mutual_matches(here, there, min_similarity=0.0)
    moved = here.keypoints_px[a] - there.keypoints_px[b]
    assert np.median(moved, axis=0) == pytest.approx([16.0, 16.0], abs=0.05)
    assert np.mean(np.abs(moved - 16.0).max(axis=1) < 1.0) > 0.8


def test_only_the_strongest_keypoints_are_kept(matcher_file: Path, image: np.ndarray) -> None:
    few = NetworkDetector(load_network(matcher_file), FeatureOptions(keypoints=50))(image)
    many = NetworkDetector(load_network(matcher_file), FeatureOptions(keypoints=500))(image)
    assert len(few) == 50
    assert np.array_equal(few.keypoints_px, many.keypoints_px[:50])


def test_keypoints_and_descriptors_are_those_of_the_original(xfeat_file: Path, image: np.ndarray) -> None:
    """Kornia's own detector, in torch, on the same image."""
    import torch
    from kornia.feature.xfeat import XFeat

    from nadirfix.train.xfeat import _pretrained

    original = XFeat(top_k=1000).eval()
    original.net = _pretrained()
    original_features = original.detectAndCompute(torch.from_numpy(image)[None, None])[0]
    at = original_features["keypoints"].numpy().astype(int).tolist()
    theirs = {
        tuple(xy): descriptors for xy, descriptors in zip(at, original_features["descriptors"], strict=True)
    }
    ours = NetworkDetector(load_network(xfeat_file), FeatureOptions(keypoints=1000))(image)
    whole = np.floor(ours.keypoints_px).astype(int)
    rows = [i for i, (x, y) in enumerate(whole.tolist()) if (x, y) in theirs]
    assert len(rows) > 0.9 * len(theirs)
    # Near the frame theirs are mixed with nothing, ours with the last pixel.
    inner = [i for i in rows if (whole[i] > 16).all() and (whole[i] < np.array(image.shape[::-1]) - 16).all()]
    off = [np.abs(ours.descriptors[i] - theirs[tuple(whole[i])].numpy()).max() for i in inner]
    assert max(off) < 1e-3


def test_matches_are_mutual_and_similar_enough() -> None:
    rng = np.random.default_rng(0)
    descriptors = rng.normal(size=(1500, 16)).astype(np.float32)
    descriptors /= np.linalg.norm(descriptors, axis=1, keepdims=True)
    order = rng.permutation(1500)
    points = np.zeros((1500, 2), np.float32)
    a, b = mutual_matches(
        Features(points, descriptors), Features(points, descriptors[order]), min_similarity=0.9
    )
    assert len(a) == 1500
    assert np.array_equal(order[b], a)
    opposite = Features(points[:1], -descriptors[:1])
    assert len(mutual_matches(Features(points[:1], descriptors[:1]), opposite, min_similarity=0.9)[0]) == 0


def test_matching_is_that_of_the_whole_table() -> None:
    """More rows than one block holds, against every likeness at once."""
    rng = np.random.default_rng(1)
    a, b = (
        Features(np.zeros((n, 2), np.float32), rng.normal(size=(n, 8)).astype("f4")) for n in (2500, 1700)
    )
    table = a.descriptors @ b.descriptors.T
    mutual = [i for i, j in enumerate(table.argmax(axis=1)) if table[:, j].argmax() == i]
    assert mutual_matches(a, b, min_similarity=-100.0)[0].tolist() == mutual


@pytest.mark.parametrize("name", NETWORK_MATCHERS)
def test_a_detector_without_its_network_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="network"):
        detector_of(name, None, FeatureOptions())
