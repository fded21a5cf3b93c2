"""The fastest backend is measured in child processes: one that dies takes nothing with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from nadirfix.bundle import layout as parts
from nadirfix.offline import tune
from nadirfix.options.recipe import RECIPES
from nadirfix.runtime import NetworkFiles, benchmark, load_fastest
from nadirfix.runtime.backend import (
    Backend,
    _version,
    cache_file,
    possible_backends,
    remember,
    remembered_backend,
)
from nadirfix.runtime.benchmark import Trial, fastest_backend, top1_agreement
from nadirfix.runtime.onnx import OnnxNetwork
from nadirfix.runtime.packaged import shipped_network


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NetworkFiles:
    """A network with a cache of its own; its second file is as good as the first."""
    monkeypatch.setenv("NADIRFIX_CACHE", str(tmp_path / "cache"))
    shipped = shipped_network(RECIPES["tiny"].place_network)
    assert shipped is not None
    for name in ("place.onnx", "place.int8.onnx"):
        (tmp_path / name).write_bytes(shipped.content)
    monkeypatch.setattr("nadirfix.runtime.backend.openvino_is_here", lambda: True)
    return NetworkFiles(tmp_path / "place.onnx", tmp_path / "place.int8.onnx", "abc")


@pytest.fixture
def examples() -> np.ndarray:
    side = RECIPES["tiny"].place_network.width_px
    return np.random.default_rng(0).uniform(0, 255, (3, 3, side, side)).astype(np.float32)


def fake_python(tmp_path: Path, *, doomed: str, end: str) -> str:
    """A Python whose child for one precision ends in a bad way."""
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\n[ "$4" = {doomed} ] && {end}\nexec {sys.executable} "$@"\n')
    script.chmod(0o755)
    return str(script)


def measured(files: NetworkFiles) -> dict:
    (entry,) = json.loads(cache_file().read_text()).values()
    return entry["measured"]


@pytest.mark.parametrize("end", ["kill -SEGV $$", "exit 3"])
def test_a_backend_that_takes_its_process_down_loses(
    end: str, files: NetworkFiles, examples: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", fake_python(tmp_path, doomed="eight_bit", end=end))
    backends = [Backend(), Backend(precision="eight_bit")]
    assert fastest_backend(files, examples, backends=backends) == Backend()
    records = measured(files)
    assert "ended with" in records["onnxruntime eight_bit"]["why_not"]
    assert records["onnxruntime single"]["median_ms"] > 0
    assert remembered_backend(files) == Backend()
    assert load_fastest(files).run(examples).shape[0] == 3


def test_a_backend_with_other_outputs_loses(files: NetworkFiles, examples: np.ndarray) -> None:
    """The second file is the altitude network of another size: it cannot even take the examples."""
    other = shipped_network(RECIPES["tiny"].altitude_network)
    assert other is not None and files.int8 is not None
    files.int8.write_bytes(other.content)
    assert fastest_backend(files, examples, backends=[Backend(), Backend(precision="eight_bit")]) == Backend()
    assert "inputs of shape" in measured(files)["onnxruntime eight_bit"]["why_not"]


def test_until_somebody_measures_nothing_is_done_differently(
    files: NetworkFiles, examples: np.ndarray
) -> None:
    assert remembered_backend(files) is None
    assert files.int8 is not None
    files.int8.write_bytes(b"never opened")
    assert load_fastest(files).run(examples).shape[0] == 3
    assert possible_backends(files)[0] == Backend(), "the first is what others are compared with"


def test_what_is_remembered_is_for_one_network_and_may_be_broken(
    files: NetworkFiles, examples: np.ndarray
) -> None:
    fastest_backend(files, examples, backends=[Backend()])
    assert remembered_backend(files) == Backend()
    assert remembered_backend(NetworkFiles(files.float32, files.int8, "other")) is None
    assert remembered_backend(NetworkFiles(files.float32, files.int8)) is None, "no name, nothing remembered"
    cache_file().write_text("{ not json")
    assert remembered_backend(files) is None
    assert isinstance(load_fastest(files), OnnxNetwork)


def test_openvino_agrees_with_onnx_runtime(files: NetworkFiles, examples: np.ndarray) -> None:
    pytest.importorskip("openvino")
    from nadirfix.runtime.openvino import OpenVinoNetwork

    network = OpenVinoNetwork(files.float32, threads=1)
    wanted = OnnxNetwork(files.float32, threads=1).run(examples)
    np.testing.assert_allclose(network.run(examples), wanted, rtol=1e-3, atol=1e-3 * np.abs(wanted).max())
    assert np.array_equal(network.run(examples[:1]).shape, (1, wanted.shape[1]))
    with pytest.raises(ValueError, match="inputs of shape"):
        network.run(examples[:, :, :50])


def test_openvino_answers_several_threads_at_once(files: NetworkFiles, examples: np.ndarray) -> None:
    pytest.importorskip("openvino")
    from nadirfix.runtime.openvino import OpenVinoNetwork

    network = OpenVinoNetwork(files.float32, threads=1)
    alone = [network.run(examples[i : i + 1]) for i in range(3)]
    rows = [i % 3 for i in range(24)]
    with ThreadPoolExecutor(4) as pool:
        outputs = list(pool.map(lambda i: network.run(examples[i : i + 1]), rows))
    for i, output in zip(rows, outputs, strict=True):
        np.testing.assert_allclose(output, alone[i], rtol=1e-5, atol=1e-5)


def test_of_scores_only_the_best_counts() -> None:
    wanted = np.array([[1.0, 3.0, 2.0], [5.0, 0.0, 1.0]], np.float32)
    assert top1_agreement(wanted * [1, 1, 1.4], wanted) == 1.0
    assert top1_agreement(wanted * [1, 1, 1.6], wanted) == 0.5
    assert top1_agreement(wanted[:1], wanted) == -1.0


def test_for_a_few_pictures_what_opens_soonest_is_chosen(files: NetworkFiles) -> None:
    def record(open_ms: float, median_ms: float, *, sound: bool = True) -> dict[str, object]:
        return {"open_ms": open_ms, "median_ms": median_ms, "sound": sound}

    quick, slow = Backend(), Backend("openvino")
    remember(files, slow, {quick.name: record(50, 20), slow.name: record(500, 10)})
    assert remembered_backend(files) == slow
    assert remembered_backend(files, expected_runs=1) == quick
    assert (
        remembered_backend(files, expected_runs=44) == quick
        and remembered_backend(files, expected_runs=46) == slow
    )
    remember(files, quick, {quick.name: record(50, 20), slow.name: record(1, 1, sound=False)})
    assert remembered_backend(files, expected_runs=1000) == quick, (
        "a backend with other outputs is never chosen"
    )
    remember(files, slow, {quick.name: {"median_ms": 20}, slow.name: {"median_ms": 10}})
    assert remembered_backend(files, expected_runs=1) == slow, "a cache of an earlier release"


@pytest.mark.parametrize(
    "damage",
    [
        {"sound": True, "open_ms": "fast", "median_ms": 10},
        {"sound": True, "open_ms": None, "median_ms": 10},
        {"sound": True, "open_ms": [1], "median_ms": {}},
        {"sound": True},
        "sound",
        7,
    ],
)
def test_times_of_a_damaged_cache_are_not_used(damage: object, files: NetworkFiles) -> None:
    """It must cost neither an exception nor the backend that is still named."""
    slow = Backend("openvino")
    remember(files, slow, {Backend().name: damage, slow.name: damage})  # type: ignore[dict-item]
    assert remembered_backend(files, expected_runs=3) == remembered_backend(files) == slow
    whole = {"sound": True, "open_ms": 5, "median_ms": 1.5}
    remember(files, slow, {Backend().name: whole, slow.name: damage})  # type: ignore[dict-item]
    assert remembered_backend(files, expected_runs=3) == Backend(), "what is whole still counts"


@pytest.mark.parametrize("text", ["", "[]", "null", '{"a": 1}', "\x00\x01", '{"measured": ', "[" * 200_000])
def test_a_damaged_cache_is_as_good_as_none_and_is_mended(
    text: str, files: NetworkFiles, examples: np.ndarray
) -> None:
    cache_file().parent.mkdir(parents=True, exist_ok=True)
    cache_file().write_text(text)
    assert remembered_backend(files) is None and isinstance(load_fastest(files, expected_runs=2), OnnxNetwork)
    remember(files, Backend(), {})
    assert remembered_backend(files) == Backend()


def test_a_backend_of_a_damaged_entry_is_none(files: NetworkFiles) -> None:
    remember(files, Backend(), {})
    table = json.loads(cache_file().read_text())
    for broken in ("openvino", None, 3, {"library": 7, "precision": []}, {"measured": []}):
        cache_file().write_text(json.dumps(dict.fromkeys(table, broken)))
        assert remembered_backend(files) is None and remembered_backend(files, expected_runs=4) is None


def test_numbers_nobody_measured_do_not_count(files: NetworkFiles) -> None:
    for wrong in (10**400, float("nan"), -1.0, float("inf")):
        remember(files, Backend(), {Backend().name: {"sound": True, "open_ms": wrong, "median_ms": 1.0}})
        assert remembered_backend(files, expected_runs=3) == Backend()


def test_a_pipe_in_the_cache_s_place_is_not_waited_for(files: NetworkFiles) -> None:
    cache_file().parent.mkdir(parents=True, exist_ok=True)
    cache_file().unlink(missing_ok=True)
    os.mkfifo(cache_file())
    assert remembered_backend(files) is None
    cache_file().unlink()


def test_opening_is_measured_with_the_rest(files: NetworkFiles, examples: np.ndarray) -> None:
    fastest_backend(files, examples, backends=[Backend()])
    record = measured(files)["onnxruntime single"]
    assert record["sound"] and record["open_ms"] > 0


@pytest.mark.parametrize("name", ["onnxruntime", "numpy", "openvino"])
def test_versions_are_those_python_tells(name: str) -> None:
    pytest.importorskip(name)
    assert _version(name) == metadata.version(name)
    assert _version("no_such_library") is None


class Nonsense:
    """A compiled model as OpenVINO makes one now and then: its outputs are nonsense."""

    def create_infer_request(self):
        return self

    def infer(self, inputs):
        return [np.random.default_rng(1).normal(size=(len(inputs[0]), 512)).astype(np.float32)]


def compiling(monkeypatch: pytest.MonkeyPatch, wrong: int) -> list[int]:
    """The first so many compiled models are nonsense; the list returned grows with each."""
    from nadirfix.runtime.openvino import OpenVinoNetwork

    right, made = OpenVinoNetwork._compiled, []

    def compiled(self, shape):
        made.append(1)
        return Nonsense() if len(made) <= wrong else right(self, shape)

    monkeypatch.setattr(OpenVinoNetwork, "_compiled", compiled)
    return made


def test_a_compiled_model_that_answers_nonsense_is_compiled_anew(
    files: NetworkFiles, examples: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openvino")
    from nadirfix.runtime.openvino import OpenVinoNetwork

    made = compiling(monkeypatch, wrong=2)
    network, wanted = OpenVinoNetwork(files.float32, threads=1), OnnxNetwork(files.float32, threads=1)
    assert np.allclose(network.run(examples), wanted.run(examples), atol=1e-3)
    network.run(examples)
    assert len(made) == 3


def test_a_library_that_answers_nothing_else_is_not_used(
    files: NetworkFiles, examples: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openvino")
    from nadirfix.runtime.openvino import OpenVinoNetwork

    compiling(monkeypatch, wrong=99)
    network, wanted = OpenVinoNetwork(files.float32, threads=1), OnnxNetwork(files.float32, threads=1)
    with pytest.warns(UserWarning, match="answers wrongly"):
        assert np.array_equal(network.run(examples), wanted.run(examples))


def test_a_trial_measures_a_backend_as_it_is(
    files: NetworkFiles, examples: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openvino")
    from nadirfix.runtime.load import load_backend

    compiling(monkeypatch, wrong=99)
    network = load_backend(files, Backend("openvino"), threads=1, check=False)
    assert np.array_equal(network.run(examples), Nonsense().infer([examples])[0])


@pytest.mark.parametrize("wrong", [0.0, 1000.0])
def test_an_output_of_nothing_or_of_another_size_does_not_agree(wrong: float) -> None:
    from nadirfix.runtime.openvino import _agrees

    wanted = np.random.default_rng(0).normal(size=(2, 8)).astype(np.float32)
    assert _agrees(1.1 * wanted, wanted) and _agrees(0 * wanted, 0 * wanted)
    assert not _agrees(wrong * wanted, wanted)


def test_a_cache_that_cannot_be_kept_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from nadirfix.cli import tune as fastest

    monkeypatch.setenv("NADIRFIX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("nadirfix.bundle.Bundle.load", lambda path: path)
    monkeypatch.setattr("nadirfix.offline.tune.is_tuned", lambda bundle: False)
    monkeypatch.setattr("nadirfix.offline.tune.tune_backends", lambda bundle: {})
    fastest.ensure_benchmarked(tmp_path, quiet=False)
    assert "cannot be kept" in capsys.readouterr().err


def test_a_remark_nobody_listens_to_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from nadirfix.cli.messages import print_note

    class Gone:
        def write(self, text: str) -> int:
            raise BrokenPipeError

        def flush(self) -> None:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Gone())
    print_note("something", quiet=False)


GONE = """
import gc, signal, sys
from pathlib import Path
import numpy as np
from nadirfix.runtime.openvino import OpenVinoNetwork

