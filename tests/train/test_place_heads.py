"""METHOD §3, heads: against double-precision NumPy written from the equations, and finite differences."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from nadirfix.options.recipe import HeadOptions
from nadirfix.train.models.heads import (
    GroupHeads,
    aamc_logits,
    ce_logits,
    cosines,
    head_logits,
    qamc_logits,
    quality,
    quality_of_cues,
    sharpness,
    standardised,
)

HEAD = HeadOptions()
KINDS = ["ce", "aamc", "qamc"]


def batch(seed: int, *, size: int = 7, classes: int = 5, dims: int = 6) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(size, dims)) * rng.uniform(0.5, 30, (size, 1))
    return x, rng.normal(size=(classes, dims)), rng.integers(0, classes, size), rng.uniform(0, 900, size)


def z(q: np.ndarray, eps: float = 1e-3) -> np.ndarray:
    mean = sum(q) / len(q)
    deviation = math.sqrt(sum((v - mean) ** 2 for v in q) / len(q))
    return (q - mean) / (deviation + eps)


def gamma_oracle(x: np.ndarray, sharp: np.ndarray, head: HeadOptions) -> np.ndarray:
    q_norm = np.clip(np.sqrt((x**2).sum(1)), 1e-3, 100)
    q_sharp = np.log(1 + sharp)
    both = head.norm_share * z(q_norm) + (1 - head.norm_share) * z(q_sharp)
    return np.clip(head.concentration * z(both), -1, 1)


def logits_oracle(
    x: np.ndarray, w: np.ndarray, y: np.ndarray, gamma: np.ndarray, head: HeadOptions
) -> np.ndarray:
    out = np.empty((len(x), len(w)))
    for b in range(len(x)):
        for c in range(len(w)):
            if head.kind == "ce":
                out[b, c] = x[b] @ w[c]
                continue
            cosine = x[b] @ w[c] / (np.linalg.norm(x[b]) * np.linalg.norm(w[c]))
            theta = math.acos(min(max(cosine, -1 + head.epsilon), 1 - head.epsilon))
            if c != y[b]:
                out[b, c] = head.scale * math.cos(theta)
            elif head.kind == "aamc":
                out[b, c] = head.scale * math.cos(theta + head.margin)
            else:
                moved = min(max(theta - head.margin * gamma[b], head.epsilon), math.pi - head.epsilon)
                out[b, c] = head.scale * (math.cos(moved) - head.margin * (1 + gamma[b]))
    return out


def loss_oracle(logits: np.ndarray, y: np.ndarray) -> float:
    terms = [
        math.log(sum(math.exp(v - row.max()) for v in row)) + row.max() - row[t]
        for row, t in zip(logits, y, strict=True)
    ]
    return sum(terms) / len(terms)


@pytest.mark.parametrize(("gamma", "logit"), [(-1, 10.877897), (0, 8.979348), (1, 1.621479)])
def test_qamc_target_logit_by_hand(gamma: float, logit: float) -> None:
    head = replace(HEAD, margin=0.4, scale=64.0)
    cosine = torch.tensor([[math.cos(1.0), 0.3]], dtype=torch.float64)
    result = qamc_logits(cosine, torch.tensor([0]), torch.tensor([gamma], dtype=torch.float64), head)
    assert result[0, 0].item() == pytest.approx(logit, abs=5e-7)
    assert result[0, 1].item() == pytest.approx(64 * 0.3, abs=1e-12)


def test_aamc_target_logit_by_hand() -> None:
    cosine = torch.tensor([[math.cos(1.0), 0.3]], dtype=torch.float64)
    result = aamc_logits(cosine, torch.tensor([0]), replace(HEAD, margin=0.4, scale=64.0))
    assert result[0].tolist() == pytest.approx([64 * math.cos(1.4), 19.2], abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_logits_and_loss_against_numpy(kind: str, seed: int) -> None:
    head = replace(HEAD, kind=kind)
    x, w, y, sharp = batch(seed)
    x[0], w[1] = 3 * w[y[0]], -x[1]  # angles 0 and π: the clips must act
    gamma = gamma_oracle(x, sharp, head)
    tx, tw, ty, tg = (torch.from_numpy(v) for v in (x, w, y, gamma))
    result = head_logits(tx, tw, ty, tg, head)
    wanted = logits_oracle(x, w, y, gamma, head)
    assert result.numpy() == pytest.approx(wanted, abs=1e-9)
    heads = GroupHeads(6, [2, 5], head).double()
    with torch.no_grad():
        heads.prototypes[1].copy_(tw)
    assert heads.loss(tx, ty, tg, group=1).item() == pytest.approx(loss_oracle(wanted, y), rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_quality_against_numpy(seed: int) -> None:
    x, _, _, sharp = batch(seed, size=33)
    x[0] *= 1e3  # beyond the clip of the norm
    x[1] *= 1e-9
    result = quality(torch.from_numpy(x), torch.from_numpy(sharp), HEAD)
    assert result.numpy() == pytest.approx(gamma_oracle(x, sharp, HEAD), abs=1e-12)


def test_quality_of_cues_is_the_same_quality() -> None:
    x, _, _, sharp = (torch.from_numpy(v) for v in batch(2, size=9))
    assert torch.equal(quality_of_cues(x.norm(dim=1), sharp, HEAD), quality(x, sharp, HEAD))


def test_quality_of_half_precision_embeddings_is_not_rounded_to_theirs() -> None:
    x, _, _, sharp = (torch.from_numpy(v) for v in batch(2, size=9))
    assert quality(x.bfloat16(), sharp, HEAD).dtype == torch.float32


def test_quality_is_clipped() -> None:
    x, _, _, sharp = batch(0, size=33)
    strong = replace(HEAD, concentration=5.0)
    result = quality(torch.from_numpy(x), torch.from_numpy(sharp), strong)
    assert (result.min().item(), result.max().item()) == (-1, 1)


@pytest.mark.parametrize("length", [0.1, 1.0, 7.3, 99.0])
def test_equal_norms_give_no_norm_part(length: float) -> None:
    x = torch.randn(64, 128, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x = length * x / x.norm(dim=1, keepdim=True)
    assert standardised(x.norm(dim=1), HEAD.epsilon).abs().max().item() < 1e-9
    alone = quality(x, torch.zeros(64), HEAD)  # nor any sharpness: then there is no quality either
    assert alone.abs().max().item() < 1e-6


def test_equal_norms_give_no_norm_part_in_training_precision() -> None:
    x = torch.zeros(64, 32).index_fill_(1, torch.tensor([3]), 9.7)
    assert quality(x, torch.zeros(64), HEAD).abs().max().item() < 1e-6


def test_quality_carries_no_gradient() -> None:
    x = torch.randn(8, 4, dtype=torch.float64, requires_grad=True)
    pictures = torch.rand(8, 3, 9, 9, requires_grad=True)
    assert not quality(x, sharpness(pictures), HEAD).requires_grad


def numeric_gradient(function, at: np.ndarray, step: float = 1e-6) -> np.ndarray:
    out = np.empty_like(at)
    for i in np.ndindex(at.shape):
        up, down = at.copy(), at.copy()
        up[i] += step
        down[i] -= step
        out[i] = (function(up) - function(down)) / (2 * step)
    return out


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_against_finite_differences(kind: str) -> None:
    """Of the oracle's loss, with the quality held still: it carries no gradient."""
    head = replace(HEAD, kind=kind, scale=10.0)
    x, w, y, sharp = batch(11, size=4, classes=3, dims=5)
    x /= 10
    gamma = gamma_oracle(x, sharp, head)
    tx, tw = (torch.from_numpy(v).requires_grad_() for v in (x, w))
    heads = GroupHeads(5, [3], head).double()
    heads.prototypes[0] = torch.nn.Parameter(tw.detach().clone())
    heads.loss(tx, torch.from_numpy(y), torch.from_numpy(gamma), group=0).backward()

    def loss(x_: np.ndarray, w_: np.ndarray) -> float:
        return loss_oracle(logits_oracle(x_, w_, y, gamma, head), y)

    assert tx.grad.numpy() == pytest.approx(numeric_gradient(lambda v: loss(v, w), x), abs=1e-7)
    gradient = heads.prototypes[0].grad.numpy()
    assert gradient == pytest.approx(numeric_gradient(lambda v: loss(x, v), w), abs=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_stay_finite_at_angle_zero_and_pi(kind: str) -> None:
    w = torch.eye(3)
    x = torch.stack([w[0] * 5, -w[1] * 2]).requires_grad_()
    heads = GroupHeads(3, [3], replace(HEAD, kind=kind))
    with torch.no_grad():
        heads.prototypes[0].copy_(w)
    heads.loss(x, torch.tensor([0, 1]), torch.tensor([1.0, -1.0]), group=0).backward()
    assert torch.isfinite(x.grad).all()


def test_cosines_do_not_depend_on_length() -> None:
    x, w, _, _ = (torch.from_numpy(v) for v in batch(3))
    assert cosines(x, w).numpy() == pytest.approx(cosines(7 * x, 0.2 * w).numpy(), abs=1e-12)
    assert ce_logits(2 * x, w).numpy() == pytest.approx(2 * ce_logits(x, w).numpy())


def test_sharpness_against_numpy() -> None:
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (3, 3, 11, 13)).astype(np.float64)
    wanted = []
    for picture in pictures:
        grey = picture.mean(axis=0)
        laplacian = [
            grey[i - 1, j] + grey[i + 1, j] + grey[i, j - 1] + grey[i, j + 1] - 4 * grey[i, j]
            for i in range(1, 10)
            for j in range(1, 12)
        ]
        wanted.append(np.var(laplacian))
    assert sharpness(torch.from_numpy(pictures)).numpy() == pytest.approx(wanted, rel=1e-5)


def test_a_plain_picture_and_a_ramp_have_no_sharpness() -> None:
    ramp = torch.arange(20.0).expand(1, 3, 15, 20)
    assert sharpness(ramp).item() == 0
    assert sharpness(torch.full((1, 3, 9, 9), 77.0)).item() == 0
