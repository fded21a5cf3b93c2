"""The generalised mean against NumPy in double precision, between the mean and the maximum."""

import numpy as np
import pytest
import torch

from nadirfix.errors import InputError
from nadirfix.options.recipe import NetworkOptions
from nadirfix.train.models.aggregators import AGGREGATORS, build_aggregator
from nadirfix.train.models.gem import GeM

FEATURES = np.random.default_rng(0).uniform(0.01, 4.0, size=(3, 5, 6, 8))


def pooled(power: float, parts: int, features: np.ndarray = FEATURES) -> np.ndarray:
    rows, columns = features.shape[2:]
    net = GeM(channels=features.shape[1], rows=rows, columns=columns, power=power, parts=parts)
    result = net(torch.from_numpy(features)).numpy()
    assert result.shape == (len(features), net.dimensions)
    return result


def test_quarters_against_numpy() -> None:
    quarters = [FEATURES[:, :, y : y + 3, x : x + 4] for y in (0, 3) for x in (0, 4)]
    wanted = np.concatenate([np.mean(q**3, axis=(2, 3)) ** (1 / 3) for q in quarters], axis=1)
    assert pooled(3.0, 2) == pytest.approx(wanted, abs=1e-12)


def test_power_one_is_the_mean_and_a_large_one_nearly_the_maximum() -> None:
    assert pooled(1.0, 1) == pytest.approx(FEATURES.mean(axis=(2, 3)), abs=1e-12)
    largest = FEATURES.max(axis=(2, 3))
    assert np.all(pooled(400.0, 1) <= largest)
    assert pooled(400.0, 1) == pytest.approx(largest, rel=0.01)


def test_parts_of_a_map_that_does_not_divide_share_a_row_and_cover_all() -> None:
    one = np.zeros((1, 1, 5, 5))
    one[0, 0, 2, 2] = 1.0
    assert pooled(1.0, 2, one)[0] == pytest.approx([1 / 9] * 4, rel=1e-4)


def test_negative_features_count_as_nothing() -> None:
    assert pooled(3.0, 1, -FEATURES) == pytest.approx(np.full((3, 5), 1e-6), rel=1e-6)


def test_an_aggregator_is_named_in_the_options() -> None:
    gem = build_aggregator(NetworkOptions(encoder="small", aggregator="gem", width_px=64, height_px=48))
    assert (type(gem), gem.dimensions) == (GeM, 192 * 4)
    assert set(AGGREGATORS) == {"mixvpr", "gem"}


@pytest.mark.parametrize("wrong", [{"aggregator": "none"}, {"gem_power": 0.0}, {"gem_parts": 5}])
def test_options_that_name_none_are_an_error(wrong: dict) -> None:
    options = {"encoder": "small", "aggregator": "gem", "width_px": 64, "height_px": 64, **wrong}
    with pytest.raises(InputError, match=r"aggregator|generalised"):
        build_aggregator(NetworkOptions(**options))
