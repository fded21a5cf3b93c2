"""Pretrained weights: where they come from, whether they fit, and what must travel with them.

By model name (from the hub's cache, or the hub itself), by the path of a folder with ``config.json`` and
``model.safetensors``, or ``"random"`` as an explicit choice. Never a pickle, never a silent random start.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from nadirfix.errors import WeightsError
from nadirfix.options.recipe import NetworkOptions
from nadirfix.train.models.encoders import Encoder, build_encoder, encoder_of

__all__ = ["IMAGENET_MEAN", "IMAGENET_STD", "RANDOM", "WeightsRecord", "load_encoder"]

RANDOM = "random"
#: Mean and deviation of ImageNet's pictures (RGB, 0-1): what encoders expect unless they say otherwise.
IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)

_FILES = ("config.json", "model.safetensors", "preprocessor_config.json", "README.md")
_HUB_TIMEOUT_S = 5.0
_REMEDIES = (
    'connect to the hub once so that the model named in "weights" is fetched into its cache, or give the '
    'path of a folder with config.json and model.safetensors; "random" starts untrained, if you want that'
)

RGB = tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsRecord:
    """Where weights came from: their hash, their licence and the pictures they expect (RGB, 0-1)."""

    source: str
    sha256: str = ""
    licence: str = ""
    mean: RGB = IMAGENET_MEAN
    std: RGB = IMAGENET_STD

    def to_dict(self) -> dict[str, Any]:
        """The record in the form a manifest carries."""
        return asdict(self)


def load_encoder(options: NetworkOptions) -> tuple[nn.Module, WeightsRecord]:
    """The encoder with the weights its options name, and the record of where they came from."""
    if options.weights == RANDOM:
        return build_encoder(options.encoder), WeightsRecord(source=RANDOM, licence="none needed")
    entry = encoder_of(options.encoder)
    if not entry.model_type:
        raise _mismatch(
            f"{options.encoder} has no published weights", options.weights, 'say weights = "random"'
        )
    folder = _folder(options.weights)
    config = _json(folder / "config.json")
    if config.get("model_type") != entry.model_type:
        detail = f"{options.weights} is of type {config.get('model_type')!r}"
        raise _mismatch(f"{options.encoder} needs weights of type {entry.model_type!r}", detail)
    encoder = build_encoder(options.encoder, config=config)
    _fill(encoder, _tensors(folder), entry, options)
    return encoder, _record(folder, options)


def _folder(name_or_path: str) -> Path:
    path = Path(name_or_path).expanduser()
    folder = path if path.is_dir() else _hub_folder(name_or_path)
    absent = _absent(folder)
    if absent:
        raise _missing(f"{name_or_path} has no {' and no '.join(absent)}")
    return folder


def _absent(folder: Path) -> list[str]:
    return [name for name in _FILES[:2] if not (folder / name).is_file()]


def _hub_folder(name: str) -> Path:
    """The model's folder in the hub's cache; asks the hub, briefly, only when it is not there whole."""
    if not re.fullmatch(r"[\w-][\w.-]*(/[\w.-]+)?", name):
        raise _missing(f"there is no folder {name}")
    cached = _cached(name)
    if cached is not None:
        return cached
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=list(_FILES), etag_timeout=_HUB_TIMEOUT_S))
    except Exception as error:  # whatever its client raises: the remedies are the same
        reason = str(error).strip().partition("\n")[0]
        detail = f"{name} is neither a folder nor in the hub's cache, and the hub answered: {reason}"
        raise _missing(detail) from error


def _cached(name: str) -> Path | None:
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(name, local_files_only=True))
    except (OSError, ValueError):
        return None
    return None if _absent(folder) else folder


def _tensors(folder: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path = folder / "model.safetensors"
    try:
        stored: dict[str, Tensor] = load_file(path)
    except (OSError, SafetensorError) as error:
        raise _mismatch("the weights cannot be read", f"{path}: {error}", "fetch them again") from error
    return {key: _single(value) for key, value in stored.items()}


def _single(value: Tensor) -> Tensor:
    """Weights may be stored in half precision; they are trained and run in single."""
    return value.float() if value.is_floating_point() else value


def _fill(encoder: nn.Module, stored: dict[str, Tensor], entry: Encoder, options: NetworkOptions) -> None:
    """Put stored weights into the encoder; every one of its own must be there, and fit."""
    prefix = f"{entry.model_type}."
    named = {key.removeprefix(prefix): value for key, value in stored.items()}
    wanted = encoder.state_dict()
    surplus = [k for k in named if k not in wanted and not k.startswith(entry.left_out)]
    absent = [k for k in wanted if k not in named and not k.endswith("num_batches_tracked")]
    misfit = [k for k in wanted if k in named and named[k].shape != wanted[k].shape]
    if surplus or absent or misfit:
        counts = f"{len(absent)} missing, {len(surplus)} unexpected, {len(misfit)} of another shape"
        first = (absent + misfit + surplus)[0]
        raise _mismatch(
            f"the weights do not fit {options.encoder}", f"{options.weights}: {counts}, such as {first}"
        )
    encoder.load_state_dict({k: named[k] for k in wanted if k in named}, strict=False)


def _record(folder: Path, options: NetworkOptions) -> WeightsRecord:
    preprocessor = (
        _json(folder / "preprocessor_config.json") if (folder / "preprocessor_config.json").is_file() else {}
    )
    mean, std = preprocessor.get("image_mean", IMAGENET_MEAN), preprocessor.get("image_std", IMAGENET_STD)
    return WeightsRecord(
        source=folder.name if Path(options.weights).expanduser().is_dir() else options.weights,
        sha256=_sha256(folder / "model.safetensors"),
        licence=_licence(folder) or options.weights_licence or "not stated",
        mean=(float(mean[0]), float(mean[1]), float(mean[2])),
        std=(float(std[0]), float(std[1]), float(std[2])),
    )


def _licence(folder: Path) -> str:
    """The licence the model card's header states, if there is a card and it does."""
    card = folder / "README.md"
    if not card.is_file():
        return ""
    header = card.read_text(encoding="utf-8", errors="replace").partition("\n---")[0]
    match = re.search(r"^license:\s*(\S+)", header, re.MULTILINE)
    return match.group(1) if match else ""


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _json(path: Path) -> dict[str, Any]:
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _mismatch(
            "the weights' description cannot be read", f"{path}: {error}", "fetch them again"
        ) from error
    return table if isinstance(table, dict) else {}


def _missing(seen: str) -> WeightsError:
    return WeightsError(
        "weights.missing", "the network's pretrained weights are not here", seen=seen, do=_REMEDIES
    )


def _mismatch(
    what: str, seen: str, do: str = "name weights made for this encoder, or another encoder"
) -> WeightsError:
    return WeightsError("weights.mismatch", what, seen=seen, do=do)
