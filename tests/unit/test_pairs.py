"""Pairs of looks: a pixel of the one is where the homography says in the other."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from nadirfix.errors import TrainingError
from nadirfix.geo.texture import Texture
from nadirfix.nn.host import HostTexture
from nadirfix.nn.pairs import PairedGround, other_from_one, square_camera
from nadirfix.nn.views import Views
from nadirfix.options_train import PairOptions
from nadirfix.verify.learn import mapped

GSD_M = 0.5
SMALL = PairOptions(side_px=96, coarsest_m=0.8, finest_m=0.5, other_date=0.5)


def texture(seed: int, *, side: int = 600, shade: int = 0) -> Texture:
    rng = np.random.default_rng(seed)
    coarse = torch.from_numpy(rng.uniform(0, 200, (1, 3, side // 10, side // 10)))
    smooth = functional.interpolate(coarse, size=(side, side), mode="bicubic").clamp(0, 200)[0]
    pixels = smooth.permute(1, 2, 0).numpy().astype(np.uint8) + np.uint8(shade)
    affine = (GSD_M, 0.0, 500_000.0, 0.0, -GSD_M, 5_000_000.0)
    return Texture.from_array(pixels, None, affine=affine, epsg=32633)


@pytest.fixture(scope="module")
def ground() -> PairedGround:
    return PairedGround([HostTexture(texture(1)), HostTexture(texture(1, shade=40))], SMALL, seed=3)


def test_the_same_ground_is_where_the_geometry_says(ground: PairedGround) -> None:
    pairs = ground.draw(np.arange(16))
    points = 8 + 80 * torch.rand((16, 400, 2), generator=torch.Generator().manual_seed(0))
    there = mapped(points, pairs.other_from_one)
    inside = ((there > 1) & (there < 95)).all(-1)
    for shown, at in ((pairs.one_there, points), (pairs.other_there, there)):
        cover = functional.grid_sample(shown, (at / 48 - 1)[:, :, None], align_corners=False)
        inside &= cover[:, 0, :, 0] > 0.99
    looks = [
        functional.grid_sample(look, (at / 48 - 1)[:, :, None], align_corners=False)[..., 0]
        for look, at in ((pairs.one, points), (pairs.other, there))
    ]
    off = (looks[0] - looks[1]).mean(1)
    apart = [float(o[i].std()) for o, i in zip(off, inside, strict=True)]
    assert inside.float().mean() > 0.4
    assert max(apart) < 2.0, "grey levels; unrelated ground differs by tens"


def test_both_dates_are_looked_at(ground: PairedGround) -> None:
    pairs = ground.draw(np.arange(64))
    lighter = (pairs.other.mean((1, 2, 3)) - pairs.one.mean((1, 2, 3))).numpy()
    assert (lighter > 15).any() and (lighter < -15).any() and (np.abs(lighter) < 15).any()


def test_a_pair_follows_from_its_number(ground: PairedGround) -> None:
    both, alone = ground.draw(np.array([4, 9])), ground.draw(np.array([9]))
    assert torch.equal(both.one[1], alone.one[0]) and torch.equal(both.other[1], alone.other[0])


def test_pairs_across_dates_that_lie_apart_say_so() -> None:
    dates = [HostTexture(texture(1)), HostTexture(texture(1))]
    pairs = PairedGround(dates, SMALL, seed=3, aligned=False).draw(np.arange(40))
    assert 5 < int(pairs.aligned.sum()) < 35, "those of one date are aligned all the same"


def test_a_shift_in_metres_is_a_shift_in_pixels() -> None:
    one = Views.level(np.array([100.0]), np.array([50.0]), np.array([96.0]), np.array([0.0]))
    other = Views.level(np.array([110.0]), np.array([50.0]), np.array([96.0]), np.array([0.0]))
    matrix = other_from_one(one, other, square_camera(96), (96, 96))[0]
    assert np.allclose(matrix @ [48, 48, 1], [38, 48, 1], atol=1e-6), "one metre is one pixel here"


def test_a_map_too_small_for_pairs_is_an_error() -> None:
    with pytest.raises(TrainingError, match="smaller side_px"):
        PairedGround([HostTexture(texture(1, side=100))], PairOptions(side_px=320), seed=0)
