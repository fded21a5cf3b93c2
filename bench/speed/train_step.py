"""How much of a training step is rendering and augmentation, and how many views a second a device renders.

python -m bench.speed.train_step [--texture FILE] [--weights FOLDER] [--device cuda] [--batch 256] [--out DIR]

Without a texture, ground of detail at every scale is made: 2.4 km at 0.3 m, as large as a small drone map.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
import torch

from bench.lib.record import record
from nadirfix.geo.texture import Texture
from nadirfix.options.recipe import load_recipe
from nadirfix.options.training import TrainOptions
from nadirfix.train.data.device_renderer import DeviceRenderer
from nadirfix.train.models.place import build_place_network
from nadirfix.train.place import place_job, place_sampler


def main() -> None:
    given = arguments()
    device = torch.device(given.device)
    texture = Texture.load(given.texture) if given.texture else made_ground()
    source = DeviceRenderer(texture, device)
    recipe = load_recipe("standard")
    recipe = dataclasses.replace(
        recipe,
        place_network=dataclasses.replace(recipe.place_network, weights=given.weights, encoder=given.encoder),
        place_training=TrainOptions(schedule="budget", budget_steps=1, batch=given.batch),
    )
    sampler = place_sampler(texture, recipe)
    order = sampler.order()
    sampler.use(order)
    network, _ = build_place_network(recipe.place_network, recipe.head, order, seed=0)
    job = place_job(recipe, network, sampler, source, {})
    found = {
        "encoder": given.encoder,
        "batch": given.batch,
        "size_px": [recipe.place_network.width_px, recipe.place_network.height_px],
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "map_px": list(texture.size_px),
        "seed": 0,
        **step_shares(job, given, device),
        "views_per_s": round(views_per_s(source, sampler, recipe, given, device)),
    }
    print(json.dumps(found, indent=2))
    if given.out:
        record("train_step", found, given.out)


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--texture", type=Path)
    options.add_argument(
        "--weights", default="random", help="folder of encoder weights; speed does not depend on it"
    )
    options.add_argument("--encoder", default="resnet50-stage3")
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--batch", type=int, default=256)
    options.add_argument("--steps", type=int, default=20)
    options.add_argument("--out", type=Path)
    return options.parse_args()


def made_ground(size_px: int = 8000, gsd_m: float = 0.3) -> Texture:
    rng, total = np.random.default_rng(0), np.zeros((size_px, size_px, 3), np.float32)
    for octave in range(0, 10):
        coarse = rng.normal(0, 1, (size_px >> octave, size_px >> octave, 3)).astype(np.float32)
        total += 1.6**octave * cv2.resize(coarse, (size_px, size_px), interpolation=cv2.INTER_LINEAR)
    pixels = np.clip(128 + 45 * total / total.std(), 0, 255).astype(np.uint8)
    return Texture.from_array(pixels, None, affine=(gsd_m, 0.0, 5e5, 0.0, -gsd_m, 5e6), epsg=32633)


class Clock:
    """Marks in the device's own time."""

    def __init__(self, device: torch.device) -> None:
        self.cuda, self.marks = device.type == "cuda", []

    def mark(self) -> None:
        if not self.cuda:
            self.marks.append(time.perf_counter())
            return
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        self.marks.append(event)

    def parts_ms(self) -> list[float]:
        if not self.cuda:
            return [1e3 * (b - a) for a, b in pairwise(self.marks)]
        torch.cuda.synchronize()
        return [a.elapsed_time(b) for a, b in pairwise(self.marks)]


def step_shares(job, given: argparse.Namespace, device: torch.device) -> dict:
    """One step after another as the loop does them; the first few warm up and are left out."""
    module = job.loss.to(device)
    if device.type == "cuda":
        module = module.to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(module.parameters(), lr=1e-5)
    module.train()
    clock, warm_up = Clock(device), 5 if device.type == "cuda" else 1
    for step in range(given.steps + warm_up):
        if step == warm_up:
            torch.cuda.synchronize() if device.type == "cuda" else None
            clock.marks, began = [], time.perf_counter()
            clock.mark()
        batch = job.batch(step, step, slice(0, given.batch))
        clock.mark()
        learn(module, optimizer, batch, device)
        clock.mark()
    parts = clock.parts_ms()
    wall_s = time.perf_counter() - began
    making, learning = statistics.median(parts[0::2]), statistics.median(parts[1::2])
    return {
        "render_and_augment_ms": round(making, 2),
        "network_ms": round(learning, 2),
        "render_and_augment_share": round(making / (making + learning), 4),
        "images_per_s": round(given.steps * given.batch / wall_s, 1),
    }


def learn(module, optimizer, batch, device: torch.device) -> None:
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
        loss = module(*batch)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
    optimizer.step()


def views_per_s(
    source: DeviceRenderer, sampler, recipe, given: argparse.Namespace, device: torch.device
) -> float:
    size = (recipe.place_network.width_px, recipe.place_network.height_px)
    views, _ = sampler.draw(np.arange(given.batch), 0)
    draw: Callable[[], object] = lambda: source.render_covered(views, recipe.camera, size, reduced=True)  # noqa: E731
    draw()
    clock, rounds = Clock(device), 10 if device.type == "cuda" else 2
    clock.mark()
    for _ in range(rounds):
        draw()
    clock.mark()
    return rounds * given.batch / (clock.parts_ms()[0] / 1e3)


if __name__ == "__main__":
    main()
