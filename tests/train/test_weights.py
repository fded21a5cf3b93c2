"""Weights: they fit or they are refused, and what must travel with them does."""

import json
import os
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from nadirfix.errors import WeightsError
from nadirfix.options.recipe import NetworkOptions
from nadirfix.train.models.encoders import build_encoder
from nadirfix.train.models.weights import IMAGENET_MEAN, IMAGENET_STD, WeightsRecord, load_encoder

STORE = Path(os.environ.get("NADIRFIX_WEIGHTS", Path(__file__).parents[3] / "shared" / "weights"))
FULL, THREE = STORE / "resnet-50-imagenet", STORE / "resnet-50-stage3-imagenet"
needs_weights = pytest.mark.skipif(not (FULL.is_dir() and THREE.is_dir()), reason="no ImageNet weights here")


def options(weights: Path | str, encoder: str = "resnet50-stage3", **more) -> NetworkOptions:
    return NetworkOptions(encoder=encoder, weights=str(weights), **more)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A small-valued checkpoint of the right shape, in half precision, as published ones are named."""
    torch.manual_seed(3)
    state = build_encoder("resnet50-stage3").state_dict()
    named = {f"resnet.{k}": _half(v).clone() for k, v in state.items()}
    named["classifier.1.weight"] = torch.zeros(10, 2048)
    named["resnet.encoder.stages.3.layers.0.shortcut.convolution.weight"] = torch.zeros(4, 4, 1, 1)
    save_file(named, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(
        json.dumps({"model_type": "resnet", "downsample_in_bottleneck": True})
    )
    return tmp_path


def _half(value: torch.Tensor) -> torch.Tensor:
    return value.half() if value.is_floating_point() else value


def refusal(weights: Path | str, **more) -> WeightsError:
    with pytest.raises(WeightsError) as caught:
        load_encoder(options(weights, **more))
    return caught.value


def test_a_checkpoint_goes_in_whole(made: Path) -> None:
    encoder, record = load_encoder(options(made))
    stored = load_file(made / "model.safetensors")
    for key, value in encoder.state_dict().items():
        assert torch.equal(value, stored[f"resnet.{key}"].to(value.dtype)), key
    assert all(p.dtype == torch.float32 for p in encoder.parameters())
    assert record.source == made.name
    assert len(record.sha256) == 64


def test_the_checkpoints_own_config_says_where_blocks_stride(made: Path) -> None:
    def strides() -> tuple[int, int]:
        block = load_encoder(options(made))[0].encoder.stages[1].layers[0].layer
        return block[0].convolution.stride[0], block[1].convolution.stride[0]

    assert strides() == (2, 1)
    (made / "config.json").write_text('{"model_type": "resnet", "downsample_in_bottleneck": false}')
    assert strides() == (1, 2)


def test_preprocessing_and_licence_are_carried(made: Path) -> None:
    assert load_encoder(options(made))[1].licence == "not stated"
    assert load_encoder(options(made, weights_licence="MIT"))[1].licence == "MIT"
    (made / "README.md").write_text("---\ntags: [x]\nlicense: apache-2.0\n---\nlicense: of the text\n")
    (made / "preprocessor_config.json").write_text(
        '{"image_mean": [0.5, 0.4, 0.3], "image_std": [0.1, 0.2, 0.25]}'
    )
    record = load_encoder(options(made))[1]
    assert record.licence == "apache-2.0"
    assert (record.mean, record.std) == ((0.5, 0.4, 0.3), (0.1, 0.2, 0.25))
    assert record.to_dict()["licence"] == "apache-2.0"


def test_random_is_an_explicit_choice() -> None:
    _, record = load_encoder(options("random", encoder="small"))
    assert record == WeightsRecord(source="random", licence="none needed")
    assert (record.mean, record.std) == (IMAGENET_MEAN, IMAGENET_STD)


@pytest.mark.parametrize(
    "name", ["nobody/no-such-model-at-all", "no/such/folder", "./nothing-here", "/nowhere"]
)
def test_missing_weights_name_the_remedies_and_do_not_take_long(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    began = time.monotonic()
    error = refusal(name)
    assert time.monotonic() - began < 15
    assert error.code == "weights.missing"
    assert name in error.message
    for remedy in ("hub", "path", '"random"'):
        assert remedy in error.hint


def test_a_folder_without_weights_is_missing(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "resnet"}')
    error = refusal(tmp_path)
    assert error.code == "weights.missing"
    assert "model.safetensors" in error.message


def test_another_kind_of_network_is_a_mismatch(made: Path) -> None:
    error = refusal(made, encoder="efficientnet-b5")
    assert error.code == "weights.mismatch"
    assert "'resnet'" in error.message
    assert "'efficientnet'" in error.message


def test_the_small_encoder_has_no_published_weights(made: Path) -> None:
    assert refusal(made, encoder="small").code == "weights.mismatch"


@pytest.mark.parametrize("harm", ["drop", "add", "reshape"])
def test_weights_that_do_not_fit_are_a_mismatch(made: Path, harm: str) -> None:
    path = made / "model.safetensors"
    stored, key = load_file(path), "resnet.embedder.embedder.convolution.weight"
    if harm == "drop":
        del stored[key]
    elif harm == "add":
        stored["resnet.encoder.attention.weight"] = torch.zeros(2)
    else:
        stored[key] = torch.zeros(64, 3, 3, 3)
    save_file(stored, path)
    error = refusal(made)
    assert error.code == "weights.mismatch"
    assert {"drop": "1 missing", "add": "1 unexpected", "reshape": "1 of another shape"}[
        harm
    ] in error.message


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_damaged_file_is_a_mismatch(made: Path, name: str) -> None:
    (made / name).write_bytes(b"\x01\x02{not this")
    error = refusal(made)
    assert error.code == "weights.mismatch"
    assert name in error.message


@needs_weights
def test_the_full_network_loads_without_its_last_stage() -> None:
    full, _ = load_encoder(options(FULL, weights_licence="MIT"))
    three, record = load_encoder(options(THREE))
    for key, value in full.state_dict().items():
        assert torch.equal(value, three.state_dict()[key]), key
    assert full.encoder.stages[1].layers[0].layer[0].convolution.stride == (2, 2)
    assert record.source == "resnet-50-stage3-imagenet"


@needs_weights
@torch.no_grad()
def test_features_equal_those_of_transformers_own_loading() -> None:
    from transformers import ResNetModel

    own = ResNetModel.from_pretrained(FULL, local_files_only=True, dtype=torch.float32).eval()
    ours, _ = load_encoder(options(FULL))
    picture = torch.randn(1, 3, 64, 80)
    wanted = own(picture, output_hidden_states=True).hidden_states[3]
    assert torch.allclose(ours.eval()(picture), wanted, atol=1e-4)


def test_a_model_name_is_served_from_the_hubs_cache(
    made: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache as the hub's client lays it out: no network is asked."""
    cache = tmp_path_factory.mktemp("hub")
    model = cache / "models--somebody--resnet"
    (model / "refs").mkdir(parents=True)
    (model / "refs" / "main").write_text("0123abcd")
    (model / "snapshots").mkdir()
    made.rename(model / "snapshots" / "0123abcd")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
    _, record = load_encoder(options("somebody/resnet"))
    assert record.source == "somebody/resnet"
    (model / "snapshots" / "0123abcd" / "model.safetensors").unlink()
    assert refusal("somebody/resnet").code == "weights.missing"
