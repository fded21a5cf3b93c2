"""A piece of the procedural world to verify photos against: small, made once, at two dates."""

from __future__ import annotations

from functools import cache

import numpy as np

from nadirfix.camera import Camera
from nadirfix.geo.texture import Texture
from nadirfix.types import View
from nadirfix.world.make import make_world

#: Half the nominal camera: the same ground with a quarter of the pixels.
CAMERA = Camera(1024, 768, 600.0, 600.0)


@cache
def place(date: str = "old") -> Texture:
    """The map of one date, 0.5 × 0.5 km."""
    world = make_world(size_m=500.0, gsd_m=0.5, seed=11)
    return Texture.from_array(getattr(world, date), None, affine=world.affine, epsg=world.epsg)


@cache
def other_place() -> Texture:
    """A map that shows none of it, said to lie at the same coordinates."""
    world = make_world(size_m=500.0, gsd_m=0.5, seed=12)
    return Texture.from_array(world.old, None, affine=world.affine, epsg=world.epsg)


def view_of(
    ground: Texture,
    *,
    east_m: float = 0.0,
    north_m: float = 0.0,
    altitude_m: float = 150.0,
    heading_deg: float = 40.0,
    **tilt: float,
) -> View:
    """A view this far from the middle of the map."""
    return View(ground.center.moved(east_m, north_m), altitude_m, heading_deg, **tilt)


def photo_from(ground: Texture, view: View) -> np.ndarray:
    """What the camera sees from a view, with a little noise."""
    rendered = ground.render(view, CAMERA)
    noise = np.random.default_rng(0).normal(0, 2, rendered.pixels.shape)
    return np.clip(np.rint(rendered.pixels + noise), 0, 255).astype(np.uint8)
