"""The published altitude network, trained on the map of a real flight, measured on that flight's frames.

    python -m bench.training.published_flight train --map MAP.ntx --weights FOLDER --out DIR --name NAME
        [--between 25 325 --width 25] [--seconds 200 | --steps N]
    python -m bench.training.published_flight measure --network FILE --truth truth.csv --camera C --name NAME
        [--between 25 325 --width 25]

Spectrum, ResNet-50 to stage 3, MixVPR, classes of one width and cross entropy, views of the map alone. The
published range begins at 100 m of the nominal camera; a flight lower than that needs another, with as many
classes. Training needs no GDAL; measuring reads the frames as ``locate`` does.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from bench.lib.embedder_files import narrowed
from bench.lib.photos import off_by, soft_m
from bench.lib.record import record, say
from bench.training.pretrain import print_steps
from bench.training.published import training_summary
from nadirfix.altitude.bins import AltitudeBins
from nadirfix.camera import Camera
from nadirfix.geo.texture import Texture
from nadirfix.image.crop import network_frame, photo_gsd_m
from nadirfix.image.decode import decode
from nadirfix.image.spectrum import log_spectrum
from nadirfix.options.recipe import Recipe, load_recipe
from nadirfix.options.training import TrainOptions
from nadirfix.train.altitude import train_altitude
from nadirfix.train.data.device_renderer import DeviceRenderer
from nadirfix.train.models.altitude import build_altitude_network


def main() -> None:
    given = arguments()
    recipe = make_recipe(given)
    if given.what == "train":
        trained(recipe, given)
    else:
        measured(recipe, given)


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("what", choices=["train", "measure"])
    options.add_argument("--map", type=Path, help="the flight's map as a texture")
    options.add_argument("--weights", default="random", help="folder or name of ImageNet weights")
    options.add_argument("--network", type=Path, help="what was trained")
    options.add_argument("--truth", type=Path, help="photo, lon, lat, altitude_m")
    options.add_argument("--camera", help="of the frames")
    options.add_argument("--out", type=Path, default=Path())
    options.add_argument("--name", required=True)
    options.add_argument("--between", type=float, nargs=2, default=(100.0, 700.0), metavar=("LOW", "HIGH"))
    options.add_argument("--width", type=float, default=50.0)
    options.add_argument("--seconds", type=float, default=0.0)
    options.add_argument("--steps", type=int, default=0)
    options.add_argument("--batch", type=int, default=64)
    options.add_argument("--rate", type=float, default=3e-4)
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--seed", type=int, default=0)
    return options.parse_args()


def make_recipe(given: argparse.Namespace) -> Recipe:
    paper = load_recipe("paper")
    low_m, high_m = given.between
    training = TrainOptions(
        schedule="budget", budget_s=given.seconds, budget_steps=given.steps, batch=given.batch,
        extractor_rate=given.rate, classifier_rate=10 * given.rate, altitude_step_m=0.0, seed=given.seed,
    )  # fmt: skip
    return dataclasses.replace(
        paper,
        seed=given.seed,
        bins=dataclasses.replace(paper.bins, min_m=low_m, max_m=high_m, width_m=given.width),
        altitude_network=dataclasses.replace(paper.altitude_network, weights=given.weights),
        altitude_training=training,
    )


def trained(recipe: Recipe, given: argparse.Namespace) -> None:
    """Train on the map, and keep the network with what its own held-out views say of it."""
    given.out.mkdir(parents=True, exist_ok=True)
    source = DeviceRenderer(Texture.load(given.map), given.device)
    done = train_altitude(source.texture, recipe, device=given.device, renderer=source, report=print_steps())
    summary = {key: f"{value}" for key, value in training_summary(done.report).items()}
    say(f"{given.name}: {summary}, sharp above {done.sharp_altitude_m:.0f} m")
    halves = {key: narrowed(value) for key, value in done.network.state_dict().items()}
    save_file(halves, given.out / f"published_flight_{given.name}.safetensors", metadata=summary)


@torch.no_grad()
def measured(recipe: Recipe, given: argparse.Namespace) -> None:
    """How far off the frames' altitudes are, in metres of their own camera."""
    from safetensors import safe_open

    bins = AltitudeBins.from_options(recipe.bins)
    network, _ = build_altitude_network(recipe.altitude_network, bins, seed=0)
    network.load_state_dict({k: v.float() for k, v in load_file(given.network).items()}, strict=False)
    network.eval()
    camera = Camera.parse(given.camera)
    with given.truth.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    scores = [scores_of(given.truth.parent / row["photo"], camera, network, recipe) for row in rows]
    found = results(np.stack(scores), np.array([float(row["altitude_m"]) for row in rows]), camera, recipe)
    with safe_open(given.network, "pt") as file:
        found["training"] = file.metadata()
    settings = {"between_m": list(given.between), "width_m": given.width, "batch": given.batch}
    print(record(f"published_flight_{given.name}", {"photos": len(rows), **settings, **found}), found)


def scores_of(photo: Path, camera: Camera, network: torch.nn.Module, recipe: Recipe) -> np.ndarray:
    options = recipe.altitude_network
    size = {"width_px": options.width_px, "height_px": options.height_px}
    frame = network_frame(decode(photo, max_pixels=200_000_000), camera, recipe.camera, **size)
    return network(torch.from_numpy(log_spectrum(frame, options))[None]).numpy()[0]


def results(scores: np.ndarray, truth_m: np.ndarray, camera: Camera, recipe: Recipe) -> dict[str, Any]:
    """Classes are altitudes of the nominal camera; the frames' own follow from ground sampling distances."""
    bins = AltitudeBins.from_options(recipe.bins)
    ratio = camera.altitude_m(photo_gsd_m(1.0, nominal=recipe.camera, photo=camera))
    named_m = {"hard": ratio * bins.centers_m[scores.argmax(1)], "soft": ratio * soft_m(scores, bins)}
    found: dict[str, Any] = off_by(named_m, truth_m)
    found["median_ratio"] = float(np.median(named_m["hard"] / truth_m))
    found["range_m"] = [round(ratio * edge_m, 1) for edge_m in (bins.min_m, bins.max_m)]
    return found


if __name__ == "__main__":
    main()
