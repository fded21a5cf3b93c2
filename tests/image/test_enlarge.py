"""The crop as published: compared with Pillow and OpenCV, which make the enlarged picture and average it."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from PIL import Image

from nadirfix.camera import Camera
from nadirfix.image.crop import Canonical, canonical_crop, resample
from nadirfix.image.enlarge import cubic_weights

SIZES = [(512, 384), (401, 303), (236, 227)]
OUTS = [(224, 224), (64, 48), (101, 37)]
RATIOS = [1.0, 1.001, 1.1, 1.4, 2.2, 3.0, 5.4]


def textured(width: int, height: int, *, middle: float = 128.0, seed: int = 0) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(size=(height, width, 3)).astype(np.float32)
    smooth = cv2.GaussianBlur(noise, (0, 0), 1.0)
    return np.clip(middle + 30 * smooth / smooth.std(), 0, 255).astype(np.uint8)


def published(planes: list[Image.Image], ratio: float, out: tuple[int, int]) -> np.ndarray:
    """Resize by altitude over canonical altitude, crop back to the photo's size, average to the network's."""
    width, height = planes[0].size
    left, top = round((ratio - 1) * width / 2), round((ratio - 1) * height / 2)
    large = [p.resize((width + 2 * left, height + 2 * top), Image.Resampling.BICUBIC) for p in planes]
    crops = [np.asarray(p.crop((left, top, left + width, top + height)), np.float32) for p in large]
    return cv2.resize(np.dstack(crops), out, interpolation=cv2.INTER_AREA)


def cut(pixels: np.ndarray, ratio: float, out: tuple[int, int], enlarge: str = "cubic") -> np.ndarray:
    """What the camera of this picture crops from so many times the canonical altitude."""
    camera = Camera(pixels.shape[1], pixels.shape[0], 300.0, 300.0)
    crop = canonical_crop(
        pixels, camera, camera.gsd_m(125.0 * ratio), Canonical(camera, 125.0),
        width_px=out[0], height_px=out[1], enlarge=enlarge,
    )  # fmt: skip
    assert crop.camera.footprint_m(125.0 * ratio) == pytest.approx(camera.footprint_m(125.0))
    return crop.pixels


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("out", OUTS)
@pytest.mark.parametrize("size", SIZES)
def test_equals_what_is_enlarged_and_averaged_without_rounding(
    size: tuple[int, int], out: tuple[int, int], ratio: float
) -> None:
    pixels = textured(*size)
    planes = [Image.fromarray(pixels[..., c].astype(np.float32)) for c in range(3)]
    wanted = np.clip(published(planes, ratio, out), 0, 255)
    assert np.abs(cut(pixels, ratio, out) - wanted).max() < 1e-3


@pytest.mark.parametrize("ratio", RATIOS)
def test_bytes_between_the_steps_are_all_that_differs(ratio: float) -> None:
    pixels = textured(512, 384)
    wanted = published(list(Image.fromarray(pixels).split()), ratio, (224, 224))
    off = np.abs(cut(pixels, ratio, (224, 224)) - wanted)
    assert off.mean() < 0.2
    assert off.max() < 1
    if ratio >= 1.1:
        assert np.abs(cut(pixels, ratio, (224, 224), "mean") - wanted).mean() > 5 * off.mean()


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("frame_px", [384, 401, 2048])
def test_weights_of_every_new_pixel_add_up_and_stay_in_the_frame(frame_px: int, ratio: float) -> None:
    shares = cubic_weights(frame_px, frame_px * ratio, 224)
    assert [new for some, _, _ in shares for new in range(some.start, some.stop)] == list(range(224))
    for some, old, share in shares:
        assert share.shape == (some.stop - some.start, old.stop - old.start)
        assert 0 <= old.start < old.stop <= frame_px
        assert share.sum(axis=1) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("ratio", [*RATIOS, 40.0, 4000.0])
def test_a_plain_picture_stays_plain(ratio: float) -> None:
    assert cut(np.full((303, 401, 3), 93, np.uint8), ratio, (224, 224)) == pytest.approx(93, abs=1e-3)


@pytest.mark.parametrize("ratio", RATIOS)
def test_a_ramp_keeps_its_middle_and_its_slope(ratio: float) -> None:
    y, x = np.indices((384, 512))
    ramp = np.stack([x * 0.4, y * 0.4, 255 - x * 0.4], axis=-1).astype(np.float32)
    result = cut(ramp, ratio, (64, 64))[2:-2, 2:-2]
    assert result.mean(axis=(0, 1)) == pytest.approx([255.5 * 0.4, 191.5 * 0.4, 255 - 255.5 * 0.4], abs=0.005)
    across = np.diff(result[..., 0], axis=1).mean() / 0.4
    assert across == pytest.approx(512 / ratio / 64, rel=2e-3)


def test_what_overshoots_is_cut_off() -> None:
    """The cubic is brighter than white beside an edge; no byte is."""
    pixels = np.zeros((384, 512, 3), np.uint8)
    pixels[:, 256:] = 255
    result = cut(pixels, 5.4, (224, 224))
    assert (result.min(), result.max()) == (0, 255)


@pytest.mark.parametrize("ratio", [0.3, 0.8, 0.999])
def test_a_photo_from_too_low_is_resampled_as_usual(ratio: float) -> None:
    pixels, camera = textured(512, 384), Camera(512, 384, 300.0, 300.0)
    both = [
        canonical_crop(
            pixels, camera, camera.gsd_m(125.0 * ratio), Canonical(camera, 125.0),
            width_px=224, height_px=224, enlarge=enlarge,
        )
        for enlarge in ("mean", "cubic")
    ]  # fmt: skip
    assert all(one.clamped for one in both)
    assert np.array_equal(both[0].pixels, both[1].pixels)


def test_a_photo_smaller_than_the_networks_is_resampled_as_usual() -> None:
    pixels = textured(100, 300)
    assert np.array_equal(cut(pixels, 2.0, (224, 224)), cut(pixels, 2.0, (224, 224), "mean"))


@pytest.mark.parametrize("ratio", [1.0, 1.4, 2.2, 5.4])
def test_area_means_are_the_default(ratio: float) -> None:
    pixels, camera = textured(1300, 1280), Camera(1300, 1280, 300.0, 300.0)
    canonical = Canonical(camera, 125.0)
    usual = canonical_crop(pixels, camera, camera.gsd_m(125 * ratio), canonical, width_px=224, height_px=224)
    window = 1300 / ratio, 1280 / ratio
    edges = [(n - w) / 2 + w / 224 * np.arange(225) for n, w in zip((1300, 1280), window, strict=True)]
    across, down = (means(e, n) for e, n in zip(edges, (1300, 1280), strict=True))
    wanted = np.einsum("yi,xj,ijc->yxc", down, across, pixels, optimize=True)
    assert usual.pixels == pytest.approx(wanted, abs=1e-3)
    assert np.array_equal(usual.pixels, resample(pixels, window, width_px=224, height_px=224))


def means(edges: np.ndarray, frame_px: int) -> np.ndarray:
    """What each pixel counts in the mean between each pair of edges, as differences of running sums."""
    below = np.clip(edges[:, None] - np.arange(frame_px), 0, 1)
    return np.diff(below, axis=0) / np.diff(edges)[:, None]
