"""Networks for pictures of any size: prepared once, and the same whichever library runs them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from nadirfix.runtime import NetworkFiles
from nadirfix.runtime.backend import Backend
from nadirfix.runtime.load import load_backend


@pytest.mark.skipif(find_spec("openvino") is None, reason="the fast extra is not installed")
def test_sides_that_are_free_need_no_compiling_anew(tmp_path: Path) -> None:
    """A network for pictures of any size is prepared once, with the same output as the usual library."""
    import onnx
    from onnx import TensorProto, helper

    weights = helper.make_tensor("w", TensorProto.FLOAT, (2, 1, 3, 3), np.arange(18, dtype=np.float32) / 18)
    shape = ["batch", 1, "rows", "columns"]
    graph = helper.make_graph(
        [helper.make_node("Conv", ["inputs", "w"], ["outputs"], pads=[1, 1, 1, 1])],
        "free",
        [helper.make_tensor_value_info("inputs", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("outputs", TensorProto.FLOAT, ["batch", 2, "rows", "columns"])],
        [weights],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "free.onnx")
    files = NetworkFiles(tmp_path / "free.onnx")
    free, usual = load_backend(files, Backend("openvino")), load_backend(files, Backend())
    for size in ((32, 48), (64, 32), (32, 48)):
        picture = np.random.default_rng(0).normal(size=(1, 1, *size)).astype(np.float32)
        np.testing.assert_allclose(free.run(picture), usual.run(picture), atol=1e-5)
    assert len(free._compiled_models) == 1  # type: ignore[attr-defined]
