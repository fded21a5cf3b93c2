"""Published networks: against other implementations and equations, and their checkpoints' names and shapes.

The names and shapes below are those of the official files, written down anew and not taken from our tables;
the numbers are random.
"""

import math

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch.nn import functional
from transformers import Dinov2Config, Dinov2Model

from nadirfix.errors import WeightsError
from nadirfix.evaluation.methods.registry import known_methods
from nadirfix.train.models.netvlad import NetVLAD, found_words, hard_vlad
from nadirfix.train.models.salad import Salad, transport_plan
from nadirfix.train.models.vit import VisionTransformer
from nadirfix.train.published import CosPlace, normalised, published_describer


def random_of(*shape: int) -> torch.Tensor:
    """Small random numbers: deep networks of large ones have no finite answer."""
    return torch.randn(shape) * 0.02


def norm_of(name: str, width: int) -> dict[str, torch.Tensor]:
    return {
        f"{name}.weight": torch.rand(width) + 0.5,
        f"{name}.bias": random_of(width),
        f"{name}.running_mean": random_of(width),
        f"{name}.running_var": torch.rand(width) + 0.5,
        f"{name}.num_batches_tracked": torch.tensor(7),
    }


def resnet(stem: tuple[str, str], stages: dict[str, int]) -> dict[str, torch.Tensor]:
    """ResNet-50's convolutions and normalisations as torchvision calls them."""
    tensors = {f"{stem[0]}.weight": random_of(64, 3, 7, 7), **norm_of(stem[1], 64)}
    before = 64
    for k, (stage, blocks) in enumerate(stages.items()):
        width = 64 * 2**k
        for block in range(blocks):
            name = f"{stage}.{block}"
            shapes = [(width, before, 1, 1), (width, width, 3, 3), (4 * width, width, 1, 1)]
            for i, shape in enumerate(shapes, 1):
                tensors |= {f"{name}.conv{i}.weight": random_of(*shape)} | norm_of(f"{name}.bn{i}", shape[0])
            if block == 0:
                tensors |= {f"{name}.downsample.0.weight": random_of(4 * width, before, 1, 1)}
                tensors |= norm_of(f"{name}.downsample.1", 4 * width)
            before = 4 * width
    return tensors


def cosplace() -> dict[str, torch.Tensor]:
    stages = dict(zip([f"backbone.{i}" for i in (4, 5, 6, 7)], (3, 4, 6, 3), strict=True))
    head = {
        "aggregation.1.p": torch.tensor([3.0]),
        "aggregation.3.weight": random_of(2048, 2048),
        "aggregation.3.bias": random_of(2048),
    }
    return resnet(("backbone.0", "backbone.1"), stages) | head


def mixvpr() -> dict[str, torch.Tensor]:
    stages = dict(zip([f"backbone.model.layer{i}" for i in (1, 2, 3)], (3, 4, 6), strict=True))
    tensors = resnet(("backbone.model.conv1", "backbone.model.bn1"), stages)
    for i in range(4):
        for layer, shape in ((0, (400,)), (1, (400, 400)), (3, (400, 400))):
            tensors[f"aggregator.mix.{i}.mix.{layer}.weight"] = random_of(*shape)
            tensors[f"aggregator.mix.{i}.mix.{layer}.bias"] = random_of(400)
    for name, shape in (("channel_proj", (1024, 1024)), ("row_proj", (4, 400))):
        tensors |= {f"aggregator.{name}.weight": random_of(*shape)}
        tensors |= {f"aggregator.{name}.bias": random_of(shape[0])}
    return tensors


def netvlad() -> dict[str, torch.Tensor]:
    layers = {0: (64, 3), 2: (64, 64), 5: (128, 64), 7: (128, 128), 10: (256, 128), 12: (256, 256),
              14: (256, 256), 17: (512, 256), 19: (512, 512), 21: (512, 512), 24: (512, 512),
              26: (512, 512), 28: (512, 512)}  # fmt: skip
    tensors = {}
    for i, (after, before) in layers.items():
        tensors[f"encoder.{i}.weight"] = torch.randn(after, before, 3, 3) / math.sqrt(9 * before)
        tensors[f"encoder.{i}.bias"] = random_of(after)
    return tensors | {"pool.conv.weight": random_of(64, 512, 1, 1), "pool.centroids": random_of(64, 512)}


