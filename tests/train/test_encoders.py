"""Encoders and the networks made of them: shapes, seeds, exact batches, raw lengths."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from nadirfix.altitude.bins import AltitudeBins
from nadirfix.errors import InputError
from nadirfix.geo.grid import ClassOrder, Grid
from nadirfix.options.recipe import RECIPES, BinOptions, HeadOptions, NetworkOptions
from nadirfix.train.models.altitude import build_altitude_network
from nadirfix.train.models.embedder import preprocessing
from nadirfix.train.models.encoders import ENCODERS, SmallEncoder, build_encoder, encoder_of, positions_of
from nadirfix.train.models.place import PlaceNetwork, build_place_network
from nadirfix.train.models.weights import WeightsRecord

TINY = RECIPES["tiny"]
ORDER = ClassOrder.from_cells(Grid(100.0, 2), [(i, j) for i in range(4) for j in range(3)])
BINS = AltitudeBins.from_options(BinOptions())


def place_network(seed: int = 0, **changes) -> PlaceNetwork:
    options = replace(TINY.place_network, **changes)
    return build_place_network(options, HeadOptions(), ORDER, seed=seed)[0]


def pictures(count: int, size: tuple[int, int] = (112, 112)) -> torch.Tensor:
    """Pictures of different contrast, as ground is."""
    torch.manual_seed(5)
    contrast = torch.linspace(2, 60, count)[:, None, None, None]
    return (120 + contrast * torch.randn(count, 3, *size)).clamp(0, 255)


@pytest.mark.parametrize(
    ("name", "width", "height"),
    [
        ("small", 112, 112),
        ("small", 224, 168),
        ("small", 50, 33),
        ("resnet50-stage3", 64, 48),
        ("resnet50-stage3", 70, 50),
        ("resnet50-stage3-he", 70, 50),
        pytest.param("efficientnet-b5", 96, 64, marks=pytest.mark.slow),
    ],
)
@torch.no_grad()
def test_entries_give_channels_and_positions(name: str, width: int, height: int) -> None:
    features = build_encoder(name).eval()(torch.zeros(1, 3, height, width))
    assert features.shape[1] == ENCODERS[name].channels
    assert tuple(features.shape[2:]) == positions_of(name, width_px=width, height_px=height)


def test_sizes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="multiples of 32"):
        positions_of("efficientnet-b5", width_px=230, height_px=224)


def test_unknown_encoder_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="resnet50-stage3, resnet50-stage3-he, efficientnet-b5, small"):
        encoder_of("resnet51")


def test_the_small_encoder_is_small_and_does_not_mix_the_batch() -> None:
    torch.manual_seed(0)
    net = SmallEncoder().train()
    assert 0.3e6 < sum(p.numel() for p in net.parameters()) < 1e6
    batch = torch.randn(6, 3, 48, 48)
    with torch.no_grad():
        alone = torch.cat([net(batch[i : i + 1]) for i in range(6)])
        assert torch.allclose(net(batch), alone, atol=1e-5)


@pytest.mark.slow
def test_a_random_efficientnet_lets_pictures_through() -> None:
    """The library's own random start gives all pictures the same features."""
    torch.manual_seed(0)
    net = build_encoder("efficientnet-b5").train()
    with torch.no_grad():
        features = net(torch.randn(4, 3, 64, 64)).flatten(1)
    assert (features - features.mean(0)).norm(dim=1).min() > 0.1 * features.norm(dim=1).mean()
    norms = [m for m in net.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    assert {round(m.momentum, 6) for m in norms} == {0.01}


def test_norms_of_raw_embeddings_vary_and_descriptors_are_of_unit_length() -> None:
    net = place_network().eval()
    with torch.no_grad():
        lengths = net.embed(pictures(16)).norm(dim=1)
        units = net.describe(pictures(16)).norm(dim=1)
    assert (lengths.std() / lengths.mean()).item() > 0.01
    assert 0.1 < lengths.min().item() < lengths.max().item() < 90  # inside the range the cue is clipped to
    assert units.numpy() == pytest.approx(1, abs=1e-5)


def test_descriptor_is_the_raw_embedding_at_unit_length() -> None:
    net = place_network().eval()
    with torch.no_grad():
        raw, unit = net(pictures(3)), net.describe(pictures(3))
    assert torch.allclose(raw / raw.norm(dim=1, keepdim=True), unit, atol=1e-6)


def test_same_seed_same_network_and_the_outside_is_left_alone() -> None:
    torch.manual_seed(42)
    before = torch.random.get_rng_state()
    here, there, other = place_network(1), place_network(1), place_network(2)
    assert torch.equal(before, torch.random.get_rng_state())
    pairs = list(zip(here.state_dict().values(), there.state_dict().values(), strict=True))
    assert all(torch.equal(a, b) for a, b in pairs)
    assert not torch.equal(here.heads.prototypes[0], other.heads.prototypes[0])


def test_heads_follow_the_class_order() -> None:
    net = place_network()
    assert tuple(len(p) for p in net.heads.prototypes) == ORDER.sizes
    assert all(p.shape[1] == net.embedder.dimensions == 256 for p in net.heads.prototypes)


def test_every_parameter_learns() -> None:
    net = place_network().train()
    embeddings = net(pictures(4))
    labels = torch.tensor([0, 1, 0, 1])
    loss = sum(net.heads.loss(embeddings, labels, torch.zeros(4), group=g) for g in range(4))
    loss.backward()
    still = [name for name, p in net.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0]
    assert not still


@pytest.mark.parametrize("kind", ["pixels", "spectrum"])
def test_normalisation_is_inside_the_network(kind: str) -> None:
    options = replace(TINY.altitude_network, input=kind, width_px=64, height_px=48, start="")
    net, record = build_altitude_network(options, BINS, seed=0)
    settings = preprocessing(options, record)
    inputs = torch.rand(2, 3, 48, 64) * 255
    mean, scale = (torch.tensor(settings[k]).view(3, 1, 1) for k in ("mean", "scale"))
    with torch.no_grad():
        by_hand = net.prototypes(net.embedder.aggregator(net.embedder.encoder((inputs - mean) / scale)))
        assert torch.allclose(net(inputs), by_hand, atol=1e-5)
    assert net(inputs).shape == (2, 12)
    if kind == "pixels":
        assert settings["mean"] == pytest.approx([123.675, 116.28, 103.53])
        assert settings["scale"] == pytest.approx([58.395, 57.12, 57.375])
    else:
        assert (settings["intensity"], settings["log_base"]) == ("bytes", 1.5)


def test_preprocessing_travels_in_the_state() -> None:
    net = place_network()
    other = place_network(7)
    other.embedder.mean.zero_()
    other.load_state_dict(net.state_dict())
    assert np.allclose(other.embedder.mean.flatten(), [123.675, 116.28, 103.53])


def test_spectrum_record_has_the_unit() -> None:
    options = NetworkOptions(input="spectrum", intensity="unit", width_px=448, height_px=336)
    settings = preprocessing(options, WeightsRecord(source="random"))
    assert settings["intensity"] == "unit"
    assert settings["mean"][0] == pytest.approx(6.05, abs=0.01)  # log_1.5(1 + 7/255·√(448·336))


def test_mixed_precision_leaves_the_angles_alone() -> None:
    net = place_network().eval()
    labels, gamma = torch.tensor([0, 1]), torch.zeros(2)
    raw = net(pictures(2)).detach()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = net.heads(raw, labels, gamma, group=0)
    assert mixed.dtype == torch.float32
    assert torch.equal(mixed, net.heads(raw, labels, gamma, group=0))


@pytest.mark.slow
def test_networks_can_be_exported_with_their_normalisation() -> None:
    net = place_network().eval()
    any_batch = ({0: torch.export.Dim("batch", min=1, max=512)},)
    exported = torch.export.export(net, (pictures(2),), dynamic_shapes=any_batch).module()
    assert torch.allclose(exported(pictures(5)), net(pictures(5)), atol=1e-5)
