"""Networks that ship with the package, ready to run: what they are, and whether a recipe means them.

Each is one ONNX file that says in its own header which settings it was made with, where its weights came from
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

__all__ = ["ShippedNetwork", "shipped_network"]

_ROOM = "nadirfix.weights"
#: ONNX Runtime's own numbering: what it would say is said by our error.
_NOTHING_SAID = 4


@dataclass(frozen=True, slots=True, eq=False)
class ShippedNetwork:
    """A network of the package: its file's bytes, and what a manifest says about it."""

    content: bytes
    about: dict[str, Any]


def shipped_network(options: NetworkOptions) -> ShippedNetwork | None:
    """The network these options start from, where the package has just that one; else None.

    A file made by ``bench/ship.py`` that lies elsewhere is named by its path.
    """
    resource = _resource(options.start)
    if resource is None or not resource.is_file():
        return None
    content = resource.read_bytes()
    network, about = _header(content, options.start)
    # A setting younger than the file was at its default when there was no choice.
    made_with = {**dataclasses.asdict(NetworkOptions()), **network}
    if made_with | {"start": ""} != dataclasses.asdict(options) | {"start": ""}:
        return None
    return ShippedNetwork(content, about)


def _resource(start: str) -> Traversable | None:
    if start.endswith(".onnx"):
        return Path(start).expanduser()
    return files(_ROOM) / f"{start}.onnx" if start and "/" not in start else None


def _header(content: bytes, start: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a file says of itself: the settings it was made with, and what a manifest says of it."""
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = _NOTHING_SAID
    try:
        session = onnxruntime.InferenceSession(content, settings, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime has a dozen of its own, one per way a file can be broken
        raise _no_network(start, f"{len(content)} bytes that are no ONNX network") from error
    said = session.get_modelmeta().custom_metadata_map
    try:
        return dict(json.loads(said["network"])), dict(json.loads(said["about"]))
    except (KeyError, TypeError, ValueError) as error:
        raise _no_network(start, "its header does not say which settings it was made with") from error


def _no_network(start: str, seen: str) -> WeightsError:
    return WeightsError(
        "weights.mismatch",
        "the network to start from cannot be used",
        seen=f"{start}: {seen}",
        do="name a file made by bench/ship.py, a network the package ships, or a .safetensors file",
    )
