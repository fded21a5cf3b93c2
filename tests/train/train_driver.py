"""A small real training run as a program, to be killed, resumed and run in company.

python train_driver.py {altitude|place} FOLDER [--resume] [--steps N] [--batch N] [--rate R] [--pause S]
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import time
from pathlib import Path

import numpy as np
import torch

from nadirfix.geo.texture import Texture
from nadirfix.options.recipe import NetworkOptions, Recipe
from nadirfix.options.training import TrainOptions
from nadirfix.train.altitude import train_altitude
from nadirfix.train.distributed import process_group
from nadirfix.train.loop import StepReport
from nadirfix.train.place import train_place


def texture() -> Texture:
    rng = np.random.default_rng(3)
    coarse = rng.integers(0, 255, (100, 100, 3)).astype(np.uint8)
    pixels = np.kron(coarse, np.ones((4, 4, 1), np.uint8)) // 2
    pixels += rng.integers(0, 120, pixels.shape).astype(np.uint8)
    return Texture.from_array(pixels, None, affine=(4.0, 0.0, 5e5, 0.0, -4.0, 5e6), epsg=32633)


def recipe(given: argparse.Namespace) -> Recipe:
    network = NetworkOptions(
        width_px=32, height_px=32, encoder="small", weights="random", mix_blocks=1, mix_channels=8
    )
    training = TrainOptions(
        schedule="budget",
        budget_steps=given.steps,
        batch=given.batch,
        extractor_rate=given.rate,
        classifier_rate=10 * given.rate,
        steps_per_epoch=3,
        checkpoint_every_s=0.0,
        validation_views=64,
        seed=5,
    )
    return Recipe(
        altitude_network=dataclasses.replace(network, input="spectrum"),
        place_network=network,
        altitude_training=training,
        place_training=training,
    )


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("network", choices=["altitude", "place"])
    options.add_argument("folder", type=Path)
    options.add_argument("--resume", action="store_true")
    options.add_argument("--steps", type=int, default=30)
    options.add_argument("--batch", type=int, default=8)
    options.add_argument("--rate", type=float, default=1e-3)
    options.add_argument("--pause", type=float, default=0.0)
    given = options.parse_args()
    torch.set_num_threads(1)
    learn = train_altitude if given.network == "altitude" else train_place

    def tell(step: StepReport) -> None:
        print(f"step {step.step} loss {step.loss!r}", flush=True)
        time.sleep(given.pause)

    with process_group(torch.device("cpu")) as ranks:
        done = learn(texture(), recipe(given), folder=given.folder, resume=given.resume, report=tell)
        if ranks.first:
            state = done.network.state_dict()
            digest = hashlib.sha256(b"".join(state[k].numpy().tobytes() for k in sorted(state)))
            print(f"weights {digest.hexdigest()}", flush=True)


if __name__ == "__main__":
    main()
