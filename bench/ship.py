"""Makes the networks the package ships ready to run, from the embedders it ships to start from.

python bench/ship.py     weights/*.onnx from weights/*.safetensors; same weights, same bytes

Each becomes one ONNX file with its settings, its licence and its preprocessing in the header. The embedder of
altitudes comes without classes: those are fitted to each map when its bundle is built.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

import onnx

import nadirfix.weights
from nadirfix.bundle.halve import store_half
from nadirfix.bundle.networks import network_facts
from nadirfix.nn.embedder import Embedder
from nadirfix.nn.export import export_network
from nadirfix.nn.start import start_embedder
from nadirfix.nn.weights import WeightsRecord, load_encoder
from nadirfix.options import RECIPES, NetworkOptions
from nadirfix.output import atomic_file

WEIGHTS = Path(nadirfix.weights.__file__).parent
RECIPE = RECIPES["tiny"]


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter).parse_args()
    for options in (RECIPE.altitude_network, RECIPE.place_network):
        write(options)


def write(options: NetworkOptions) -> None:
    path = WEIGHTS / f"{options.start}.onnx"
    embedder, weights = build_embedder(options)
    export_network(embedder, path, input_shape=(3, options.height_px, options.width_px))
    store_half(path)
    model = onnx.load(path)
    about = {**network_facts(options, weights, None), "dimensions": embedder.dimensions}
    header = {"network": dataclasses.asdict(options), "about": about, "licence": weights.licence}
    onnx.helper.set_model_props(model, {key: json.dumps(value) for key, value in header.items()})
    with atomic_file(path) as scratch:
        scratch.write_bytes(model.SerializeToString(deterministic=True))
    print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB, {weights.licence}")


def build_embedder(options: NetworkOptions) -> tuple[Embedder, WeightsRecord]:
    encoder, record = load_encoder(options)
    embedder = Embedder(encoder, options, record)
    return embedder, start_embedder(embedder, options.start, record)


if __name__ == "__main__":
    main()
