"""A photo through a bent lens is straightened before anything else, and located like a straight one."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from nadirfix.bundle import Bundle
from nadirfix.camera import Camera, Lens
from nadirfix.online import locate
from nadirfix.online.photo import read_photo
from nadirfix.options.locate import LocateOptions
from tests.lenses import Plane, rays

LENS = Lens(
    model="brown-conrady", fx_px=600, fy_px=600, radial=(-0.12, 0.02, 0.0), tangential=(0.002, -0.001),
    center_px=(14.0, -9.0),
)  # fmt: skip
CAMERA = Camera(1024, 768, 600.0, 600.0, lens=LENS)


@pytest.fixture(scope="module")
def bundle(tiny_bundle: Path) -> Bundle:
    return Bundle.load(tiny_bundle)


def png(pixels: np.ndarray) -> bytes:
    target = io.BytesIO()
    Image.fromarray(pixels).save(target, "PNG")
    return target.getvalue()


def test_the_photo_is_straight_before_anything_sees_it(bundle: Bundle) -> None:
    plane, small = Plane(), CAMERA.resized(512, 384)
    read = read_photo(png(plane.photo(small)), CAMERA, bundle, LocateOptions())
    assert read.camera == Camera(512, 384, 300.0, 300.0)
    assert plane.off_px(read.pixels, read.camera) < 0.15


def test_a_bent_photo_is_located_where_the_straight_one_is(bundle: Bundle, tiny_photos: Path) -> None:
    """Within a metre; taken for straight, it is located elsewhere."""
    straight = np.asarray(Image.open(tiny_photos / "photos" / "000000.jpg").convert("RGB"))
    x, y = (tangent.astype(np.float32) for tangent in rays(CAMERA))
    bent = cv2.remap(
        straight, 600 * x + 511.5, 600 * y + 383.5, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT
    )
    pinhole = replace(CAMERA, lens=None)
    options = LocateOptions()
    wanted = locate(png(straight), bundle=bundle, camera=pinhole, options=options)
    found = locate(png(bent), bundle=bundle, camera=CAMERA, options=options)
    wrong = locate(png(bent), bundle=bundle, camera=pinhole, options=options)
    assert wanted.position is not None
    assert found.position is not None
    assert wrong.position is not None
    assert found.position.distance_m(wanted.position) < 1.0
    assert wrong.position.distance_m(wanted.position) > 5.0
