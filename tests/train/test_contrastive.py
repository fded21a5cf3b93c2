"""Learning by contrast: the loss as written down, pairs that belong together, many maps in turns."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch

from nadirfix.errors import WeightsError
from nadirfix.geo.texture import Texture
from nadirfix.options.recipe import NetworkOptions, load_recipe
from nadirfix.options.training import TrainOptions
from nadirfix.train.contrastive import DatedMap, contrastive_job, contrastive_loss, covered_places
from nadirfix.train.data.device_renderer import DeviceRenderer
from nadirfix.train.data.round_robin import round_robin
from nadirfix.train.loop import Job, train
from nadirfix.train.models.embedder import Embedder, seeded
from nadirfix.train.models.embedder_checkpoint import load_embedder, save_embedder
from nadirfix.train.models.weights import WeightsRecord, load_encoder
from tests.geo.test_render import rough

NETWORK = NetworkOptions(
    width_px=32, height_px=32, encoder="small", weights="random", mix_blocks=1, mix_channels=8, mix_rows=2
)
TRAINING = TrainOptions(schedule="budget", budget_steps=3, batch=6, extractor_rate=1e-3)
RECIPE = dataclasses.replace(load_recipe("tiny"), place_network=NETWORK, place_training=TRAINING)


def embedder(network: NetworkOptions = NETWORK, seed: int = 0) -> Embedder:
    with seeded(seed):
        encoder, record = load_encoder(network)
        return Embedder(encoder, network, record)


def dated(seed: int) -> DatedMap:
    affine = (1.0, 0.0, 500_000.0, 0.0, -1.0, 5_400_000.0)
    dates = (
        Texture.from_array(rough(500, 500, seed=s), None, affine=affine, epsg=32633) for s in (seed, seed)
    )
    return DatedMap(tuple(DeviceRenderer(date, "cpu") for date in dates))


def test_loss_against_the_equation():
    rng = np.random.default_rng(3)
    one, other = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in rng.normal(size=(2, 5, 7)))
    negatives = rng.random((5, 5)) < 0.6
    negatives |= negatives.T
    np.fill_diagonal(negatives, False)  # a place is not far from itself, and still its own partner
    total = 0.0
    for a, b in ((one, other), (other, one)):
        for i in range(5):
            scores = {j: a[i] @ b[j] / 0.07 for j in range(5) if j == i or negatives[i, j]}
            total -= scores[i] - np.log(sum(np.exp(s) for s in scores.values()))
    measured = contrastive_loss(*(torch.from_numpy(v) for v in (one, other, negatives)), temperature=0.07)
    assert float(measured) == pytest.approx(total / 10, rel=1e-10)


def test_near_places_are_not_negatives():
    same = torch.nn.functional.normalize(torch.ones(3, 4, dtype=torch.float64), dim=1)
    nobody = torch.zeros(3, 3, dtype=torch.bool)
    assert float(contrastive_loss(same, same, nobody, temperature=0.05)) == pytest.approx(0.0, abs=1e-12)
    assert float(contrastive_loss(same, same, ~nobody, temperature=0.05)) == pytest.approx(np.log(3))


def test_pairs_are_views_of_the_same_place():
    recipe = dataclasses.replace(
        RECIPE,
        augment=dataclasses.replace(RECIPE.augment, **dict.fromkeys(vars(RECIPE.augment), 0.0)),
        contrast=dataclasses.replace(RECIPE.contrast, shift_m=0.0, turn_deg=0.0, scale=0.0, tilt_deg=0.0),
    )
    job = contrastive_job(dated(1), recipe, embedder(), altitude_m=125.0)
    first, second, negatives = job.batch(0, 0, slice(0, 6))
    assert torch.allclose(first, second)
    assert not negatives.diagonal().any()
    moved = dataclasses.replace(recipe.contrast, shift_m=40.0)
    first, second, _ = contrastive_job(
        dated(1), dataclasses.replace(recipe, contrast=moved), embedder(), altitude_m=125.0
    ).batch(0, 0, slice(0, 6))
    assert (first - second).abs().mean() > 5  # grey levels: another piece of ground


def test_places_are_those_every_date_covers():
    """A newer picture of a part of the map: beyond it there is nothing to agree with."""
    affine = (1.0, 0.0, 500_000.0, 0.0, -1.0, 5_400_000.0)
    wide, narrow = rough(500, 900, seed=1), rough(500, 450, seed=1)
    dates = [Texture.from_array(p, None, affine=affine, epsg=32633) for p in (wide, narrow)]
    job = contrastive_job(
        DatedMap(tuple(DeviceRenderer(d, "cpu") for d in dates)), RECIPE, embedder(), altitude_m=125.0
    )
    alone = contrastive_job(
        DatedMap((DeviceRenderer(dates[0], "cpu"),)), RECIPE, embedder(), altitude_m=125.0
    )
    assert 0 < job.epoch_views < 0.6 * alone.epoch_views


def test_places_can_be_found_once_for_several_jobs(monkeypatch):
    """Finding them on a large map took longer than training on it."""
    there, network = dated(1), embedder()
    places = covered_places(there, RECIPE, 125.0)
    own = contrastive_job(there, RECIPE, network, altitude_m=125.0)
    monkeypatch.setattr("nadirfix.train.contrastive.covered_places", None)  # not asked again
    given = contrastive_job(there, RECIPE, network, altitude_m=125.0, places=places)
    assert given.epoch_views == own.epoch_views
    assert torch.equal(given.batch(2, 0, slice(0, 6))[0], own.batch(2, 0, slice(0, 6))[0])


def test_normalisation_keeps_its_statistics_where_the_run_says_so():
    class Flat(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = torch.nn.BatchNorm2d(3)

        def forward(self, pictures: torch.Tensor) -> torch.Tensor:
            return self.norm(pictures).square().mean()

    for frozen in (True, False):
        network = Flat()
        job = Job(
            name="flat", network=network, loss=network, classifier=[], epoch_views=8, validate=dict,
            batch=lambda *_: (torch.full((4, 3, 2, 2), 9.0),), details={},
        )  # fmt: skip
        train(job, dataclasses.replace(TRAINING, freeze_norm=frozen))
        assert bool((network.norm.running_mean == 0).all()) is frozen


def test_the_mean_of_a_batch_can_be_left_out_of_the_comparison():
    """Descriptors that share one large part are told apart by the rest."""
    recipe = dataclasses.replace(RECIPE, contrast=dataclasses.replace(RECIPE.contrast, near_m=0.0))
    losses = []
    for centre in (False, True):
        contrast = dataclasses.replace(recipe.contrast, centre=centre)
        shared = torch.nn.Module()
        shared.forward = lambda x: x.flatten(1)[:, :6] + 1000.0  # type: ignore[method-assign]
        job = contrastive_job(
            dated(1), dataclasses.replace(recipe, contrast=contrast), embedder(), altitude_m=125.0
        )
        job.loss.embedder = shared
        batch = torch.from_numpy(np.random.default_rng(2).normal(size=(5, 3, 2, 2))).float()
        losses.append(float(job.loss(batch, batch, torch.ones(5, 5, dtype=torch.bool))))
    assert losses[0] > 1.5
    assert losses[1] < 0.2


def test_maps_are_trained_round_robin_and_the_embedder_changes():
    network = embedder()
    before = {k: v.clone() for k, v in network.state_dict().items()}
    jobs = [contrastive_job(dated(s), RECIPE, network, altitude_m=125.0) for s in (1, 2)]
    both = round_robin(jobs)
    for step in range(4):
        expected = jobs[step % 2].batch(step // 2, 0, slice(0, 6))[0]
        assert torch.equal(both.batch(step, 0, slice(0, 6))[0], expected)
    report = train(both, TRAINING)
    assert report.steps == 3
    assert any(not torch.equal(before[k], v) for k, v in network.state_dict().items())


def test_round_robin_needs_one_network():
    jobs = [contrastive_job(dated(1), RECIPE, embedder(), altitude_m=125.0) for _ in range(2)]
    with pytest.raises(ValueError, match="one network"):
        round_robin(jobs)


def test_an_embedder_starts_where_another_stopped(tmp_path):
    one, other = embedder(seed=1), embedder(seed=2)
    save_embedder(one, tmp_path / "one.safetensors", {"licence": "Apache-2.0", "command": "here"})
    record = load_embedder(other, str(tmp_path / "one.safetensors"), WeightsRecord(source="random"))
    assert record.licence == "Apache-2.0"
    assert len(record.sha256) == 64
    pictures = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(0)) * 255
    with torch.no_grad():
        difference = (one.describe(pictures) - other.describe(pictures)).abs().max()
    assert float(difference) < 5e-3  # stored in half precision


def test_a_variance_beyond_half_precision_is_kept(tmp_path):
    one, other = embedder(seed=1), embedder(seed=2)
    large = next(k for k, v in one.named_parameters() if v.dim() == 1)
    one.state_dict()[large][0] = 83_615.0  # as a variance after the first convolution of the ImageNet weights
    save_embedder(one, tmp_path / "one.safetensors", {})
    load_embedder(other, str(tmp_path / "one.safetensors"), WeightsRecord(source="random"))
    assert float(other.state_dict()[large][0]) == 83_615.0


def test_weights_that_are_no_numbers_are_refused(tmp_path):
    damaged = embedder()
    next(damaged.parameters()).data.flatten()[0] = math.inf
    save_embedder(damaged, tmp_path / "a.safetensors", {})
    with pytest.raises(WeightsError, match="no numbers") as caught:
        load_embedder(embedder(), str(tmp_path / "a.safetensors"), WeightsRecord(source="random"))
    assert caught.value.code == "weights.mismatch"


def test_a_start_that_is_missing_or_does_not_fit(tmp_path):
    record = WeightsRecord(source="random")
    with pytest.raises(WeightsError, match="no such embedder") as caught:
        load_embedder(embedder(), "no-such-name", record)
    assert caught.value.code == "weights.missing"
    save_embedder(embedder(), tmp_path / "a.safetensors", {})
    larger = dataclasses.replace(NETWORK, mix_channels=16)
    with pytest.raises(WeightsError) as caught:
        load_embedder(embedder(larger), str(tmp_path / "a.safetensors"), record)
    assert caught.value.code == "weights.mismatch"
    (tmp_path / "b.safetensors").write_bytes(b"not tensors at all")
    with pytest.raises(WeightsError):
        load_embedder(embedder(), str(tmp_path / "b.safetensors"), record)


def test_no_start_changes_nothing():
    record = WeightsRecord(source="random")
    assert load_embedder(embedder(), "", record) is record
