"""Augmentation: the same seed gives the same picture, whichever batch it is in, and zero does nothing."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from nadirfix.options.training import AugmentOptions

torch = pytest.importorskip("torch")

from nadirfix.train.data.augment import Augmenter  # noqa: E402

STEPS = ("colour", "haze", "blur", "noise_levels", "jpeg", "shadow", "patches", "tint", "soften_px")
OFF = AugmentOptions(**dict.fromkeys(STEPS, 0.0))


def pictures(count: int = 4, height: int = 40, width: int = 56) -> torch.Tensor:
    rng = np.random.default_rng(0)
    return torch.from_numpy(rng.uniform(20, 230, (count, 3, height, width)).astype(np.float32))


def test_zero_strength_changes_nothing() -> None:
    before = pictures()
    after = Augmenter(OFF, seed=1, device="cpu")(before.clone(), np.arange(4))
    assert torch.equal(before, after)


@pytest.mark.parametrize("step", STEPS)
def test_each_step_changes_something_and_stays_in_range(step: str) -> None:
    strength = 6.0 if step == "noise_levels" else 0.5
    only = dataclasses.replace(OFF, **{step: strength})
    before = pictures(16)
    after = Augmenter(only, seed=1, device="cpu")(before.clone(), np.arange(16))
    assert after.shape == before.shape and torch.isfinite(after).all()
    assert float(after.min()) >= 0 and float(after.max()) <= 255
    assert float((after - before).abs().mean()) > 0.1


def test_a_picture_is_the_same_in_any_batch() -> None:
    augment = Augmenter(AugmentOptions(), seed=3, device="cpu")
    whole = augment(pictures(), np.arange(10, 14))
    alone = augment(pictures()[2:3], np.array([12]))
    torch.testing.assert_close(whole[2:3], alone, atol=1e-3, rtol=0)


def test_seed_and_index_decide() -> None:
    first = Augmenter(AugmentOptions(), seed=3, device="cpu")(pictures(), np.arange(4))
    again = Augmenter(AugmentOptions(), seed=3, device="cpu")(pictures(), np.arange(4))
    other = Augmenter(AugmentOptions(), seed=4, device="cpu")(pictures(), np.arange(4))
    later = Augmenter(AugmentOptions(), seed=3, device="cpu")(pictures(), np.arange(4, 8))
    assert torch.equal(first, again)
    assert not torch.allclose(first, other) and not torch.allclose(first, later)


def test_jpeg_keeps_a_flat_picture_flat_and_a_size_that_is_no_multiple_of_eight() -> None:
    only = dataclasses.replace(OFF, jpeg=0.5)
    flat = torch.full((2, 3, 21, 35), 130.0)
    after = Augmenter(only, seed=0, device="cpu")(flat, np.arange(2))
    assert after.shape == flat.shape
    assert float((after - flat).abs().max()) < 2.0


def test_jpeg_is_an_exact_transform_when_it_rounds_finely() -> None:
    only = dataclasses.replace(OFF, jpeg=1e-6)
    before = pictures(2)
    after = Augmenter(only, seed=0, device="cpu")(before.clone(), np.arange(2))
    assert float((after - before).abs().max()) < 6.0  # the floor is 2 % of quality 50's steps


def test_a_softer_lens_blurs_by_its_radius_and_keeps_the_mean() -> None:
    dot = torch.zeros((1, 3, 61, 61))
    dot[:, :, 30, 30] = 200.0
    augment = Augmenter(dataclasses.replace(OFF, soften_px=2.0), seed=1, device="cpu")
    soft = augment._defocus(dot, torch.tensor([[0.75]]))
    steps = torch.arange(61) - 30.0
    spread = (soft[0, 0].sum(0) @ steps**2 / soft[0, 0].sum()).sqrt()
    assert float(spread) == pytest.approx(1.5, rel=0.01)
    assert float(soft[0, 0].sum()) == pytest.approx(200.0, rel=1e-5)
    assert torch.allclose(augment._defocus(dot, torch.zeros((1, 1))), dot, atol=1e-3)
