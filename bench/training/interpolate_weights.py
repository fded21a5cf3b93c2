"""A place network between where it started and what it learned: less learned, less forgotten.

python -m bench.training.interpolate_weights LEARNED.safetensors --weights FOLDER --real DIR
    --measure town --out DIR [--keep 0.5]

Every share of what was learned is measured on places of two dates, with views of a seed of our own.
``--keep`` writes the network of one share: choose it on another place than the one you will report. Needs no
GDAL and no FAISS.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

import torch

from bench.lib.record import record
from bench.training.many_places import MEASURED, load_maps, mixed_back
from nadirfix.options.recipe import NetworkOptions, Recipe, load_recipe
from nadirfix.train.models.embedder import Embedder, seeded
from nadirfix.train.models.embedder_checkpoint import load_embedder, save_embedder
from nadirfix.train.models.weights import load_encoder


def main() -> None:
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    standard = load_recipe("standard")
    untrained = NetworkOptions(aggregator="gem", encoder=given.encoder, weights=given.weights)
    recipe = dataclasses.replace(standard, seed=given.seed, place_network=untrained)
    learned = embedder(recipe, str(given.learned), given)
    results: dict = {"learned": given.learned.name, "seed": given.seed}
    if given.measure:
        maps = {name: m for name, m in load_maps(given).items() if name in given.measure}
        results["shares"] = mixed_back(learned.to(given.device), recipe, maps, given)
        record(f"interpolate_weights_{given.learned.stem}", results, given.out)
    if given.keep is not None:
        keep(embedder(recipe, str(given.learned), given), embedder(recipe, "", given), given)


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("learned", type=Path, help="what bench/training/many_places.py wrote (safetensors)")
    options.add_argument("--weights", required=True, help="folder or name of the weights it started from")
    options.add_argument("--real", type=Path, default=Path(), help="as for bench/training/many_places.py")
    options.add_argument("--worlds", type=Path, default=Path(), help="as for bench/training/many_places.py")
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--measure", nargs="*", default=[], choices=list(MEASURED))
    options.add_argument("--mix", nargs="+", type=float, default=[0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0])
    options.add_argument("--keep", type=float, help="share of what was learned, to be written")
    options.add_argument("--encoder", default="resnet50-stage3")
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    given.start = ""
    return given


def embedder(recipe: Recipe, start: str, given: argparse.Namespace) -> Embedder:
    with seeded(given.seed):
        encoder, weights = load_encoder(recipe.place_network)
        network = Embedder(encoder, recipe.place_network, weights)
    load_embedder(network, start, weights)
    return network


def keep(learned: Embedder, start: Embedder, given: argparse.Namespace) -> None:
    """Write the network of one share; its file says of what it is mixed."""
    from safetensors import safe_open

    with safe_open(given.learned, "pt") as file:
        metadata = file.metadata() or {}
    before = start.state_dict()
    mixed = {
        key: torch.lerp(before[key].float(), value.float(), given.keep).to(value.dtype)
        for key, value in learned.state_dict().items()
    }
    learned.load_state_dict(mixed)
    path = given.out / f"{given.learned.stem}-{given.keep:g}.safetensors"
    save_embedder(learned, path, {**metadata, "mixed": f"{given.keep:g} learned, {1 - given.keep:g} start"})
    print(json.dumps({"wrote": path.name}))


if __name__ == "__main__":
    main()
