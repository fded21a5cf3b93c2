"""The batched renderer sees what the one-view renderer sees, and what a real photo path gives."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from nadirfix.camera import DEFAULT_CAMERA, Camera
from nadirfix.geo import pose
from nadirfix.geo.polynomial import Polynomial
from nadirfix.geo.texture import Texture
from nadirfix.types import Point, View

torch = pytest.importorskip("torch")

from nadirfix.geo.views import Views, ground_from_pixel, half_extent_m  # noqa: E402
from nadirfix.train.data.cpu_renderer import CpuRenderer  # noqa: E402
from nadirfix.train.data.device_renderer import DeviceRenderer  # noqa: E402

EPSG, WEST, NORTH = 32633, 500_000.0, 5_000_000.0


def make_texture(*, size_px: int = 1600, gsd_m: float = 0.5, hole: bool = False, seed: int = 0) -> Texture:
    pixels = _landscape(size_px, np.random.default_rng(seed))
    mask = np.full((size_px, size_px), 255, np.uint8)
    if hole:
        cv2.circle(mask, (size_px // 3, size_px // 3), size_px // 8, 0, -1)
    return Texture.from_array(pixels, mask, affine=(gsd_m, 0.0, WEST, 0.0, -gsd_m, NORTH), epsg=EPSG)


def _landscape(size_px: int, rng: np.random.Generator) -> np.ndarray:
    """Detail at every scale, in proportion to the scale, as aerial pictures have."""
    total = np.zeros((size_px, size_px, 3), np.float32)
    for octave in range(9):
        coarse = rng.normal(0, 1, (max(size_px >> octave, 2),) * 2 + (3,)).astype(np.float32)
        total += 1.6**octave * cv2.resize(coarse, (size_px, size_px), interpolation=cv2.INTER_CUBIC)
    return np.clip(128 + 45 * total / total.std(), 0, 255).astype(np.uint8)


def some_views(
    count: int, extent_m: float, *, seed: int = 1, altitude: tuple[float, float] = (60, 500)
) -> list[View]:
    rng = np.random.default_rng(seed)

    def one() -> View:
        where = Point(WEST + rng.uniform(0, extent_m), NORTH - rng.uniform(0, extent_m), EPSG)
        angles = rng.uniform(0, 360), rng.uniform(0, 6), rng.uniform(0, 360)
        return View(where, rng.uniform(*altitude), *angles)

    return [one() for _ in range(count)]


def test_batched_homographies_are_the_single_ones() -> None:
    views = some_views(20, 800)
    batch = ground_from_pixel(Views.of(views, EPSG), DEFAULT_CAMERA, (224, 200))
    single = [pose.ground_from_pixel(v, DEFAULT_CAMERA, (224, 200)) for v in views]
    np.testing.assert_allclose(batch, single, atol=1e-9)


@pytest.mark.parametrize("size", [(112, 112), (150, 90)])
@pytest.mark.parametrize("hole", [False, True])
def test_same_picture_as_the_one_view_renderer(size: tuple[int, int], hole: bool) -> None:
    texture = make_texture(hole=hole)
    views = some_views(12, 800)
    pixels, share = DeviceRenderer(texture, "cpu").render(Views.of(views, EPSG), DEFAULT_CAMERA, size)
    for i, view in enumerate(views):
        wanted = texture.render(view, DEFAULT_CAMERA, size)
        difference = np.abs(pixels[i].permute(1, 2, 0).numpy() - wanted.pixels).mean()
        assert difference < 0.5, f"{difference:.2f} grey levels at {view.altitude_m:.0f} m"
        assert abs(float(share[i]) - wanted.valid_share) < 1e-3


@pytest.mark.parametrize("reduced", [False, True])
def test_gathering_by_products_as_a_gpu_does_is_the_same(reduced: bool) -> None:
    views = Views.of(some_views(12, 800), EPSG)
    usual, gpu = (DeviceRenderer(make_texture(hole=True), "cpu") for _ in range(2))
    gpu.by_products = True
    wanted = usual.render_covered(views, DEFAULT_CAMERA, (50, 37), reduced=reduced)
    got = gpu.render_covered(views, DEFAULT_CAMERA, (50, 37), reduced=reduced)
    for mine, theirs in zip(got, wanted, strict=True):
        torch.testing.assert_close(mine, theirs, atol=2e-3, rtol=1e-5)


def test_a_curved_map_renders_the_same() -> None:
    """A map in another system has a curved polynomial; the local affine must follow it."""
    flat = make_texture()
    place = flat.place
    views = some_views(6, 800, altitude=(100, 400))
    bent = Texture(flat.planes, _bent(place), EPSG)
    pixels, _ = DeviceRenderer(bent, "cpu").render(Views.of(views, EPSG), DEFAULT_CAMERA, (112, 112))
    for i, view in enumerate(views):
        wanted = bent.render(view, DEFAULT_CAMERA, (112, 112)).pixels
        assert np.abs(pixels[i].permute(1, 2, 0).numpy() - wanted).mean() < 1.0


def _bent(place: Polynomial) -> Polynomial:
    """The same place with centimetres of curvature, as a Web-Mercator map at 60° N has."""
    row, col = (g.ravel() for g in np.mgrid[0:1600:9j, 0:1600:9j])
    east, north = WEST + 0.5 * col, NORTH - 0.5 * row
    bent = col + 2.5e-7 * (north - NORTH) ** 2, row + 2.5e-7 * (east - WEST) ** 2
    return Polynomial.fit((east, north), bent, degree=3, size_px=place.size_px)


@pytest.mark.parametrize("altitude_m", [100.0, 230.0, 420.0])
def test_training_view_equals_a_reduced_photo(altitude_m: float) -> None:
    """Rendering at the network's size differs little from taking the photo and reducing it by area."""
    texture = make_texture(size_px=1600, gsd_m=0.5)
    camera = Camera(1024, 768, 600.0, 600.0)
    view = View(Point(WEST + 400, NORTH - 400, EPSG), altitude_m, 33.0)
    photo = texture.render(view, camera).pixels
    reduced = cv2.resize(photo, (224, 168), interpolation=cv2.INTER_AREA)
    views = Views.of([view], EPSG)
    pixels, _ = DeviceRenderer(texture, "cpu").render(views, camera, (224, 168), reduced=True)
    difference = np.abs(pixels[0].permute(1, 2, 0).numpy() - reduced).mean()
    assert difference < 2.0, f"{difference:.2f} grey levels"