network = OpenVinoNetwork(Path(sys.argv[1]), threads=1)
network.run(np.load(sys.argv[2]))
del network
gc.collect()
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("heard")
"""


def test_ctrl_c_after_openvino_s_networks_are_gone(
    files: NetworkFiles, examples: np.ndarray, tmp_path: Path
) -> None:
    pytest.importorskip("openvino")
    np.save(tmp_path / "x.npy", examples)
    command = [sys.executable, "-c", GONE, str(files.float32), str(tmp_path / "x.npy")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "heard")


def test_a_backend_in_another_precision_never_runs(
    files: NetworkFiles, examples: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice as fast, and off by a cosine of 0.99999: enough to choose another candidate."""
    other, angle = Backend("openvino"), np.arccos(0.99999)

    def measured_as(_files: NetworkFiles, backend: Backend, _examples: np.ndarray) -> Trial:
        output = [np.cos(angle), np.sin(angle)] if backend == other else [1.0, 0.0]
        return Trial(backend, 10.0 if backend == other else 20.0, np.array([output], np.float32), 1.0)

    monkeypatch.setattr(benchmark, "_measured", measured_as)
    assert fastest_backend(files, examples) == Backend() == remembered_backend(files)
    assert remembered_backend(files, expected_runs=10**6) == Backend(), "nor for a million photos"
    angle = 1e-5
    assert fastest_backend(files, examples) == other == remembered_backend(files), "rounding alone"


@pytest.mark.parametrize("precision", ["single", "eight_bit"])
def test_the_precision_is_the_bundle_s_and_not_the_machine_s(files: NetworkFiles, precision: str) -> None:
    chosen = replace(files, precision=precision)
    assert {backend.precision for backend in possible_backends(chosen)} == {precision}
    faster = Backend(precision="eight_bit" if precision == "single" else "single")
    remember(chosen, faster, {faster.name: {"sound": True, "open_ms": 0.0, "median_ms": 0.1}})
    assert remembered_backend(chosen) is None, "what an earlier release found faster is another answer"
    assert remembered_backend(chosen, expected_runs=5) is None


def test_a_matcher_that_is_a_network_is_measured_whatever_its_name() -> None:
    for listed, measured_parts in {
        (): {parts.ALTITUDE, parts.PLACE},
        (parts.MATCHER,): {parts.ALTITUDE, parts.PLACE, parts.MATCHER},
    }.items():
        bundle = SimpleNamespace(manifest={"parts": dict.fromkeys(listed)}, matcher_name="another")
        assert set(tune.measured_parts(bundle)) == measured_parts
