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

from nadirfix.options import NetworkOptions

__all__ = ["ShippedNetwork", "shipped_network"]

_ROOM = "nadirfix.weights"


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
    header = _header(content)
    # A setting younger than the file was at its default when there was no choice.
    made_with = {**dataclasses.asdict(NetworkOptions()), **json.loads(header["network"])}
    if made_with | {"start": ""} != dataclasses.asdict(options) | {"start": ""}:
        return None
    return ShippedNetwork(content, json.loads(header["about"]))


def _resource(start: str) -> Traversable | None:
    if start.endswith(".onnx"):
        return Path(start).expanduser()
    return files(_ROOM) / f"{start}.onnx" if start and "/" not in start else None


def _header(content: bytes) -> dict[str, str]:
    import onnxruntime

    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return dict(session.get_modelmeta().custom_metadata_map)
