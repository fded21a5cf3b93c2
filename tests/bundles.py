"""Small bundles for tests: a recipe that builds in seconds, and ground to build from."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyproj
import rasterio
from PIL import Image
from rasterio.enums import ColorInterp
from rasterio.transform import from_origin

from nadirfix.camera import Camera
from nadirfix.options.recipe import (
    BinOptions,
    FitOptions,
    NetworkOptions,
    QuantiseOptions,
    Recipe,
    ReferenceOptions,
)
from nadirfix.options.training import TrainOptions
from nadirfix.types import View
from tests.ground import AnalyticGround

#: Square ground of 700 m in UTM zone 33, a metre a pixel.
GROUND = AnalyticGround(15.31, 49.12, 32633, shortest_m=40.0)
SIDE_M = 700.0
CAMERA = Camera(512, 384, 300.0, 300.0)

_TRAINING = TrainOptions(
    schedule="budget", budget_steps=3, batch=4, validation_views=64, checkpoint_every_s=0.0
)
_NETWORK = {"encoder": "small", "weights": "random", "mix_blocks": 1, "mix_channels": 16}

RECIPE = Recipe(
    name="test",
    camera=CAMERA,
    bins=BinOptions(max_m=200.0),
    references=ReferenceOptions(headings=4),
    fit=FitOptions(views=60),
    quantise=QuantiseOptions(views=0),
    altitude_network=NetworkOptions(input="spectrum", width_px=64, height_px=48, **_NETWORK),
    place_network=NetworkOptions(width_px=64, height_px=64, **_NETWORK),
    altitude_training=_TRAINING,
    place_training=_TRAINING,
    matcher="none",
)

#: One whose references are cut from mosaics: a network that pools by parts, views on whole steps of it.
MOSAICS = replace(
    RECIPE,
    references=ReferenceOptions(headings=4, whiten_dims=32, whiten_power=0.5, steps=8),
    place_network=NetworkOptions(
        width_px=128, height_px=128, encoder="small", weights="random", aggregator="gem"
    ),
)

#: The first recipe as a pilot would write it.
RECIPE_TOML = """
base = "standard"
name = "test"
matcher = "none"
camera = "512x384@300"
[bins]
max_m = 200.0
[references]
headings = 4
whiten_dims = 0
whiten_power = 1.0
steps = 0
low_altitude_m = 0.0
[fit]
views = 60
[quantise]
views = 0
[altitude_network]
width_px = 64
height_px = 48
encoder = "small"
weights = "random"
start = ""
mix_blocks = 1
mix_channels = 16
[place_network]
width_px = 64
height_px = 64
encoder = "small"
weights = "random"
start = ""
aggregator = "mixvpr"
mix_blocks = 1
mix_channels = 16
[altitude_training]
schedule = "budget"
budget_steps = 3
batch = 4
validation_views = 64
checkpoint_every_s = 0.0
[place_training]
schedule = "budget"
budget_steps = 3
batch = 4
validation_views = 64
checkpoint_every_s = 0.0
"""


def write_ground(path: Path, *, east_m: float = 0.0, north_m: float = 0.0) -> Path:
    """The ground as a north-up map in its own zone; the same pixels may be said to lie elsewhere."""
    east, north = np.rint(GROUND.center)
    count, half = round(SIDE_M), SIDE_M / 2
    GROUND.write(path, "EPSG:32633", from_origin(east - half, north + half, 1.0, 1.0), count, count)
    with rasterio.open(path, "r+") as dataset:
        dataset.transform = from_origin(east - half + east_m, north + half + north_m, 1.0, 1.0)
    return path


def write_ground_in(path: Path, crs: str, *, turn_deg: float = 0.0) -> Path:
    """The same square of ground in any system and transform, with nothing around it."""
    transform, count = GROUND.frame(crs, side_m=SIDE_M * 1.45, gsd_m=1.0, turn_deg=turn_deg)
    col, row = np.meshgrid(np.arange(count) + 0.5, np.arange(count) + 0.5)
    x = transform.a * col + transform.b * row + transform.c
    y = transform.d * col + transform.e * row + transform.f
    east, north = pyproj.Transformer.from_crs(crs, GROUND.epsg, always_xy=True).transform(x, y)
    reach = np.maximum(np.abs(east - GROUND.center[0]), np.abs(north - GROUND.center[1]))
    alpha = np.where(reach < SIDE_M / 2, 255, 0)
    pixels = np.dstack([np.rint(GROUND.colour(east, north)), alpha]).astype(np.uint8)
    profile = {"driver": "GTiff", "dtype": "uint8", "count": 4, "crs": crs, "transform": transform}
    with rasterio.open(path, "w", width=count, height=count, **profile) as out:
        out.write(np.moveaxis(pixels, -1, 0))
        out.colorinterp = [ColorInterp.red, ColorInterp.green, ColorInterp.blue, ColorInterp.alpha]
    return path


def photo_of(view: View) -> bytes:
    """What a camera sees of the ground, as a picture file."""
    pixels = np.rint(GROUND.expected(view, CAMERA, (CAMERA.width_px, CAMERA.height_px))).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format="PNG")
    return file.getvalue()
