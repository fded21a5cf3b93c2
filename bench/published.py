"""The method as published, trained on one map in a few minutes, measured on photos of another date.

python bench/published.py --map OLD --photos NEW --views VIEWS.csv --weights FOLDER --out DIR

ResNet-50 to stage 3 and MixVPR for both networks, one central crop, three cells, weighted coordinate. Maps
and photos are textures (``nadirfix.geo.pack``). Needs no GDAL and no FAISS.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import json
import time
from pathlib import Path

import numpy as np
import torch
from places import ALTITUDE_CHANGES
from pretrain import teller
from record import record
from safetensors.torch import save_file
from shots import (
    CHUNK,
    altitude_scores,
    decoded,
    embed_photos,
    half,
    placed,
    read_views,
    summary,
    take_photos,
)

from nadirfix.altitude.bins import AltitudeBins, canonical_altitude_m
from nadirfix.altitude.train import TrainedAltitude, train_altitude
from nadirfix.geo.texture import Texture
from nadirfix.nn.ground import Ground
from nadirfix.nn.render import DeviceTexture
from nadirfix.nn.views import Views
from nadirfix.options import NetworkOptions, Recipe, TrainOptions, load_recipe
from nadirfix.place.classify import CellVoter
from nadirfix.place.train import TrainedPlace, place_sampler, train_place
from nadirfix.place.views import lattice_places


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
    results = {"seed": given.seed, "views": len(views), "batch": given.batch, "start": given.start_said}
    results["sharp_above_m"] = altitude["spectrum"].sharp_altitude_m
    named_m, lines = {"true": views.altitude_m, "none": None}, []
    for kind, trained in altitude.items():
        options = recipe_for(recipe, kind).altitude_network
        scores = altitude_scores(trained.network, photos, options, recipe, given.device)
        results[f"altitude_{kind}"] = decoded(scores, views.altitude_m, trained.bins) | told(trained.report)
        say(f"altitude {kind}: {results[f'altitude_{kind}']}")
        named_m.setdefault("estimated", trained.bins.centers_m[scores.argmax(1)])
    results["place"] = told(place.report) | {"cells": len(place.order)}
    references = describe_references(old, source, place, recipe, given)
    for name, known_m in named_m.items():
        raw = embed_photos(place.network, photos, known_m, recipe, given.device)
        found, rows = recalled(place, raw, views, references, recipe, texture=old)
        results[f"place_{name}_altitude"] = found
        lines += [{"photo": i, "altitude": name, **row} for i, row in enumerate(rows)]
        say(f"place, {name} altitude: {json.dumps(found)}")
    results["seconds"] = time.monotonic() - began
    keep(given, altitude["spectrum"], place)
    record(f"published_{given.name}", results, given.out)
    write_csv(given.out / f"published_{given.name}.csv", lines, named_m["estimated"])


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--map", type=Path, required=True)
    options.add_argument("--photos", type=Path, required=True)
    options.add_argument("--views", type=Path, required=True)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--name", required=True)
    options.add_argument("--weights", required=True, help="folder or name of ImageNet weights")
    options.add_argument("--encoder", default="resnet50-stage3", help="of the place network")
    options.add_argument("--place-weights", default="", help="where the place network starts elsewhere")
    options.add_argument("--altitude-start", default="", help="altitude embedder to go on from (safetensors)")
    options.add_argument("--start-said", default="ImageNet", help="what the results say about the start")
    options.add_argument("--altitude-seconds", type=float, default=90.0)
    options.add_argument("--place-seconds", type=float, default=180.0)
    options.add_argument("--soften", type=float, default=0.0, help="altitude: blur as of other lenses, px")
    options.add_argument("--inputs", nargs="+", default=["spectrum"], help="spectrum first, then pixels")
    options.add_argument("--batch", type=int, default=128)
    options.add_argument("--extractor-rate", type=float, default=3e-4)
    options.add_argument("--altitude-rate", type=float, default=3e-4)
    options.add_argument("--classifier-rate", type=float, default=3e-3)
    options.add_argument("--limit", type=int, default=0, help="only so many photos")
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--seed", type=int, default=0)
    return options.parse_args()


def make_recipe(given: argparse.Namespace) -> Recipe:
    paper = load_recipe("paper")

    def budget(seconds: float, rate: float, **more: float) -> TrainOptions:
        return TrainOptions(
            schedule="budget", budget_s=seconds, batch=given.batch, extractor_rate=rate,
            classifier_rate=given.classifier_rate, seed=given.seed, **more,
        )  # fmt: skip

    altitude = dataclasses.replace(
        paper.altitude_network, encoder="resnet50-stage3", weights=given.weights, start=given.altitude_start
    )
    return dataclasses.replace(
        paper,
        seed=given.seed,
        altitude_network=altitude,
        place_network=NetworkOptions(encoder=given.encoder, weights=given.place_weights or given.weights),
        altitude_training=budget(given.altitude_seconds, given.altitude_rate, altitude_step_m=0.0),
        place_training=budget(given.place_seconds, given.extractor_rate, steps_per_epoch=1),
    )


def recipe_for(recipe: Recipe, kind: str, soften_px: float = 0.0) -> Recipe:
    """The recipe as the altitude network of this input is trained with."""
    network = dataclasses.replace(recipe.altitude_network, input=kind)
    changes = dataclasses.replace(ALTITUDE_CHANGES, soften_px=soften_px)
    return dataclasses.replace(recipe, altitude_network=network, augment=changes)


def learn_altitudes(
    texture: Texture, source: DeviceTexture, recipe: Recipe, given: argparse.Namespace
) -> dict[str, TrainedAltitude]:
    found = {}
    for kind in given.inputs:
        special = recipe_for(recipe, kind, given.soften)
        found[kind] = train_altitude(texture, special, device=given.device, on_device=source, report=teller())
        say(f"altitude from {kind}: {found[kind].report}")
    return found


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
def recalled(
    place: TrainedPlace, raw: torch.Tensor, views: Views, references, recipe: Recipe, *, texture: Texture
) -> tuple[dict, list[dict]]:
    """Cells named rightly; recall and the weighted coordinate in three cells, and in all."""
    grid, (known, where) = place_sampler(texture, recipe).grid, references
    likely, truth = top_cells(place, raw, recipe), grid.cells_of(views.east_m, views.north_m)
    alike = torch.nn.functional.normalize(raw, dim=1) @ known.T
    owner = grid.cells_of(where.east_m, where.north_m)
    inside = (owner[None, None] == likely[:, :3, None]).all(-1).any(1)
    narrowed = alike.masked_fill(~torch.from_numpy(inside).to(alike.device), -9.0)
    found = {
        "cell_accuracy": round(100 * float((likely[:, 0] == truth).all(1).mean()), 1),
        "cell_in_top3": round(100 * float((likely[:, :3] == truth[:, None]).all(2).any(1).mean()), 1),
    }
    rows = placed(narrowed, where, views, texture.epsg)
    found["three_cells"] = summary(rows)
    found["all_cells"] = summary(placed(alike, where, views, texture.epsg))
    return found, rows


def top_cells(place: TrainedPlace, raw: torch.Tensor, recipe: Recipe) -> np.ndarray:
    """The five likeliest cells of every view, ranked as ``locate`` ranks them."""
    prototypes = [p.detach().float().cpu().numpy() for p in place.network.heads.prototypes]
    voter = CellVoter(prototypes, place.order, recipe.head)
    return np.stack([voter.top(row, 5).cells for row in raw.float().cpu().numpy()])


def keep(given: argparse.Namespace, altitude: TrainedAltitude, place: TrainedPlace) -> None:
    """The trained networks whole, classes and cells included, for what is measured with them elsewhere."""
    for name, network in (("altitude", altitude.network), ("place", place.network)):
        halves = {key: value.half().contiguous().cpu() for key, value in network.state_dict().items()}
        save_file(halves, given.out / f"published_{given.name}-{name}.safetensors")


def told(report) -> dict[str, float]:
    rest = {f"held_out_{k}": v for k, v in report.validation.items()}
    return {"steps": report.steps, "training_s": report.seconds, "loss": report.loss, **rest}


def write_csv(path: Path, lines: list[dict], estimated_m: np.ndarray) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, [*lines[0], "estimated_m"])
        out.writeheader()
        for line in lines:
            flags = {k: int(v) if isinstance(v, bool) else v for k, v in line.items()}
            out.writerow({**flags, "estimated_m": float(estimated_m[line["photo"]])})


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
