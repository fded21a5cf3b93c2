"""Teaches the matcher's network, from XFeat's weights, on pairs of views with known geometry.

python -m bench.training.teach_matcher --pairs DIR --out FILE.safetensors [--seconds 3600]

Of XFeat it keeps what it says of a picture (descriptors and reliability near its own; keypoints exactly,
those layers do not learn) and learns which keypoints of two dates show the same ground. DIR is written by
``bench/training/matcher_pairs.py``, which may still be at it. A run that is stopped goes on from its
checkpoint beside FILE. ``--keep`` goes only that part of the way back to XFeat's weights, from its end.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from bench.lib.matched_pairs import Pairs
from bench.lib.matcher_loss import Losses, losses, output_of
from bench.lib.record import say
from nadirfix.files import atomic_file
from nadirfix.train.models.matcher import MatcherNetwork, from_xfeat
from nadirfix.train.xfeat import xfeat_weights

REPORT_STEPS, CHECKPOINT_S = 50, 120.0
WARM_UP = 40
#: Layers that stay XFeat's: where keypoints are is not learned.
FIXED = ("keypoints.",)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--pairs", type=Path, required=True)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--seconds", type=float, default=3600.0)
    options.add_argument("--batch", type=int, default=4)
    options.add_argument("--rate", type=float, default=3e-4)
    options.add_argument("--teacher-weight", type=float, default=2.0)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--keep", type=float, default=0.0, help="no training: this share of the teacher")
    given = options.parse_args()
    if given.keep:
        mixed(given)
        return
    torch.set_num_threads(given.threads)
    Run(given).go()


class Run:
    """One run: the pupil, its teacher, and how far it has come."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.teacher = from_xfeat(xfeat_weights()).requires_grad_(False)
        self.pupil = from_xfeat(xfeat_weights())
        learned = [p for n, p in self.pupil.named_parameters() if not n.startswith(FIXED)]
        self.optimiser = torch.optim.AdamW(learned, lr=given.rate, weight_decay=1e-4)
        self.draw = np.random.default_rng(given.seed)
        self.steps, self.spent_s, self.recent = 0, 0.0, []
        self.checkpoint = given.out.with_suffix(".checkpoint")
        if self.checkpoint.exists():
            self.restore()

    def go(self) -> None:
        began, saved = time.monotonic() - self.spent_s, time.monotonic()
        pairs = self.pairs()
        while (spent := time.monotonic() - began) < self.given.seconds:
            self.spent_s = spent
            self.report(self.step(pairs))
            if time.monotonic() - saved > CHECKPOINT_S:
                saved = time.monotonic()
                self.save()
                pairs = self.pairs()
        self.save()
        say(f"{self.given.out.name}: {self.steps} steps in {self.spent_s:.0f} s")

    def step(self, pairs: Pairs) -> Losses:
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate()
        index = self.draw.integers(len(pairs), size=self.given.batch)
        pictures, homographies = batch(pairs, index)
        with torch.no_grad():
            wanted = output_of(self.teacher, pictures)
        generator = torch.Generator().manual_seed(int(self.draw.integers(2**31)))
        parts = losses(output_of(self.pupil, pictures), wanted, homographies, generator)
        total = parts.matches + self.given.teacher_weight * (parts.descriptors + parts.reliability)
        self.optimiser.zero_grad()
        total.backward()
        torch.nn.utils.clip_grad_norm_(self.pupil.parameters(), 5.0)
        self.optimiser.step()
        self.steps += 1
        return parts

    def rate(self) -> float:
        """Up for some steps, then down with the time that is left."""
        left = math.cos(0.5 * math.pi * min(self.spent_s / self.given.seconds, 1.0))
        return float(self.given.rate * min((self.steps + 1) / WARM_UP, 1.0) * max(left, 0.01))

    def pairs(self) -> Pairs:
        """All there are by now."""
        return Pairs.read(sorted(self.given.pairs.glob("pairs*.npz")))

    def report(self, parts: Losses) -> None:
        self.recent.append([float(value.detach()) for value in parts])
        if len(self.recent) == REPORT_STEPS:
            means = np.mean(self.recent, axis=0)
            names = ", ".join(f"{n} {v:.4f}" for n, v in zip(Losses._fields, means, strict=True))
            say(f"{self.steps} steps, {self.spent_s:.0f} s: {names}")
            self.recent.clear()

    def save(self) -> None:
        state = {"pupil": self.pupil.state_dict(), "optimiser": self.optimiser.state_dict()}
        state |= {"steps": self.steps, "spent_s": self.spent_s}
        with atomic_file(self.checkpoint, overwrite=True) as scratch:
            torch.save(state, scratch)
        write(self.pupil.state_dict(), self.given.out, self.about())

    def restore(self) -> None:
        state = torch.load(self.checkpoint, weights_only=True)
        self.pupil.load_state_dict(state["pupil"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.steps, self.spent_s = state["steps"], state["spent_s"]
        self.draw = np.random.default_rng([self.given.seed, self.steps])

    def about(self) -> dict[str, Any]:
        names = ("batch", "rate", "teacher_weight", "seed")
        settings = {name: getattr(self.given, name) for name in names}
        return {**settings, "steps": self.steps, "seconds": round(self.spent_s), "pairs": len(self.pairs())}


def batch(pairs: Pairs, index: np.ndarray) -> tuple[Tensor, Tensor]:
    """Pictures of the photos, then of the map; and where the photos' pixels lie on it."""
    pictures = np.concatenate([pairs.photo[index], pairs.map[index]])[:, None]
    homographies = torch.from_numpy(pairs.map_from_photo[index]).float()
    return torch.from_numpy(pictures).float(), homographies


def write(weights: dict[str, Tensor], path: Path, about: dict[str, Any]) -> None:
    with atomic_file(path, overwrite=True) as scratch:
        save_file(dict(weights), scratch, metadata={"training": json.dumps(about)})


def mixed(given: argparse.Namespace) -> None:
    """The taught weights, part of the way back to their teacher's."""
    taught, start = load_file(given.out), from_xfeat(xfeat_weights()).state_dict()
    back = {name: torch.lerp(value, start[name], given.keep) for name, value in taught.items()}
    entry = {**metadata(given.out), "kept_of_teacher": given.keep}
    write(back, given.out.with_stem(f"{given.out.stem}-kept{given.keep:g}"), entry)


def loaded(path: Path) -> MatcherNetwork:
    """A network from a file this script wrote."""
    network = MatcherNetwork()
    network.load_state_dict(load_file(path))
    return network.eval()


def metadata(path: Path) -> dict[str, Any]:
    """How the weights in a file came about."""
    with safe_open(path, framework="numpy") as file:
        return dict(json.loads(file.metadata()["training"]))


if __name__ == "__main__":
    main()
