"""The encoder of an embedder as a folder that other networks can begin with.

python -m bench.training.export_encoder --embedder standard-place --like FOLDER --out FOLDER

``--embedder`` is a shipped name or a safetensors file, ``--like`` a folder with ``config.json`` of the same
encoder (ImageNet's). ``bench/training/published.py --place-weights`` and ``bench/training/ablations.py
--place-start`` take it.
"""

from __future__ import annotations

import argparse
import dataclasses
import shutil
from pathlib import Path

from safetensors.torch import save_file

from nadirfix.options.recipe import load_recipe
from nadirfix.train.models.embedder import Embedder
from nadirfix.train.models.embedder_checkpoint import load_embedder
from nadirfix.train.models.weights import load_encoder


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--embedder", required=True)
    options.add_argument("--like", type=Path, required=True)
    options.add_argument("--out", type=Path, required=True)
    given = options.parse_args()
    network = dataclasses.replace(
        load_recipe("standard").place_network, encoder="resnet50-stage3", weights=str(given.like)
    )
    encoder, weights = load_encoder(network)
    embedder = Embedder(encoder, network, weights)
    load_embedder(embedder, given.embedder, weights)
    given.out.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(given.like / "config.json", given.out / "config.json")
    narrow = {k: v.half() if v.dim() > 1 else v for k, v in embedder.encoder.state_dict().items()}
    save_file({k: v.contiguous() for k, v in narrow.items()}, given.out / "model.safetensors")


if __name__ == "__main__":
    main()
