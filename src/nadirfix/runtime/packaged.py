"""Networks that ship with the package, ready to run: what they are, and whether a recipe means them (ADR 11).

Each is one ONNX file whose header has the settings it was made with, where its weights came from
and under which licence. Nothing here needs torch.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from nadirfix.errors import WeightsError
from nadirfix.options.recipe import NetworkOptions

__all__ = ["ShippedNetwork", "shipped_matcher", "shipped_network"]

_PACKAGE = "nadirfix.weights"
_MATCHER = "standard-matcher"
#: ONNX Runtime's own numbering; our error has the reason.
_FATAL_ONLY = 4


@dataclass(frozen=True, slots=True, eq=False)
class ShippedNetwork:
    """A network of the package: its file's bytes, and its entry in a manifest."""

    content: bytes
    card: dict[str, Any]


def shipped_network(options: NetworkOptions) -> ShippedNetwork | None:
    """The network these options start from, where the package has just that one; else None.

    A file made by ``bench/training/ship.py`` that lies elsewhere is named by its path.
    """
    resource = _resource(options.start)
    if resource is None or not resource.is_file():
        return None
    content = resource.read_bytes()
    network, card = _header(content, options.start, "network", "about")
    # A setting younger than the file was at its default when there was no choice.
    made_with = {**dataclasses.asdict(NetworkOptions()), **network}
    if made_with | {"start": ""} != dataclasses.asdict(options) | {"start": ""}:
        return None
    return ShippedNetwork(content, card)


def shipped_matcher() -> ShippedNetwork:
    """The keypoint network of the package, made by ``bench/training/ship_matcher.py``."""
    resource = files(_PACKAGE) / f"{_MATCHER}.onnx"
    if not resource.is_file():
        raise _no_network(_MATCHER, "not in this installation")
    content = resource.read_bytes()
    (card,) = _header(content, _MATCHER, "about")
    return ShippedNetwork(content, card)


def _resource(start: str) -> Traversable | None:
    if start.endswith(".onnx"):
        return Path(start).expanduser()
    return files(_PACKAGE) / f"{start}.onnx" if start and "/" not in start else None


def _header(content: bytes, start: str, *names: str) -> list[dict[str, Any]]:
    """What a file's header says: the settings it was made with, its entry in a manifest."""
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = _FATAL_ONLY
    try:
        session = onnxruntime.InferenceSession(content, settings, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime has a dozen of its own, one per way a file can be broken
        raise _no_network(start, f"{len(content)} bytes that are no ONNX network") from error
    metadata = session.get_modelmeta().custom_metadata_map
    try:
        return [dict(json.loads(metadata[name])) for name in names]
    except (KeyError, TypeError, ValueError) as error:
        raise _no_network(start, "its header does not say which settings it was made with") from error


def _no_network(start: str, seen: str) -> WeightsError:
    return WeightsError(
        "weights.mismatch",
        "the network to start from cannot be used",
        seen=f"{start}: {seen}",
        do="name a file made by bench/training/ship.py, a network the package ships, or a .safetensors file",
    )
