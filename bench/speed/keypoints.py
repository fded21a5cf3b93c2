"""How long the matcher that ships takes for its keypoints, against XFeat as its authors publish it, in turns.

python -m bench.speed.keypoints [--network OURS.onnx] [--than XFEAT.onnx] [--rounds 40]

Grey pictures of a procedural world: a photo as wide as it is matched at first, and two windows of the map.
"Network" is the network alone, "keypoints" all that the product does from a grey picture to descriptors, each
on one thread (processor time) and on two (time that passes). Ratios are taken round by round.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from bench.accuracy.matchers import NAMES, network_files
from bench.lib.record import record
from nadirfix.options.verify import FeatureOptions
from nadirfix.runtime import Network, load_network
from nadirfix.verify.features import NetworkDetector, grey_of
from nadirfix.world.make import make_world

SIZES = {"photo": (336, 448), "window": (448, 576), "large window": (576, 768)}
CLOCKS: dict[int, Callable[[], float]] = {1: time.process_time, 2: time.perf_counter}
WARM_UP = 3
Runner = Callable[[Network, np.ndarray], Callable[[], Any]]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--network", type=Path)
    options.add_argument("--than", type=Path)
    options.add_argument("--rounds", type=int, default=40)
    options.add_argument("--seed", type=int, default=5)
    given = options.parse_args()
    cv2.setNumThreads(1)
    ground = grey_of(make_world(size_m=500.0, gsd_m=0.5, seed=given.seed).old)
    results: dict[str, Any] = {"seed": given.seed, "rounds": given.rounds}
    with tempfile.TemporaryDirectory() as scratch:
        files = network_files(given, Path(scratch))
        for threads, clock in CLOCKS.items():
            networks = {name: load_network(files[name], threads=threads) for name in NAMES}
            for size, (height, width) in SIZES.items():
                picture = np.ascontiguousarray(ground[:height, :width])
                results[f"{size}, {threads} threads"] = {
                    "pixels": [width, height],
                    "network": ratios(each(networks, picture, alone), clock, given.rounds),
                    "keypoints": ratios(each(networks, picture, detection), clock, given.rounds),
                }
    print(f"wrote {record('keypoints', results)}")
    for key, value in results.items():
        print(f"{key}: {value}")


def each(networks: dict[str, Network], picture: np.ndarray, runner: Runner) -> dict[str, Callable[[], Any]]:
    return {name: runner(network, picture) for name, network in networks.items()}


def alone(network: Network, picture: np.ndarray) -> Callable[[], Any]:
    return lambda: network.run(picture[None, None])


def detection(network: Network, picture: np.ndarray) -> Callable[[], Any]:
    detect = NetworkDetector(network, FeatureOptions())
    return lambda: detect(picture)


def ratios(ways: dict[str, Callable[[], Any]], clock: Callable[[], float], rounds: int) -> dict[str, Any]:
    """Milliseconds of either, and how many times the other's ours takes, by round."""
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(rounds + WARM_UP):
        for name in sorted(ways, reverse=bool(turn % 2)):
            began = clock()
            ways[name]()
            spent[name].append(1e3 * (clock() - began))
    ours, other = (np.array(spent[name][WARM_UP:]) for name in NAMES)
    low, middle, high = np.percentile(ours / other, (10, 50, 90))
    return {
        "ours_ms": round(float(np.median(ours)), 2),
        "other_ms": round(float(np.median(other)), 2),
        "ratio": {"p10": round(low, 3), "p50": round(middle, 3), "p90": round(high, 3)},
    }


if __name__ == "__main__":
    main()
