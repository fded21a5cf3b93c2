"""One thing changed at a time: the rows of the accuracy page that need a training run of their own.

python bench/rows.py --place mine --real DIR --views DIR --weights FOLDER --out DIR --rows all --at-once 6

``--real`` holds textures NAME_old.ntx and NAME_new.ntx (or NAME.ntx where there is one date), ``--views`` the
fixed views NAME_views.csv. Each row is a process with a log of its own; photos are taken once and shared; a
row's result is written as soon as it is there, and packed with the others into one file, so that a run
that is cut off loses only what is unfinished. Budgets are steps, the same for every row of a kind unless it
is about steps, so that sharing the GPU changes nothing but the time. Altitude rows train the altitude network
alone, place rows the place network alone, measured with the altitude known and without any.

Rows named try-… are for choosing settings: they are measured on views of a seed of our own and not on the
fixed ones; ``--chosen`` measures there what was chosen (``bench/halves.py``), with a seed in its name.
Needs no GDAL and no FAISS.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path

import numpy as np
import torch
from beside import other_places, train_beside
from changes import CHANGES
from places import MEASURED
from pretrain import teller
from published import told
from record import record, say, write_csv
from rows_known import KNOWN, SETS, Row
from shots import (
    SHOWN_SHARE,
    altitude_scores,
    decoded,
    embed_photos,
    kept_photos,
    own_views,
    pack,
    read_views,
    soft_m,
)  # fmt: skip
from trained import describe_references, named_rightly, recalled, top_cells

from nadirfix.altitude.bins import AltitudeBins, canonical_altitude_m
from nadirfix.geo.texture import Texture
from nadirfix.geo.views import Views
from nadirfix.options.recipe import NetworkOptions, Recipe, load_recipe
from nadirfix.options.training import TrainOptions
from nadirfix.train.altitude import train_altitude
from nadirfix.train.contrastive import DatedMap, contrast_job
from nadirfix.train.data.device_renderer import DeviceTexture
from nadirfix.train.loop import train
from nadirfix.train.models.embedder import Embedder, seeded
from nadirfix.train.models.weights import load_encoder
from nadirfix.train.place import place_sampler, train_place

OWN_COUNT = 200
OWN_ALTITUDES_M = {**MEASURED, "desert": (100.0, 700.0), "campus": (100.0, 250.0)}
SMALL = {"mix_blocks": 2, "mix_channels": 64}  # with the small encoder, to try the command without a GPU


def main() -> None:
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    names = [name for asked in given.rows for name in SETS.get(asked, [asked])]
    if given.alone:
        one_row(names[0], given)
        return
    for kind in sorted({shown(KNOWN[name], given) for name in names}):
        taken(kind, given)  # once, before the rows ask for them
    failed = [] if given.take else run_all(alternated(names), given)
    if failed:
        raise SystemExit(f"{', '.join(failed)} failed: their logs in {given.out} say why")


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--place", choices=["mine", "town", "desert", "campus", "world2000"], required=True)
    options.add_argument("--real", type=Path, required=True)
    options.add_argument("--views", type=Path, required=True)
    options.add_argument("--weights", required=True, help="folder or name of ImageNet weights")
    options.add_argument("--altitude-start", default="", help="embedder of other places (safetensors)")
    options.add_argument("--place-start", default="", help="folder of an encoder of other places")
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--cache", type=Path, help="folder where photos are kept; OUT/photos")
    options.add_argument("--pack", type=Path, help="file all results and logs go into; OUT/rows.tgz")
    options.add_argument("--rows", nargs="+", default=["all"], choices=[*SETS, *KNOWN])
    options.add_argument("--at-once", type=int, default=6)
    options.add_argument("--chosen", action="store_true", help="trials that were chosen, on the fixed views")
    options.add_argument("--take", action="store_true", help="take the photos, and no more")
    options.add_argument("--alone", action="store_true", help="the one row, in this process")
    options.add_argument("--altitude-steps", type=int, default=300)
    options.add_argument("--place-steps", type=int, default=600)
    options.add_argument("--batch", type=int, default=128, help="pictures of a step")
    options.add_argument("--altitude-batch", type=int, default=0, help="another one for the altitudes")
    options.add_argument("--limit", type=int, default=0, help="only so many photos")
    options.add_argument("--small", action="store_true", help="the small encoder: to try this command")
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    given.cache, given.pack = given.cache or given.out / "photos", given.pack or given.out / "rows.tgz"
    return given


def alternated(names: list[str]) -> list[str]:
    """Altitude rows and place rows in turns: the former need most of a GPU's memory."""
    high = [name for name in names if KNOWN[name].trains == "altitude"]
    low = [name for name in names if name not in high]
    return [name for pair in zip_longest(high, low) for name in pair if name]


