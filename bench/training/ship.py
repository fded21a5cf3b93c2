"""Makes the networks the package ships ready to run, from embedders that were trained.

python -m bench.training.ship                         tiny-*.onnx from tiny-*.safetensors: same bytes again
python -m bench.training.ship place FILE.safetensors  standard-place.safetensors and .onnx from an embedder
python -m bench.training.ship altitude FILE           standard-altitude, likewise
    [--out DIR]                                       elsewhere than in the package, to try them

FILE is what bench/training/many_places.py wrote; for the place network it may also be a folder with ImageNet
weights, which are then shipped as they come (``--licence`` says under which licence). Each becomes one ONNX
file with its settings, its licence and its preprocessing in the header. Large weights are kept in eight
bits, a factor per channel, in both files: what is trained on starts where what is run ends. The embedder of
altitudes comes without classes: those are fitted to each map when its bundle is built.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

import onnx

import nadirfix.weights
from nadirfix.files import atomic_file
from nadirfix.offline.compress import store_float16, store_int8
from nadirfix.offline.trained_networks import network_card
from nadirfix.options.recipe import RECIPES, SHIPPED_ALTITUDE, SHIPPED_PLACE, NetworkOptions
from nadirfix.train.export import export_network
from nadirfix.train.models.embedder import Embedder
from nadirfix.train.models.embedder_checkpoint import embedder_metadata, load_embedder, save_embedder
from nadirfix.train.models.weights import WeightsRecord, load_encoder

WEIGHTS = Path(nadirfix.weights.__file__).parent
STANDARD = {"altitude": SHIPPED_ALTITUDE, "place": SHIPPED_PLACE}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("what", nargs="?", choices=list(STANDARD))
    options.add_argument("file", nargs="?", type=Path)
    options.add_argument("--out", type=Path, default=WEIGHTS)
    options.add_argument("--licence", default="Apache-2.0", help="of weights in a folder")
    given = options.parse_args()
    if given.what is None:
        for network in (RECIPES["tiny"].altitude_network, RECIPES["tiny"].place_network):
            write(network, WEIGHTS / f"{network.start}.safetensors")
    elif given.file is None:
        options.error("name the file of a trained embedder")
    else:
        given.out.mkdir(parents=True, exist_ok=True)
        narrow = narrowed(STANDARD[given.what], given)
        write(STANDARD[given.what], narrow, int8=True)


def narrowed(options: NetworkOptions, given: argparse.Namespace) -> Path:
    """The embedder to train on, in the package's own form."""
    target = given.out / f"{options.start}.safetensors"
    if given.file.is_dir():
        folder = dataclasses.replace(
            options,
            encoder="resnet50-stage3",
            weights=str(given.file),
            weights_licence=given.licence,
            start="",
        )
        encoder, record = load_encoder(folder)
        embedder = Embedder(encoder, folder, record)
        metadata = {"licence": record.licence, "data": "ImageNet", "start": record.source}
    else:
        embedder, _ = build_embedder(options, given.file)
        metadata = embedder_metadata(given.file)
    save_embedder(embedder, target, metadata, int8=True)
    print(f"{target.name}: {target.stat().st_size / 1e6:.2f} MB, {metadata.get('licence')}")
    return target


def write(options: NetworkOptions, source: Path, *, int8: bool = False) -> None:
    path = source.with_suffix(".onnx")
    embedder, weights = build_embedder(options, source)
    weights = dataclasses.replace(weights, source=options.start)
    export_network(embedder, path, input_shape=(3, options.height_px, options.width_px))
    store_int8(path) if int8 else store_float16(path)
    model = onnx.load(path)
    about = {**network_card(options, weights, None), "dimensions": embedder.dimensions}
    header = {"network": dataclasses.asdict(options), "about": about, "licence": weights.licence}
    onnx.helper.set_model_props(model, {key: json.dumps(value) for key, value in header.items()})
    with atomic_file(path) as scratch:
        scratch.write_bytes(model.SerializeToString(deterministic=True))
    print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB, {weights.licence}")


def build_embedder(options: NetworkOptions, file: Path) -> tuple[Embedder, WeightsRecord]:
    encoder, record = load_encoder(options)
    embedder = Embedder(encoder, options, record)
    return embedder, load_embedder(embedder, str(file), record)


if __name__ == "__main__":
    main()