def dinov2(width: int, depth: int, prefix: str = "") -> dict[str, torch.Tensor]:
    tensors = {
        "cls_token": random_of(1, 1, width),
        "pos_embed": random_of(1, 1370, width),
        "mask_token": random_of(1, width),
        "patch_embed.proj.weight": random_of(width, 3, 14, 14),
        "patch_embed.proj.bias": random_of(width),
        "norm.weight": torch.ones(width),
        "norm.bias": random_of(width),
    }
    for i in range(depth):
        shapes = {
            "attn.qkv": (3 * width, width), "attn.proj": (width, width), "mlp.fc1": (4 * width, width),
            "mlp.fc2": (width, 4 * width),
        }  # fmt: skip
        for name, shape in shapes.items():
            tensors[f"blocks.{i}.{name}.weight"] = random_of(*shape)
            tensors[f"blocks.{i}.{name}.bias"] = random_of(shape[0])
        for name in ("norm1", "norm2"):
            tensors[f"blocks.{i}.{name}.weight"] = torch.ones(width)
            tensors[f"blocks.{i}.{name}.bias"] = random_of(width)
        for name in ("ls1", "ls2"):
            tensors[f"blocks.{i}.{name}.gamma"] = random_of(width) + 0.1
    return {prefix + name: value for name, value in tensors.items()}


def salad() -> dict[str, torch.Tensor]:
    tensors = dinov2(768, 12, "backbone.model.") | {"aggregator.dust_bin": torch.tensor(1.0)}
    heads = {
        "token_features": (0, 2, 256, ()),
        "cluster_features": (0, 3, 128, (1, 1)),
        "score": (0, 3, 64, (1, 1)),
    }
    for name, (first, last, width, ending) in heads.items():
        tensors[f"aggregator.{name}.{first}.weight"] = random_of(512, 768, *ending)
        tensors[f"aggregator.{name}.{first}.bias"] = random_of(512)
        tensors[f"aggregator.{name}.{last}.weight"] = random_of(width, 512, *ending)
        tensors[f"aggregator.{name}.{last}.bias"] = random_of(width)
    return tensors


OFFICIAL = {
    "cosplace": (cosplace, 2048),
    "eigenplaces": (cosplace, 2048),
    "mixvpr": (mixvpr, 4096),
    "netvlad": (netvlad, 64 * 512),
    "anyloc-gem": (lambda: dinov2(384, 12), 384),
    "anyloc-vlad": (lambda: dinov2(384, 12), 32 * 384),
    "salad": (salad, 256 + 64 * 128),
}


def pictures(size_px: tuple[int, int], count: int = 2) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (count, size_px[1], size_px[0], 3), dtype=np.uint8)


@pytest.mark.parametrize("name", OFFICIAL)
def test_a_file_with_the_official_names_and_shapes_is_taken(name, tmp_path):
    torch.manual_seed(0)
    make, numbers = OFFICIAL[name]
    path = tmp_path / "official.pth"
    torch.save(make(), path)
    describer = published_describer(name, path)
    path.unlink()  # hundreds of megabytes, which temporary folders would be kept for
    images = pictures(describer.size_px)
    if name == "anyloc-vlad":
        describer.fit(pictures(describer.size_px, 4))
    described = describer.describe(images)
    assert described.shape == (2, numbers) and np.isfinite(described).all()
    assert np.abs(described[0] - described[1]).max() > 0
    alone = describer.describe(images[:1])
    assert np.allclose(alone[0], described[0], atol=1e-4 * np.abs(described).max() + 1e-6)


@pytest.fixture(scope="module")
def small_vlad() -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    return netvlad()


def test_wrappers_and_safetensors_are_the_same_weights(small_vlad, tmp_path):
    wrapped = {name.replace("encoder.", "encoder.module."): value for name, value in small_vlad.items()}
    torch.save({"epoch": 3, "state_dict": wrapped}, tmp_path / "a.pth.tar")
    save_file(small_vlad, tmp_path / "b.safetensors")
    images = pictures((320, 240), 1)
    one, two = (
        published_describer("netvlad", tmp_path / name).describe(images)
        for name in ("a.pth.tar", "b.safetensors")
    )
    assert np.array_equal(one, two)


def test_a_row_of_the_table_is_made_with_its_checkpoint(small_vlad, tmp_path):
    save_file(small_vlad, tmp_path / "netvlad.safetensors")
    method = known_methods()["netvlad"].make(None, tmp_path / "netvlad.safetensors", tmp_path)
    np.save(tmp_path / "descriptors.npy", np.zeros((10, 32768), np.float16))
    files = (tmp_path / name for name in ("netvlad.safetensors", "descriptors.npy"))
    assert method.size_mb == pytest.approx(sum(file.stat().st_size for file in files) / 1e6)
    described = method._described(pictures((320, 240), 1))
    assert described.shape == (1, 32768) and np.linalg.norm(described) == pytest.approx(1.0, abs=1e-4)