def run_all(names: list[str], given: argparse.Namespace) -> list[str]:
    """So many rows at once, each in a process; which of them failed."""
    waiting, running, failed = list(names), {}, []
    while waiting or running:
        while waiting and len(running) < given.at_once:
            name = waiting.pop(0)
            running[name] = started(name, given)
            say(f"{name} begins, {len(waiting)} wait")
        for name in [name for name, process in running.items() if process.poll() is not None]:
            wrong = running.pop(name).returncode
            failed += [name] if wrong else []
            say(f"{name} {'FAILED' if wrong else 'done'}")
            pack(given.out, "chosen_*" if given.chosen else "rows_*", given.pack)
        time.sleep(0.2)
    return failed


def started(name: str, given: argparse.Namespace) -> subprocess.Popen:
    words = sys.argv[1:]
    if "--rows" in words:
        at = words.index("--rows")
        words = words[:at] + words[at + 1 + len(given.rows) :]
    command = [sys.executable, __file__, *words, "--rows", name, "--alone"]
    with (given.out / f"{called(name, given)}.log").open("w") as log:
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)


def one_row(name: str, given: argparse.Namespace) -> None:
    row, began = KNOWN[name], time.monotonic()
    given.beside = row.beside
    recipe = make_recipe(row, given)
    texture = Texture.load(dated(given)[0])
    source = DeviceTexture(texture, given.device)
    photos, views = taken(shown(row, given), given)
    say(f"{name}: {row.said}; {len(photos)} photos after {time.monotonic() - began:.0f} s")
    measure = MEASURES[row.trains]
    found, lines = measure(source, photos, views, recipe, given)
    batch = altitude_batch(given) if row.trains == "altitude" else given.batch
    settings = {**dataclasses.asdict(row), "steps": steps_of(row, given), "batch": batch}
    result = {"seed": given.seed, "place": given.place, "row": name, "photos": len(photos)}
    result |= {"settings": settings, **found, "seconds": time.monotonic() - began}
    say(json.dumps(found))
    write_csv(given.out / f"{called(name, given)}.csv", lines)
    record(called(name, given), result, given.out)  # last: whose result is there, is done


def called(name: str, given: argparse.Namespace) -> str:
    """What a row's results are called."""
    return f"chosen_{given.place}_{name}_s{given.seed}" if given.chosen else f"rows_{given.place}_{name}"


def shown(row: Row, given: argparse.Namespace) -> str:
    """The photos a row is measured on."""
    return "fixed" if given.chosen else row.views


def steps_of(row: Row, given: argparse.Namespace) -> int:
    """The row's own number of steps, or as many as all of its kind have; with ``--small`` always those."""
    own = 0 if given.small else row.steps
    return own or (given.altitude_steps if row.trains == "altitude" else given.place_steps)


def altitude_batch(given: argparse.Namespace) -> int:
    return given.altitude_batch or given.batch


def dated(given: argparse.Namespace) -> tuple[Path, Path]:
    """Textures of the older and the newer date; where there is one, it is both."""
    alone = given.real / f"{given.place}.ntx"
    if alone.exists():
        return alone, alone
    return given.real / f"{given.place}_old.ntx", given.real / f"{given.place}_new.ntx"


def taken(kind: str, given: argparse.Namespace) -> tuple[list[np.ndarray], Views]:
    """The photos of the fixed views, or of views of our own."""
    source, paper = DeviceTexture(Texture.load(dated(given)[1]), given.device), load_recipe("paper")
    if kind == "own":
        views = own_views(source, paper, OWN_ALTITUDES_M[given.place], given.limit or OWN_COUNT)
    else:
        views = read_views(given.views / f"{given.place}_views.csv", source.texture.epsg, given.limit)
    given.cache.mkdir(parents=True, exist_ok=True)
    return kept_photos(given.cache, f"{dated(given)[1].stem}-{kind}", source, views, paper), views


def make_recipe(row: Row, given: argparse.Namespace) -> Recipe:
    """The published recipe with this row's change, within its budget."""
    paper = load_recipe("paper")
    encoder, more = ("small", SMALL) if given.small else (row.encoder, {})
    weights, start = started_from(row, given)
    network = NetworkOptions(encoder=encoder, weights=weights, **more)
    high = dataclasses.replace(
        network, input=row.input, intensity=row.intensity, width_px=448, height_px=336, start=start
    )
    usual = TrainOptions(
        schedule="budget", batch=given.batch, extractor_rate=row.rate, classifier_rate=3e-3, seed=given.seed,
        validation_views=64 if given.small else 512, freeze_norm=row.freeze_norm,
    )  # fmt: skip
    pictures = given.batch // 2 if row.trains == "contrast" else given.batch  # its pictures come in pairs
    steps = steps_of(row, given)
    grouped = {"budget_steps": steps, "steps_per_epoch": 1, "imprint_views": row.imprint}
    return dataclasses.replace(
        paper, seed=given.seed, bins=row.bins, head=row.head, altitude_network=high, place_network=network,
        augment=CHANGES[row.changes]["altitude" if row.trains == "altitude" else "place"],
        altitude_training=dataclasses.replace(
            usual, batch=altitude_batch(given), budget_steps=steps, altitude_step_m=0.0,
            valid_share=SHOWN_SHARE,
        ),
        place_training=dataclasses.replace(usual, batch=pictures, **grouped),
    )  # fmt: skip