def test_a_view_off_the_map_is_black_and_counts_nothing() -> None:
    texture = make_texture(size_px=600)
    views = Views.of([View(Point(WEST - 5000, NORTH, EPSG), 100.0)], EPSG)
    pixels, share = DeviceRenderer(texture, "cpu").render(views, DEFAULT_CAMERA, (64, 64))
    assert float(pixels.abs().max()) == 0.0 and float(share[0]) == 0.0


def test_how_far_a_photo_reaches() -> None:
    east, north = half_extent_m(DEFAULT_CAMERA, np.array([120.0, 120.0]), np.array([0.0, 90.0]))
    np.testing.assert_allclose(east, [102.4, 76.8])
    np.testing.assert_allclose(north, [76.8, 102.4])


@pytest.mark.parametrize("size", [(112, 112), (64, 48)])
def test_the_cpu_renderer_gives_the_same_pictures(size: tuple[int, int]) -> None:
    texture = make_texture(hole=True)
    views = Views.of(some_views(12, 800), EPSG)
    renderers = CpuRenderer(texture), DeviceRenderer(texture, "cpu")
    cpu, device = (renderer.render_reduced(views, DEFAULT_CAMERA, size) for renderer in renderers)
    both = (cpu[1] > 0.99) & (device[1] > 0.99)
    assert float(both.float().mean()) > 0.2
    assert float((cpu[1] - device[1]).abs().mean()) < 0.01
    assert float(((cpu[0] - device[0]).abs() * both).sum() / (3 * both.sum())) < 1.0
