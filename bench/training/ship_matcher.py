"""Makes the matcher the package ships: one ONNX file with its licence and what it learned from in the header.

python -m bench.training.ship_matcher xfeat     XFeat's own weights, as the verify extra brings them
    [--out FILE]                                elsewhere than in the package, to try it
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import onnx

import nadirfix.weights
from nadirfix.files import atomic_file
from nadirfix.train.xfeat import export_xfeat, xfeat_metadata

TARGET = Path(nadirfix.weights.__file__).parent / "standard-matcher.onnx"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("source", choices=["xfeat"])
    options.add_argument("--out", type=Path, default=TARGET)
    given = options.parse_args()
    export_xfeat(given.out)
    write_header(given.out, {**xfeat_metadata(), "name": "standard"})
    print(f"{given.out.name}: {given.out.stat().st_size / 1e6:.2f} MB")


def write_header(path: Path, about: dict[str, Any]) -> None:
    """Put what a manifest says about a network into its file."""
    model = onnx.load(path)
    onnx.helper.set_model_props(model, {"about": json.dumps(about), "licence": about["weights"]["licence"]})
    with atomic_file(path) as scratch:
        scratch.write_bytes(model.SerializeToString(deterministic=True))


if __name__ == "__main__":
    main()