def refused(weights, tmp_path, name="netvlad") -> str:
    path = tmp_path / "wrong.pth"
    torch.save(weights, path)
    with pytest.raises(WeightsError) as caught:
        published_describer(name, path)
    path.unlink()
    assert caught.value.code == "weights.mismatch"
    return str(caught.value)


def test_a_wrong_file_is_refused_with_the_names_that_differ(small_vlad, tmp_path):
    missing = {n: v for n, v in small_vlad.items() if n != "encoder.14.bias"}
    assert "no encoder.14.bias" in refused(missing, tmp_path)
    assert "unknown encoder.30.weight" in refused({**small_vlad, "encoder.30.weight": random_of(1)}, tmp_path)
    misfit = {**small_vlad, "pool.centroids": random_of(32, 512)}
    assert "pool.centroids is 32×512 and not 64×512" in refused(misfit, tmp_path)
    endless = {**small_vlad, "encoder.0.bias": torch.full((64,), math.nan)}
    assert "no numbers" in refused(endless, tmp_path)
    assert "3 where only tensors" in refused({"state_dict": {"3": 3}}, tmp_path)
    assert "no cls_token" in refused(small_vlad, tmp_path, "anyloc-gem")


class _Code:
    def __reduce__(self):
        return (print, ("this must never run",))


def test_what_would_run_code_is_refused(tmp_path, capsys):
    assert "without running" in refused({"state_dict": _Code()}, tmp_path)
    assert capsys.readouterr().out == ""
    (tmp_path / "noise.pth").write_bytes(b"not a file of torch")
    with pytest.raises(WeightsError):
        published_describer("cosplace", tmp_path / "noise.pth")


def theirs(ours: VisionTransformer, width: int, depth: int, side: int) -> Dinov2Model:
    """The same weights in another implementation."""
    config = Dinov2Config(
        hidden_size=width, num_hidden_layers=depth, num_attention_heads=width // 64, image_size=14 * side,
        patch_size=14,
    )  # fmt: skip
    model, state = Dinov2Model(config).eval(), ours.state_dict()
    named = {
        "embeddings.cls_token": state["cls_token"],
        "embeddings.position_embeddings": state["pos_embed"],
        "embeddings.patch_embeddings.projection.weight": state["patch_embed.proj.weight"],
        "embeddings.patch_embeddings.projection.bias": state["patch_embed.proj.bias"],
        "layernorm.weight": state["norm.weight"],
        "layernorm.bias": state["norm.bias"],
    }
    for i in range(depth):
        here, there = f"blocks.{i}", f"encoder.layer.{i}"
        for kind in ("weight", "bias"):
            parts = state[f"{here}.attn.qkv.{kind}"].chunk(3)
            for part, name in zip(parts, ("q_proj", "k_proj", "v_proj"), strict=True):
                named[f"{there}.attention.{name}.{kind}"] = part
            pairs = {"attn.proj": "attention.o_proj", "norm1": "norm1", "norm2": "norm2",
                     "mlp.fc1": "mlp.fc1", "mlp.fc2": "mlp.fc2"}  # fmt: skip
            named |= {f"{there}.{b}.{kind}": state[f"{here}.{a}.{kind}"] for a, b in pairs.items()}
        for k in (1, 2):
            named[f"{there}.layer_scale{k}.lambda1"] = state[f"{here}.ls{k}.gamma"]
    missing, surplus = model.load_state_dict(named, strict=False)
    assert not surplus and set(missing) <= {"embeddings.mask_token"}
    return model


def test_the_transformer_is_the_one_others_wrote():
    torch.manual_seed(1)
    ours = VisionTransformer(width=128, depth=3, side=4).eval()
    for value in ours.parameters():
        torch.nn.init.normal_(value, std=0.2)
    images = torch.randn(2, 3, 56, 56)
    with torch.no_grad():
        expected = theirs(ours, 128, 3, 4)(images).last_hidden_state
        assert torch.allclose(ours(images), expected, atol=1e-4)