def started_from(row: Row, given: argparse.Namespace) -> tuple[str, str]:
    """The encoder's weights a row begins with, and the whole embedder for altitudes, if any."""
    if row.start == "random" or given.small:
        return "random", ""
    if row.start != "other places":
        return given.weights, ""
    option = "altitude_start" if row.trains == "altitude" else "place_start"
    if not (begun := getattr(given, option)):
        raise SystemExit(f"rows that start from other places need --{option.replace('_', '-')}")
    return (given.weights, begun) if row.trains == "altitude" else (begun, "")


def altitudes(source: DeviceTexture, photos: list, views: Views, recipe: Recipe, given) -> tuple[dict, list]:
    """How well the altitude is told, trained on the map."""
    device = given.device
    if given.beside:
        trained = train_beside(source, other_places(given.real, given.place), recipe, teller())
    else:
        trained = train_altitude(source.texture, recipe, device=device, on_device=source, report=teller())
    scores = altitude_scores(trained.network, photos, recipe.altitude_network, recipe, device)
    hard, soft = trained.bins.centers_m[scores.argmax(1)], soft_m(scores, trained.bins)
    known = zip(views.altitude_m.tolist(), hard.tolist(), soft.round(1).tolist(), strict=True)
    lines = [{"photo": i, "altitude_m": t, "hard_m": h, "soft_m": s} for i, (t, h, s) in enumerate(known)]
    found = decoded(scores, views.altitude_m, trained.bins) | told(trained.report)
    return {"altitude": found | {"classes": len(trained.bins)}}, lines


def places(source: DeviceTexture, photos: list, views: Views, recipe: Recipe, given) -> tuple[dict, list]:
    """How well places are found by cells and references, trained on the map."""
    trained = train_place(source.texture, recipe, device=given.device, on_device=source, report=teller())
    grid = place_sampler(source.texture, recipe).grid

    def cells(raw: torch.Tensor) -> tuple[np.ndarray, dict]:
        likely = top_cells(trained, raw, recipe)
        return likely, named_rightly(likely, views, grid)

    found, lines = searched(trained.network, source, photos, views, recipe=recipe, cells=cells)
    return {"training": told(trained.report) | {"cells": len(trained.order)}, **found}, lines


def contrasts(source: DeviceTexture, photos: list, views: Views, recipe: Recipe, given) -> tuple[dict, list]:
    """The same by descriptors alone, learned by contrast between views of the map."""
    with seeded(given.seed):
        encoder, weights = load_encoder(recipe.place_network)
        network = Embedder(encoder, recipe.place_network, weights)
    altitude_m = canonical_altitude_m(recipe.references, AltitudeBins.from_options(recipe.bins))
    job = contrast_job(DatedMap((source,)), recipe, network, altitude_m=altitude_m)
    report = train(job, recipe.place_training, device=given.device, report=teller())
    found, lines = searched(network.eval(), source, photos, views, recipe=recipe, cells=None)
    return {"training": told(report), **found}, lines


def searched(
    network, source: DeviceTexture, photos: list, views: Views, *, recipe: Recipe, cells: Callable | None
) -> tuple[dict, list[dict]]:
    """What comes of the photos with their true altitude and without any."""
    known = describe_references(source, network, place_sampler(source.texture, recipe).grid, recipe)
    results, lines = {"references": len(known.views)}, []
    for name, known_m in {"true": views.altitude_m, "none": None}.items():
        raw = embed_photos(network, photos, known_m, recipe, str(source.device))
        likely, right = cells(raw) if cells else (None, {})
        found, rows = recalled(raw, views, known, likely)
        results[f"place_{name}_altitude"] = right | found
        base = [
            {"photo": i, "altitude_m": float(h), "altitude": name} for i, h in enumerate(views.altitude_m)
        ]
        lines += [{**one, **row} for one, row in zip(base, rows, strict=True)]
    return results, lines


MEASURES = {"altitude": altitudes, "place": places, "contrast": contrasts}


if __name__ == "__main__":
    main()
