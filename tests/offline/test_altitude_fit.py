"""Altitude classes fitted to a map: against the separation they are made from, and on views of the map."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import cv2
import numpy as np
import pytest

from nadirfix.altitude.bins import AltitudeBins
from nadirfix.errors import InputError, MapError
from nadirfix.geo.texture import Texture
from nadirfix.offline.altitude_fit import (
    ViewSamples,
    draw_views,
    fit_classes,
    fit_directions,
    photometric_augmentation,
    scores_of,
)
from nadirfix.options.recipe import BinOptions, FitOptions, NetworkOptions
from tests.bundles import CAMERA, GROUND

BINS = AltitudeBins.from_options(BinOptions(max_m=250.0))


def test_separable_classes_are_separated() -> None:
    draw = np.random.default_rng(0)
    centres, labels = draw.normal(size=(4, 6)) * 5, np.repeat(np.arange(4), 30)
    vectors = (centres[labels] + draw.normal(size=(120, 6))).astype(np.float32)
    rows = fit_directions(vectors, labels, 4, penalty=1.0)
    assert (scores_of(vectors, rows).argmax(axis=1) == labels).mean() > 0.97


def test_the_fit_is_where_the_loss_is_flat() -> None:
    """Cross entropy plus half the squared weights: its gradient, written out, is nothing at the solution."""
    draw = np.random.default_rng(1)
    vectors, labels = draw.normal(size=(90, 5)), draw.integers(0, 3, 90)
    rows = fit_directions(vectors.astype(np.float32), labels, 3, penalty=2.0).astype(np.float64)
    scores = vectors @ rows[:, :-1].T + rows[:, -1]
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    gradient = (shares - np.eye(3)[labels]).T @ vectors + 2.0 * rows[:, :-1]
    assert np.abs(gradient).max() < 1e-4
    assert abs(rows[:, -1].mean()) < 1e-6, "what adds nothing is left out"


@pytest.mark.parametrize("present", [[1], [0, 2], [0, 1, 3]])
def test_a_class_without_views_is_never_the_answer(present: list[int]) -> None:
    draw = np.random.default_rng(2)
    labels = np.repeat(present, 20)
    vectors = (np.eye(4)[labels] * 4 + draw.normal(size=(len(labels), 4))).astype(np.float32)
    scores = scores_of(vectors, fit_directions(vectors, labels, 4, penalty=1.0))
    assert set(scores.argmax(axis=1)) <= set(present)
    assert (scores.argmax(axis=1) == labels).mean() > 0.9


def test_a_map_no_view_fits_on_is_refused_in_words() -> None:
    pixels = np.full((60, 60, 3), 90, np.uint8)
    small = Texture.from_array(pixels, None, affine=(1.0, 0.0, 5e5, 0.0, -1.0, 5.4e6), epsg=GROUND.epsg)
    with pytest.raises(MapError, match="no view from any altitude fits"):
        fit_classes(
            small, lambda spectra: spectra, camera=CAMERA, bins=BINS, network=NetworkOptions(),
            options=FitOptions(views=20),
        )  # fmt: skip


@pytest.mark.parametrize("kind", ["spectrum", "pixels"])
def test_networks_get_channels_first(kind: Any) -> None:
    shapes: list[tuple[int, ...]] = []

    def embed(inputs: np.ndarray) -> np.ndarray:
        shapes.append(inputs.shape[1:])
        return inputs.reshape(len(inputs), -1)[:, :5]

    network = NetworkOptions(input=kind, width_px=64, height_px=48)
    fit_classes(picture(), embed, camera=CAMERA, bins=BINS, network=network, options=FitOptions(views=12))
    assert set(shapes) == {(3, 48, 64)}


def test_what_is_held_out_moves_with_the_map() -> None:
    def record_at(east_m: float) -> Any:
        base, (a, b, east, d, e, north) = picture(), (1.0, 0.0, GROUND.center[0] - 350, 0.0, -1.0, 5.4e6)
        pixels = base.planes[0].read((0, 700), (0, 700))[0]
        moved = Texture.from_array(pixels, None, affine=(a, b, east + east_m, d, e, north), epsg=32633)
        network = NetworkOptions(input="spectrum", width_px=64, height_px=48)
        options = FitOptions(views=40)
        return fit_classes(moved, radial, camera=CAMERA, bins=BINS, network=network, options=options).record

    assert record_at(0.0) == record_at(1234.0)


def picture() -> Texture:
    """Waves from 12 m on, over 700 m: enough detail for a spectrum to tell altitudes by."""
    east, north = GROUND.center[0] - 350, GROUND.center[1] + 350
    across, down = np.meshgrid(east + np.arange(700) + 0.5, north - np.arange(700) - 0.5)
    pixels = np.rint(GROUND.colour(across, down)).astype(np.uint8)
    return Texture.from_array(pixels, None, affine=(1.0, 0.0, east, 0.0, -1.0, north), epsg=GROUND.epsg)


def radial(spectra: np.ndarray) -> np.ndarray:
    """An embedder anyone can check: the mean of the spectrum at each distance from its middle."""
    rows, columns = spectra.shape[-2:]
    y, x = np.mgrid[:rows, :columns]
    ring = np.hypot((y - rows // 2) / rows, (x - columns // 2) / columns)
    edges = np.linspace(0, 0.5, 17)
    rings = [spectra[..., (ring >= a) & (ring < b)].mean(axis=(1, 2)) for a, b in pairwise(edges)]
    return np.stack(rings, axis=1).astype(np.float32)


def test_a_map_s_own_views_teach_its_altitudes() -> None:
    network = NetworkOptions(input="spectrum", width_px=64, height_px=48)
    steps = []
    fitted = fit_classes(
        picture(), radial, camera=CAMERA, bins=BINS, network=network,
        options=FitOptions(views=240, penalty=0.01), progress=lambda *a: steps.append(a),
    )  # fmt: skip
    print(fitted.record)
    assert fitted.rows.shape == (len(BINS), 17)
    assert fitted.record["views"] == 240 and steps[-1][1:] == (240, 240)
    assert fitted.record["held_out"]["e_avg_m"] < 25
    again = fit_classes(
        picture(), radial, camera=CAMERA, bins=BINS, network=network,
        options=FitOptions(views=240, penalty=0.01),
    )  # fmt: skip
    assert again.rows.tobytes() == fitted.rows.tobytes()


def test_a_softer_lens_damps_waves_as_a_gaussian_does() -> None:
    """A wave of length L loses exp(-(2 π r / L)² / 2) of its height to a blur of radius r."""
    x, length_px = np.arange(256), 8.0
    wave = np.repeat(np.sin(2 * np.pi * x / length_px)[None, :, None], 32, axis=0) * np.ones(3) * 50 + 120
    options = FitOptions(light=0.0, noise_levels=0.0, soften_px=2.0)
    for seed in range(4):
        radius_px = 2.0 * np.random.default_rng(seed).uniform(0, 1)
        soft = photometric_augmentation(wave.astype(np.float32), np.random.default_rng(seed), options)[
            :, 64:192
        ]
        expected = np.exp(-0.5 * (2 * np.pi * radius_px / length_px) ** 2)
        assert np.ptp(soft) / 2 == pytest.approx(50 * expected, rel=0.02)


def soft_noise() -> Texture:
    """Ground with detail down to about 6 m and none below: where its spectrum ends tells the altitude."""
    noise = np.random.default_rng(4).normal(size=(700, 700, 3)).astype(np.float32)
    pixels = np.clip(128 + 400 * cv2.GaussianBlur(noise, (0, 0), 3.0), 0, 255).astype(np.uint8)
    east, north = GROUND.center[0] - 350, GROUND.center[1] + 350
    return Texture.from_array(pixels, None, affine=(1.0, 0.0, east, 0.0, -1.0, north), epsg=GROUND.epsg)


def test_photos_of_softer_lenses_are_not_taken_for_higher_ones() -> None:
    """What the blur is for: fitted without it, classes read softness as another height."""
    network, views = NetworkOptions(input="spectrum", width_px=64, height_px=48), FitOptions(views=60, seed=9)
    soft = FitOptions(light=0.0, noise_levels=0.0, soften_px=2.0)
    texture = soft_noise()
    samples, photos = ViewSamples(texture, CAMERA, network, soft), draw_views(texture, CAMERA, BINS, views)
    vectors = radial(np.stack([samples.of(photos, i) for i in range(len(photos))]))
    missed = {}
    for soften_px in (0.0, 2.0):
        options = FitOptions(views=240, penalty=0.01, soften_px=soften_px)
        fitted = fit_classes(texture, radial, camera=CAMERA, bins=BINS, network=network, options=options)
        named = scores_of(vectors, fitted.rows).argmax(axis=1)
        missed[soften_px] = int((named != BINS.indices_of(photos.altitude_m)).sum())
    assert missed[2.0] < 0.6 * missed[0.0], missed


@pytest.mark.parametrize(
    "wrong",
    [
        {"views": 0},
        {"soften_px": -1.0},
        {"soften_px": math.nan},
        {"penalty": 0.0},
        {"valid_share": 0.0},
        {"light": math.inf},
    ],
)
def test_options_nothing_can_be_fitted_with_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="views from 1"):
        FitOptions(**wrong)
