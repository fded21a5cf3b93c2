"""One thing changed at a time: the rows of the accuracy page that need a training run of their own.

python -m bench.training.ablations --place mine --real DIR --views DIR --weights FOLDER --out DIR
    --rows all --at-once 6

``--real`` holds textures NAME_old.ntx and NAME_new.ntx (or NAME.ntx where there is one date), ``--views`` the
fixed views NAME_views.csv. Each row is a process with a log of its own; photos are taken once and shared; a
row's result is written as soon as it is there, and packed with the others into one file, so that a run
that is cut off loses only what is unfinished. Budgets are steps, the same for every row of a kind unless it
is about steps, so that sharing the GPU changes nothing but the time. Altitude rows train the altitude network
alone, place rows the place network alone, measured with the altitude known and without any.

Rows named try-… are for choosing settings: they are measured on views of a seed of our own and not on the
fixed ones; ``--chosen`` measures there what was chosen (``bench/training/cross_validation.py``), with a seed
in its name. Needs no GDAL and no FAISS.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
import time
from itertools import zip_longest
from pathlib import Path

import numpy as np
import torch

from bench.lib.ablation_list import KNOWN, SETS, Row
from bench.lib.ablation_runs import altitudes, contrasts, places
from bench.lib.augmentations import CHANGES
from bench.lib.photos import (
    VALID_SHARE,
    kept_photos,
    own_views,
    pack,
    read_views,
)  # fmt: skip
from bench.lib.record import record, say, write_csv
from bench.training.many_places import MEASURED
from nadirfix.geo.texture import Texture
from nadirfix.geo.views import Views
from nadirfix.options.recipe import NetworkOptions, Recipe, load_recipe
from nadirfix.options.training import TrainOptions
from nadirfix.train.data.device_renderer import DeviceRenderer

OWN_COUNT = 200
OWN_ALTITUDES_M = {**MEASURED, "desert": (100.0, 700.0), "campus": (100.0, 250.0)}
SMALL = {"mix_blocks": 2, "mix_channels": 64}  # with the small encoder, to try the command without a GPU


def main() -> None:
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    names = [name for group in given.rows for name in SETS.get(group, [group])]
    if given.alone:
        one_row(names[0], given)
        return
    for kind in sorted({views_of(KNOWN[name], given) for name in names}):
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
            pack(given.out, "chosen_*" if given.chosen else "ablations_*", given.pack)
        time.sleep(0.2)
    return failed


def started(name: str, given: argparse.Namespace) -> subprocess.Popen:
    words = sys.argv[1:]
    if "--rows" in words:
        at = words.index("--rows")
        words = words[:at] + words[at + 1 + len(given.rows) :]
    command = [sys.executable, "-m", __spec__.name, *words, "--rows", name, "--alone"]
    with (given.out / f"{called(name, given)}.log").open("w") as log:
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)


def one_row(name: str, given: argparse.Namespace) -> None:
    row, began = KNOWN[name], time.monotonic()
    given.joint = row.joint
    recipe = make_recipe(row, given)
    texture = Texture.load(dated(given)[0])
    source = DeviceRenderer(texture, given.device)
    photos, views = taken(views_of(row, given), given)
    say(f"{name}: {row.label}; {len(photos)} photos after {time.monotonic() - began:.0f} s")
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
    return f"chosen_{given.place}_{name}_s{given.seed}" if given.chosen else f"ablations_{given.place}_{name}"


def views_of(row: Row, given: argparse.Namespace) -> str:
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
    source, paper = DeviceRenderer(Texture.load(dated(given)[1]), given.device), load_recipe("paper")
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
            valid_share=VALID_SHARE,
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


MEASURES = {"altitude": altitudes, "place": places, "contrast": contrasts}


if __name__ == "__main__":
    main()
