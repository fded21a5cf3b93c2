"""MixVPR against NumPy in double precision, and the length of what comes out."""

import numpy as np
import pytest
import torch

from nadirfix.train.models.mixvpr import MixVPR, descriptor


def oracle(net: MixVPR, features: np.ndarray) -> np.ndarray:
    p = {name: value.detach().numpy() for name, value in net.named_parameters()}
    out = []
    for feature in features:
        x = feature.reshape(feature.shape[0], -1)
        for i in range(len(net.blocks)):
            mean = x.mean(axis=1, keepdims=True)
            variance = ((x - mean) ** 2).mean(axis=1, keepdims=True)
            normed = (x - mean) / np.sqrt(variance + 1e-5)
            normed = normed * p[f"blocks.{i}.norm.weight"] + p[f"blocks.{i}.norm.bias"]
            hidden = np.maximum(0, normed @ p[f"blocks.{i}.first.weight"].T + p[f"blocks.{i}.first.bias"])
            x = x + hidden @ p[f"blocks.{i}.second.weight"].T + p[f"blocks.{i}.second.bias"]
        channels = p["project_channels.weight"] @ x + p["project_channels.bias"][:, None]
        rows = channels @ p["project_positions.weight"].T + p["project_positions.bias"]
        out.append(rows.reshape(-1))
    return np.array(out)


def net_of(blocks: int) -> MixVPR:
    torch.manual_seed(0)
    net = MixVPR(channels=6, positions=20, mix_blocks=blocks, mix_channels=5, mix_rows=3).double()
    with torch.no_grad():
        for value in net.parameters():
            value += 0.1 * torch.randn_like(value)
    return net


@pytest.mark.parametrize("blocks", [0, 1, 4])
def test_against_numpy(blocks: int) -> None:
    net = net_of(blocks)
    features = np.random.default_rng(0).normal(size=(3, 6, 4, 5))
    mixed = net(torch.from_numpy(features)).detach().numpy()
    assert mixed.shape == (3, 15)
    assert net.dimensions == 15
    assert mixed == pytest.approx(oracle(net, features), abs=1e-12)


def test_descriptor_is_the_embedding_at_unit_length() -> None:
    embedding = torch.randn(5, 7, dtype=torch.float64)
    wanted = embedding.numpy() / np.linalg.norm(embedding.numpy(), axis=1, keepdims=True)
    assert descriptor(embedding).numpy() == pytest.approx(wanted, abs=1e-12)
