"""A matcher of our own, learned from pairs of rendered views, beside XFeat on a place it has not seen.

python bench/worlds.py --out WORLDS --count 12
python bench/matcher.py --real DIR --worlds WORLDS --leave-out mine --xfeat matcher.onnx --out DIR
python bench/matcher.py --weights FILE.safetensors --export --name own --out DIR

``--real`` holds textures NAME_old.ntx and NAME_new.ntx (or NAME.ntx where there is one date), ``--worlds``
what bench/worlds.py made. ``--xfeat`` is the matcher of any bundle. Measured by bench/matcher_weigh.py with
views of a seed of its own, never the fixed ones. Runs on a GPU box; needs no GDAL, no FAISS.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
from matcher_weigh import MEASURED, weighed
from pretrain import teller
from record import commit, record

from nadirfix.geo.texture import Texture
from nadirfix.nn.embedder import seeded
from nadirfix.nn.export import export_network
from nadirfix.nn.host import ViewSource, source_on
from nadirfix.nn.loop import train
from nadirfix.nn.pairs import PairedGround
from nadirfix.nn.points import PointNetwork
from nadirfix.options import AugmentOptions, TrainOptions
from nadirfix.options_train import PairOptions
from nadirfix.options_verify import VerifyOptions
from nadirfix.output import atomic_file
from nadirfix.runtime import load_network
from nadirfix.runtime.network import Floats
from nadirfix.verify.features import XFeatDetector
from nadirfix.verify.learn import point_job

CHANGES = AugmentOptions(
    colour=0.45, tint=0.35, haze=0.45, blur=0.8, soften_px=1.0, noise_levels=6.0, jpeg=0.4, shadow=0.4,
    patches=0.08,
)  # fmt: skip
#: Places that look softer than their pixels are: the size of the smallest thing seen, in metres.
SOFT_M = {"desert": 1.0}
#: Places whose dates lie apart by more than a pixel: across them places are learned only if settled.
APART = ("town",)
SIDE_STEP_PX = 32


def main() -> None:
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    if given.export:
        exported(given)
    else:
        learned_and_compared(given)


def learned_and_compared(given: argparse.Namespace) -> None:
    maps = load_maps(given)
    taught = {n: m for n, m in maps.items() if n not in given.leave_out and not n.startswith("world2")}
    network, told = learned(taught, given)
    for name in [n for n in maps if n in given.measure or (not given.measure and n not in taught)]:
        told[name] = {"taught": name in taught, **compared(name, maps[name], network, given)}
        print(name, json.dumps(told[name]), flush=True)
    settings = {k: v for k, v in vars(given).items() if isinstance(v, int | float | str | list)}
    print(record(f"matcher_{given.name}", {"settings": settings, **commit(), **told}, given.out))


def exported(given: argparse.Namespace) -> None:
    network, path = PointNetwork(), given.out / f"{given.name}.onnx"
    load_points(network, given.weights)
    export_network(network, path, input_shape=(1, 256, 320), side_step_px=SIDE_STEP_PX)
    print(f"{path}: {path.stat().st_size} bytes")


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--real", type=Path, default=Path("real"))
    options.add_argument("--worlds", type=Path, default=Path("worlds"))
    options.add_argument("--leave-out", nargs="*", default=[])
    options.add_argument("--measure", nargs="*", default=[])
    options.add_argument("--photos", type=int, default=150, help="measured on each place")
    options.add_argument(
        "--likeness", type=float, nargs="+", default=[0.0, 0.7], help="tried with our matcher"
    )
    options.add_argument("--xfeat", type=Path, help="the matcher of any bundle, to stand beside")
    options.add_argument("--name", default="own")
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--seconds", type=float, default=300.0)
    options.add_argument("--batch", type=int, default=64)
    options.add_argument("--parts", type=int, default=4, help="places that share a batch")
    options.add_argument("--real-share", type=float, default=0.6)
    options.add_argument("--side", type=int, default=PairOptions().side_px)
    options.add_argument("--settle", type=int, default=0, help="pixels by which two dates may lie apart")
    options.add_argument("--rate", type=float, default=2e-3)
    options.add_argument("--weights", type=Path, help="to begin with, or to export")
    options.add_argument("--export", action="store_true", help="weights as ONNX; nothing is trained")
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--seed", type=int, default=0)
    return options.parse_args()


def load_maps(given: argparse.Namespace) -> dict[str, list[ViewSource]]:
    """Every place with its dates, the older first."""
    dates: dict[str, list[Path]] = {}
    for path in [*sorted(given.real.glob("*.ntx")), *sorted(given.worlds.glob("*.ntx"))]:
        dates.setdefault(path.stem.partition("_")[0], []).append(path)
    return {
        name: [source_on(Texture.load(p), given.device) for p in sorted(paths, reverse=True)]
        for name, paths in dates.items()
    }


def learned(taught: dict[str, list[ViewSource]], given: argparse.Namespace) -> tuple[PointNetwork, dict]:
    with seeded(given.seed):
        network = PointNetwork()
    if given.weights:
        load_points(network, given.weights)
    pairs = PairOptions(side_px=given.side, settle_px=given.settle)
    grounds = {
        name: PairedGround(
            dates, pairs, seed=given.seed + i, soft_m=SOFT_M.get(name, 0.0), aligned=name not in APART
        )
        for i, (name, dates) in enumerate(taught.items())
    }
    print({n: [round(m, 2) for m in g.gsd_m] + [len(g.places[0])] for n, g in grounds.items()}, flush=True)
    training = TrainOptions(
        schedule="budget",
        budget_s=given.seconds,
        batch=given.batch,
        extractor_rate=given.rate,
        seed=given.seed,
    )
    job = point_job(network, in_order(grounds, given), training, CHANGES, parts=given.parts)
    job.batch(10**6, 0, slice(0, given.batch))  # what is compiled on the way is not taken off the time
    began = time.monotonic()
    done = train(job, training, device=given.device, report=teller(10.0))
    told = {
        "places": sorted(taught),
        "steps": done.steps,
        "seconds": time.monotonic() - began,
        "loss": done.loss,
    }
    save_points(network, given.out / f"{given.name}-points.safetensors", said(given, told))
    return network, told


def in_order(grounds: dict[str, PairedGround], given: argparse.Namespace) -> list[PairedGround]:
    """Whose turn it is: real places and worlds mixed, each kind with its share."""
    worlds = [g for name, g in grounds.items() if name.startswith("world")]
    real = [g for name, g in grounds.items() if not name.startswith("world")]
    if not worlds or not real:
        return worlds or real
    length = 60
    order = np.random.default_rng(given.seed).permutation(length)
    count = round(given.real_share * length)
    turns = [real[i % len(real)] for i in range(count)]
    turns += [worlds[i % len(worlds)] for i in range(length - count)]
    return [turns[i] for i in order]


def said(given: argparse.Namespace, told: dict) -> dict[str, str]:
    """What the file of weights says about itself."""
    command = f"bench/matcher.py --name {given.name} --leave-out {' '.join(given.leave_out)}"
    command += f" --batch {given.batch} --rate {given.rate:g} --side {given.side} --seconds {given.seconds:g}"
    command += f" --parts {given.parts} --real-share {given.real_share:g} --settle {given.settle}"
    origin = {"command": f"{command} --seed {given.seed}", "commit": str(commit()["commit"])}
    places, start = ", ".join(told["places"]), given.weights.name if given.weights else "none"
    return {"licence": "Apache-2.0", "data": places, "start": start, "steps": str(told["steps"]), **origin}


def save_points(network: PointNetwork, path: Path, told: dict[str, str]) -> None:
    from safetensors.torch import save

    half = {k: v.half() if v.is_floating_point() else v for k, v in network.state_dict().items()}
    with atomic_file(path) as scratch:
        scratch.write_bytes(save({k: v.cpu().contiguous() for k, v in half.items()}, metadata=told))


def load_points(network: PointNetwork, path: Path) -> None:
    from safetensors.torch import load_file

    network.load_state_dict(
        {k: v.float() if v.is_floating_point() else v for k, v in load_file(path).items()}
    )
    network.eval()


class TorchNetwork:
    """A network as verification knows one, run where it was trained."""

    def __init__(self, module: torch.nn.Module, device: str) -> None:
        self._module, self._device = module.eval().to(device), device

    @torch.no_grad()
    def run(self, inputs: Floats) -> Floats:
        return self._module(torch.from_numpy(inputs).to(self._device)).float().cpu().numpy()


def compared(name: str, dates: list[ViewSource], network: PointNetwork, given: argparse.Namespace) -> dict:
    """The same photos placed with our matcher and with XFeat."""
    features = VerifyOptions().features
    own = XFeatDetector(TorchNetwork(network, given.device), features)
    matchers = {f"own_{likeness:g}": (own, likeness) for likeness in given.likeness}
    if given.xfeat:
        matchers["xfeat"] = XFeatDetector(load_network(given.xfeat), features), VerifyOptions().min_likeness
    between_m = MEASURED.get(name, MEASURED["world"])
    old, new = dates[0].texture, dates[-1].texture
    return weighed(old, new, matchers, between_m=between_m, count=given.photos)


if __name__ == "__main__":
    main()
