"""The matcher of our own: what it says, and that it learns from pairs whose geometry is known."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional

from nadirfix.nn.host import HostTexture
from nadirfix.nn.loop import train
from nadirfix.nn.pairs import PairedGround, Pairs
from nadirfix.nn.points import CELL_PX, DESCRIPTION, PointNetwork
from nadirfix.options_train import AugmentOptions, PairOptions, TrainOptions
from nadirfix.options_verify import FeatureOptions
from nadirfix.verify.features import XFeatDetector
from nadirfix.verify.learn import Spots, agreement_loss, match_loss, point_job, settled
from tests.unit.test_pairs import texture

NARROW = {"fine": 8, "cell": 16, "wide": 16, "widest": 16}


@pytest.fixture
def network() -> PointNetwork:
    torch.manual_seed(0)
    return PointNetwork(**NARROW).eval()


class Run:
    def __init__(self, network: PointNetwork) -> None:
        self.network = network

    @torch.no_grad()
    def run(self, inputs: np.ndarray) -> np.ndarray:
        return self.network(torch.from_numpy(inputs)).numpy()


def test_it_speaks_the_matcher_s_language(network: PointNetwork) -> None:
    told = network(255 * torch.rand(2, 1, 64, 96))
    description, chance, reliance = torch.split(told, [DESCRIPTION, CELL_PX**2, 1], dim=1)
    assert told.shape == (2, DESCRIPTION + CELL_PX**2 + 1, 8, 12)
    assert torch.allclose(description.norm(dim=1), torch.ones(2, 8, 12), atol=1e-5)
    assert torch.allclose(chance.sum(1), torch.ones(2, 8, 12), atol=1e-5)
    assert ((reliance > 0) & (reliance < 1)).all()


def test_light_and_contrast_do_not_matter(network: PointNetwork) -> None:
    grey = 40 + 100 * torch.rand(1, 1, 64, 64)
    assert torch.allclose(network(grey), network(1.5 * grey + 20), atol=1e-3)


def test_an_empty_picture_has_no_points(network: PointNetwork) -> None:
    find = XFeatDetector(Run(network), FeatureOptions())
    found = find(np.full((64, 96), 90, np.float32))
    assert np.isfinite(found.descriptions).all()


def looks(moved: torch.Tensor, *, aligned: bool = True) -> Pairs:
    there = torch.ones(1, 1, 64, 64)
    return Pairs(there, there, there, there, moved, torch.tensor([aligned]))


def test_agreeing_is_choosing_the_same_spot() -> None:
    shift = torch.eye(3)[None].clone()
    shift[:, 0, 2] = 5.0  # five pixels to the right
    one, other = torch.full((2, 1, 1, 64, 64), 1e-6)
    one[..., 4::8, 3::8] = 1.0
    other[..., 4::8, 0::8] = 1.0
    met, missed = (agreement_loss(one, chosen, looks(shift)) for chosen in (other, one))
    assert float(met) == pytest.approx(-math.log(0.25), abs=0.05), "a quarter: chances are softened each way"
    assert float(missed) > 8


def test_pairs_that_lie_apart_teach_no_places() -> None:
    chance = torch.rand(1, 1, 64, 64)
    assert agreement_loss(chance, chance, looks(torch.eye(3)[None], aligned=False)) == 0


def test_pairs_that_lie_apart_are_settled() -> None:
    torch.manual_seed(2)
    one = torch.rand(1, 1, 64, 64) ** 8
    other = one.roll((3, -2), dims=(2, 3))  # three pixels down and two to the left of where it should be
    pairs = settled(one, other, looks(torch.eye(3)[None], aligned=False), 4)
    assert pairs.aligned.all()
    assert torch.allclose(pairs.other_from_one[0] @ torch.tensor([30.0, 30, 1]), torch.tensor([28.0, 33, 1]))


def spots(points: torch.Tensor) -> Spots:
    seen = torch.ones(points.shape[:2], dtype=torch.bool)
    return Spots(points, points, seen, torch.full((1, 3, 2), 1000.0))


def test_points_are_found_by_their_descriptions() -> None:
    torch.manual_seed(1)
    maps = functional.normalize(torch.randn(1, DESCRIPTION, 8, 8), dim=1)
    at = torch.tensor([[[12.0, 12.0], [40.0, 20.0], [28.0, 52.0], [52.0, 44.0]]])
    lost, again = match_loss(maps, maps, spots(at), torch.tensor(30.0), 5.0)
    assert float(lost) < 0.01 and again.all()
    lost, again = match_loss(maps, maps.flip(3), spots(at), torch.tensor(30.0), 5.0)
    assert float(lost) > 1 and not again.all()


def test_points_nearly_the_same_are_no_mistake() -> None:
    maps = functional.normalize(torch.randn(1, DESCRIPTION, 8, 8), dim=1)
    at = torch.tensor([[[12.0, 12.0], [14.0, 12.0]]])
    lost, _ = match_loss(maps, maps, spots(at), torch.tensor(30.0), 5.0)
    assert float(lost) == 0


def test_it_learns(network: PointNetwork) -> None:
    options = PairOptions(side_px=64, coarsest_m=0.8, finest_m=0.5, points=64, strangers=16)
    ground = PairedGround([HostTexture(texture(1))], options, seed=0)
    training = TrainOptions(
        schedule="budget", budget_steps=60, batch=4, extractor_rate=3e-3, checkpoint_every_s=1e9
    )
    job = point_job(network, [ground], training, AugmentOptions(jpeg=0.0), parts=1)
    with torch.no_grad():
        before = float(job.loss(*job.batch(1000, 0, slice(0, 4))))
    train(job, training)
    with torch.no_grad():
        after = float(job.loss(*job.batch(1000, 0, slice(0, 4))))
    assert after < before - 1