def test_positions_are_interpolated_to_the_picture():
    """A smooth field of positions stays that field on a grid of another size."""
    ours = VisionTransformer(width=64, depth=1, side=8)
    steps = (torch.arange(8) + 0.5) / 8
    field = torch.stack(torch.meshgrid(steps, steps, indexing="ij"), -1)
    with torch.no_grad():
        ours.pos_embed[0, 1:, :2] = field.reshape(-1, 2)
        positions = ours._positions(4, 6)[0, 1:, :2].reshape(4, 6, 2)
    wanted = torch.stack(
        torch.meshgrid((torch.arange(4) + 0.5) / 4, (torch.arange(6) + 0.5) / 6, indexing="ij"), -1
    )
    assert (positions - wanted).abs().max() < 0.03


def test_netvlad_is_the_sum_of_the_paper():
    torch.manual_seed(2)
    layer = NetVLAD(channels=5, words=3)
    torch.nn.init.normal_(layer.centroids)
    features = torch.randn(1, 5, 2, 4)
    x = functional.normalize(features[0].flatten(1).T, dim=1)
    weights, words = layer.conv.weight[:, :, 0, 0], layer.centroids
    expected = torch.zeros(3, 5)
    for position in x:
        share = torch.softmax(weights @ position, dim=0)
        for k in range(3):
            expected[k] += share[k] * (position - words[k])
    expected = functional.normalize(functional.normalize(expected, dim=1).flatten(), dim=0)
    assert torch.allclose(layer(features)[0], expected, atol=1e-6)


def test_a_vocabulary_has_the_words_that_are_there():
    """Features in three bunches: k-means finds their middles; a feature has its residual at its own."""
    middles = functional.normalize(torch.tensor([[1.0, 0, 0, 0], [0, 1.0, 0, 0], [0, 0, 1.0, 0.2]]), dim=1)
    generator = torch.Generator().manual_seed(0)
    near = middles.repeat(40, 1) + 0.02 * torch.randn(120, 4, generator=generator)
    words = found_words(functional.normalize(near, dim=1), 3, seed=1)
    assert (words @ middles.T).max(dim=0).values.min() > 0.999
    assert torch.equal(words, found_words(functional.normalize(near, dim=1), 3, seed=1))
    residuals = hard_vlad(middles[None, :1], words)[0].reshape(3, 4)
    assert (residuals.norm(dim=1) > 1e-3).sum() <= 1


def test_every_feature_is_shared_out_and_every_cluster_takes_one():
    torch.manual_seed(3)
    scores = torch.randn(2, 4, 20) * 3
    plan = transport_plan(scores, torch.tensor(1.0), rounds=200)
    assert torch.allclose(plan.sum(dim=2), torch.ones(2, 4), atol=1e-4)
    assert (plan.sum(dim=1) <= 1 + 1e-5).all()
    few = transport_plan(scores, torch.tensor(1.0), rounds=3)
    u, v, kernel = np.ones(5), np.ones(20), np.exp(np.vstack([scores[0].numpy(), np.ones((1, 20))]))
    for _ in range(3):  # Sinkhorn without logarithms
        u = np.array([1, 1, 1, 1, 16]) / (kernel @ v)
        v = 1 / (kernel.T @ u)
    assert np.allclose(few[0].numpy(), (u[:, None] * kernel * v)[:4], atol=1e-5)


def test_salad_does_not_care_for_the_order_of_patches():
    torch.manual_seed(4)
    head, tokens = Salad(channels=32).eval(), torch.randn(1, 91, 32)
    shuffled = torch.cat([tokens[:, :1], tokens[:, 1:][:, torch.randperm(90)]], dim=1)
    with torch.no_grad():
        assert torch.allclose(head(tokens), head(shuffled), atol=1e-5)
        assert head(tokens).norm().item() == pytest.approx(1.0, abs=1e-5)


def test_cosplace_is_its_equation():
    torch.manual_seed(5)
    head, features = CosPlace(channels=6, numbers=4), torch.randn(1, 6, 3, 5)
    x = features / features.norm(dim=1, keepdim=True)
    mean = (x.clamp(min=1e-6) ** 3).flatten(2).mean(dim=2) ** (1 / 3)
    raw = mean @ head.project.weight.T + head.project.bias
    assert torch.allclose(head(features), raw / raw.norm(), atol=1e-6)


def test_pictures_are_normalised_as_published():
    white = normalised(np.full((1, 2, 2, 3), 255, np.uint8))
    expected = [(1 - m) / s for m, s in zip((0.485, 0.456, 0.406), (0.229, 0.224, 0.225), strict=True)]
    assert white[0, :, 0, 0].tolist() == pytest.approx(expected, rel=1e-5)
