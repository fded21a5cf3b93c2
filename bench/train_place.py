"""Both networks trained on one map in a few minutes, measured on photos of another date.

python bench/train_place.py --map OLD --photos NEW --views VIEWS.csv --weights FOLDER --out DIR

Photos are rendered at the full camera from the other date's texture and go the way real ones go: reduced for
the altitude network, cropped to the canonical scale for the place network. Needs no GDAL and no FAISS.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cv2
import numpy as np
import torch
from record import record

from nadirfix.altitude.bins import AltitudeBins, canonical_altitude_m
from nadirfix.altitude.train import TrainedAltitude, altitude_errors, altitude_input, train_altitude
from nadirfix.geo.texture import Texture
from nadirfix.image.crop import Canonical, canonical_crop, network_frame
from nadirfix.nn.ground import Ground
from nadirfix.nn.loop import StepReport
from nadirfix.nn.render import DeviceTexture
from nadirfix.nn.views import Views
from nadirfix.options import NetworkOptions, Recipe, SimulateOptions, TrainOptions, load_recipe
from nadirfix.place.classify import CellVoter
from nadirfix.place.train import TrainedPlace, place_sampler, train_place
from nadirfix.place.views import lattice_places

CHUNK = 128
PIECE_BYTES = 15 << 20


def main() -> None:
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    recipe, began = make_recipe(given), time.monotonic()
    old, new = Texture.load(given.map), Texture.load(given.photos)
    source = DeviceTexture(old, given.device)
    say(f"map {old.size_px} at {old.gsd_m:.2f} m on {given.device}")
    altitude = learn_altitudes(old, source, recipe, given)
    place = train_place(old, recipe, device=given.device, on_device=source, report=teller())
    say(f"place: {place.report}")
    views = read_views(given.views, new.epsg, given.limit)
    photos = take_photos(DeviceTexture(new, given.device), views, recipe)
    say(f"{len(photos)} photos after {time.monotonic() - began:.0f} s")
    results = {"seed": given.seed, "recipe": given.recipe, "views": len(views), "batch": given.batch}
    results["sharp_above_m"] = altitude["spectrum"].sharp_altitude_m
    for kind, trained in altitude.items():
        scores = altitude_scores(trained, photos, recipe_for(recipe, kind), given)
        results[f"altitude_{kind}"] = {**measured(trained, scores, views), **told(trained.report)}
        say(f"altitude {kind}: {results[f'altitude_{kind}']}")
        if kind == "spectrum":
            named_m = trained.bins.centers_m[scores.argmax(1)]
    altitudes = {"true": views.altitude_m, "estimated": named_m, "none": None}
    results["place"] = told(place.report) | {"cells": len(place.order)}
    references = describe_references(old, source, place, recipe, given)
    grid = place_sampler(old, recipe).grid
    for name, known_m in altitudes.items():
        raw = embed_photos(place, photos, known_m, recipe, given)
        results[f"place_{name}_altitude"] = recall(place, raw, views, references, recipe, grid=grid)
        say(f"place, {name} altitude: {results[f'place_{name}_altitude']}")
    results["seconds"] = time.monotonic() - began
    print(json.dumps(results, indent=2), flush=True)
    record(f"train_{given.name}", results, given.out)
    for name, network in (("altitude", altitude["spectrum"].network), ("place", place.network)):
        save_pieces(network.state_dict(), given.out, name)


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--map", type=Path, required=True)
    options.add_argument("--photos", type=Path, required=True)
    options.add_argument("--views", type=Path, required=True)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--name", default="mine")
    options.add_argument("--recipe", default="standard")
    options.add_argument("--weights", default="", help="folder of encoder weights; empty: the recipe's own")
    options.add_argument("--altitude-seconds", type=float, default=60.0)
    options.add_argument("--place-seconds", type=float, default=180.0)
    options.add_argument("--inputs", nargs="+", default=["spectrum", "pixels"])
    options.add_argument("--batch", type=int, default=128)
    options.add_argument("--extractor-rate", type=float, default=3e-4)
    options.add_argument("--classifier-rate", type=float, default=3e-3)
    options.add_argument("--limit", type=int, default=0, help="only so many photos")
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--seed", type=int, default=0)
    return options.parse_args()


def make_recipe(given: argparse.Namespace) -> Recipe:
    recipe = load_recipe(given.recipe)

    def network(options: NetworkOptions) -> NetworkOptions:
        return dataclasses.replace(options, weights=given.weights or options.weights)

    def budget(seconds: float, **more: float) -> TrainOptions:
        return TrainOptions(
            schedule="budget", budget_s=seconds, batch=given.batch, extractor_rate=given.extractor_rate,
            classifier_rate=given.classifier_rate, seed=given.seed, **more,
        )  # fmt: skip

    return dataclasses.replace(
        recipe,
        seed=given.seed,
        altitude_network=network(recipe.altitude_network),
        place_network=network(recipe.place_network),
        altitude_training=budget(given.altitude_seconds, altitude_step_m=0.0),
        place_training=budget(given.place_seconds, steps_per_epoch=1),
    )


def recipe_for(recipe: Recipe, kind: str) -> Recipe:
    network = dataclasses.replace(recipe.altitude_network, input=kind)
    return dataclasses.replace(recipe, altitude_network=network)


def learn_altitudes(
    texture: Texture, source: DeviceTexture, recipe: Recipe, given: argparse.Namespace
) -> dict[str, TrainedAltitude]:
    found = {}
    for kind in given.inputs:
        special = recipe_for(recipe, kind)
        found[kind] = train_altitude(texture, special, device=given.device, on_device=source, report=teller())
        say(f"altitude from {kind}: {found[kind].report}")
    return found


def read_views(path: Path, epsg: int, limit: int) -> Views:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    rows = rows[:: max(1, len(rows) // limit)][:limit] if limit else rows
    if any(int(row["epsg"]) != epsg for row in rows):
        raise SystemExit(f"the views are not in EPSG:{epsg}, the photos' zone")
    names = ("easting_m", "northing_m", "altitude_m", "heading_deg")
    return Views.level(*(np.array([float(row[name]) for row in rows]) for name in names))


def take_photos(source: DeviceTexture, views: Views, recipe: Recipe) -> list[np.ndarray]:
    """Whole photos as bytes, with the noise and the JPEG that ``nadirfix simulate`` gives them."""
    size, photos = (recipe.camera.width_px, recipe.camera.height_px), []
    for i in range(len(views)):
        pixels, _ = source.render(views.take(slice(i, i + 1)), recipe.camera, size)
        photos.append(pixels[0].round().to(torch.uint8).permute(1, 2, 0).contiguous().cpu().numpy())
    return in_parallel(lambda i: degraded(photos[i], i), range(len(photos)))


def degraded(photo: np.ndarray, seed: int) -> np.ndarray:
    options = SimulateOptions()
    grain = np.random.default_rng(seed).normal(0.0, options.noise_levels, photo.shape).astype(np.float32)
    noisy = np.clip(np.rint(photo + grain), 0, 255).astype(np.uint8)
    packed = cv2.imencode(".jpg", noisy[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, options.jpeg_quality])[1]
    return np.ascontiguousarray(cv2.imdecode(packed, cv2.IMREAD_COLOR)[..., ::-1])


def in_parallel(work, jobs) -> list:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, jobs))


def batches(pictures: list[np.ndarray], device: str):
    for start in range(0, len(pictures), CHUNK):
        stack = np.stack(pictures[start : start + CHUNK])
        yield torch.from_numpy(stack).to(device).permute(0, 3, 1, 2).contiguous().float()


@torch.no_grad()
def altitude_scores(
    trained: TrainedAltitude, photos: list[np.ndarray], recipe: Recipe, given: argparse.Namespace
) -> torch.Tensor:
    network, camera = recipe.altitude_network, recipe.camera
    size = {"width_px": network.width_px, "height_px": network.height_px}
    frames = in_parallel(lambda photo: network_frame(photo, camera, camera, **size), photos)
    with half(given.device):
        scores = [trained.network(altitude_input(x, network)).float() for x in batches(frames, given.device)]
    return torch.cat(scores).cpu()


def measured(trained: TrainedAltitude, scores: torch.Tensor, views: Views) -> dict[str, float]:
    truth, centers = torch.from_numpy(views.altitude_m), torch.from_numpy(trained.bins.centers_m)
    return altitude_errors(scores, truth, centers)


def describe_references(
    texture: Texture, source: DeviceTexture, place: TrainedPlace, recipe: Recipe, given: argparse.Namespace
) -> tuple[torch.Tensor, Views]:
    references, network = recipe.references, recipe.place_network
    east, north = lattice_places(texture.bounds, references.stride_m)
    turns = np.arange(references.headings) * 360.0 / references.headings
    e, n, h = np.repeat(east, len(turns)), np.repeat(north, len(turns)), np.tile(turns, len(east))
    altitude_m = canonical_altitude_m(references, AltitudeBins.from_options(recipe.bins))
    views = Views.level(e, n, np.full(len(e), altitude_m), h)
    share = Ground(texture).valid_share(views, recipe.camera)
    views = views.take(share >= references.valid_share)
    size, found = (network.width_px, network.height_px), []
    with torch.no_grad(), half(given.device):
        for start in range(0, len(views), CHUNK):
            some = views.take(slice(start, start + CHUNK))
            pixels, _ = source.render(some, recipe.camera, size, reduced=True)
            found.append(place.network.describe(pixels).float())
    say(f"{len(views)} references")
    return torch.cat(found), views


@torch.no_grad()
def recall(place: TrainedPlace, raw: torch.Tensor, views: Views, references, recipe, *, grid) -> dict:
    """Cells named rightly, and recall within 100 m, among the three likeliest cells and among all."""
    likely = top_cells(place, raw, recipe)
    truth = grid.cells_of(views.east_m, views.north_m)
    known, where = references
    alike = torch.nn.functional.normalize(raw, dim=1) @ known.T
    away = np.hypot(where.east_m[None] - views.east_m[:, None], where.north_m[None] - views.north_m[:, None])
    owner = grid.cells_of(where.east_m, where.north_m)
    near_cells = (owner[None, None] == likely[:, :3, None]).all(-1).any(1)
    narrowed = alike.masked_fill(~torch.from_numpy(near_cells).to(alike.device), -9.0)
    found = {
        "cell_accuracy": 100 * float((likely[:, 0] == truth).all(1).mean()),
        "cell_in_top3": 100 * float((likely[:, :3] == truth[:, None]).all(2).any(1).mean()),
    }
    for name, scores in (("", narrowed), ("_all_cells", alike)):
        best = scores.topk(5).indices.cpu().numpy()
        near = np.take_along_axis(away, best, 1) < 100.0
        found |= {f"r1{name}": 100 * float(near[:, 0].mean()), f"r5{name}": 100 * float(near.any(1).mean())}
    return found


@torch.no_grad()
def embed_photos(place, photos, altitudes_m, recipe: Recipe, given) -> torch.Tensor:
    network, camera = recipe.place_network, recipe.camera
    size = {"width_px": network.width_px, "height_px": network.height_px}
    bins = AltitudeBins.from_options(recipe.bins)
    canonical = Canonical(camera, canonical_altitude_m(recipe.references, bins))

    def crop(i: int) -> np.ndarray:
        if altitudes_m is None:
            return network_frame(photos[i], camera, camera, **size)
        gsd_m = camera.gsd_m(float(altitudes_m[i]))
        return canonical_crop(photos[i], camera, gsd_m, canonical, **size).pixels

    crops = in_parallel(crop, range(len(photos)))
    with half(given.device):
        return torch.cat([place.network.embed(x).float() for x in batches(crops, given.device)])


def top_cells(place: TrainedPlace, raw: torch.Tensor, recipe: Recipe) -> np.ndarray:
    """The five likeliest cells of every view, ranked as ``locate`` ranks them."""
    prototypes = [p.detach().float().cpu().numpy() for p in place.network.heads.prototypes]
    voter = CellVoter(prototypes, place.order, recipe.head)
    return np.stack([voter.top(row, 5).cells for row in raw.float().cpu().numpy()])


def half(device: str):
    return torch.autocast("cuda", dtype=torch.bfloat16, enabled=device.startswith("cuda"))


def told(report) -> dict[str, float]:
    rest = {f"held_out_{k}": v for k, v in report.validation.items()}
    return {"steps": report.steps, "training_s": report.seconds, "loss": report.loss, **rest}


def teller(every_s: float = 10.0):
    last = [0.0]

    def tell(step: StepReport) -> None:
        if time.monotonic() - last[0] > every_s:
            last[0] = time.monotonic()
            say(f"{step.name} {step.elapsed_s:5.0f} s  step {step.step:6d}  loss {step.loss:.4f}"
                f"  {step.images_per_s:7.0f}/s  rate {step.extractor_rate:.2e}")  # fmt: skip

    return tell


def save_pieces(tensors: dict[str, torch.Tensor], folder: Path, name: str) -> None:
    """Weights in half precision, in files small enough to travel."""
    from safetensors.torch import save_file

    pieces: list[dict[str, torch.Tensor]] = [{}]
    room = PIECE_BYTES
    for key, value in tensors.items():
        kept = value.cpu().half().contiguous() if value.is_floating_point() else value.cpu().contiguous()
        size = kept.numel() * kept.element_size()
        if size > room and pieces[-1]:
            pieces, room = [*pieces, {}], PIECE_BYTES
        pieces[-1][key], room = kept, room - size
    for i, piece in enumerate(pieces):
        save_file(piece, folder / f"{name}-{i + 1}-of-{len(pieces)}.safetensors")


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
