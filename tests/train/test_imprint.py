"""Prototypes start where views of their cells lie, the same each time, or at random when not asked for."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from nadirfix.geo.texture import Texture
from nadirfix.options.recipe import NetworkOptions, Recipe
from nadirfix.options.training import TrainOptions

torch = pytest.importorskip("torch")

from nadirfix.train.data.device_renderer import DeviceRenderer  # noqa: E402
from nadirfix.train.models.place import PlaceNetwork, build_place_network  # noqa: E402
from nadirfix.train.place import imprint, place_sampler  # noqa: E402

NETWORK = NetworkOptions(
    width_px=32, height_px=32, encoder="small", weights="random", mix_blocks=1, mix_channels=8
)


def made(imprint_views: int) -> PlaceNetwork:
    pixels = np.random.default_rng(0).integers(0, 255, (200, 200, 3)).astype(np.uint8)
    texture = Texture.from_array(pixels, None, affine=(4.0, 0.0, 5e5, 0.0, -4.0, 5e6), epsg=32633)
    training = TrainOptions(schedule="budget", budget_steps=1, imprint_views=imprint_views)
    recipe = dataclasses.replace(Recipe(), place_network=NETWORK, place_training=training)
    sampler = place_sampler(texture, recipe)
    order = sampler.order()
    sampler.use(order)
    network, _ = build_place_network(NETWORK, recipe.head, order, seed=0)
    imprint(network, sampler, recipe, DeviceRenderer(texture, "cpu"))
    return network


def test_imprinted_prototypes_are_unit_directions_and_repeatable() -> None:
    first, again, random = made(2), made(2), made(0)
    for one, two, other in zip(
        first.heads.prototypes, again.heads.prototypes, random.heads.prototypes, strict=True
    ):
        assert torch.equal(one, two) and one.requires_grad
        torch.testing.assert_close(one.norm(dim=1), torch.ones(len(one)))
        assert not torch.allclose(one, other)
