"""Procedural worlds of two dates as textures, made on all cores, for training on many places.

python -m bench.training.worlds --out DIR --count 12 [--fine 16]

Seeds from 1000 are for training, from 2000 for measuring what was trained; seeds below 1000 are for tests,
the demo and people. Fine worlds, from seed 3000, are smaller and have smaller pixels: what is seen from low.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import cv2

from nadirfix.geo.texture import Texture
from nadirfix.options.map import TextureOptions
from nadirfix.world.make import make_world

FIRST_TRAINING_SEED, FIRST_HELD_OUT_SEED, FIRST_FINE_SEED = 1000, 2000, 3000


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--count", type=int, default=12)
    options.add_argument("--held-out", type=int, default=1)
    options.add_argument("--size-m", type=float, default=2000.0)
    options.add_argument("--gsd-m", type=float, default=0.4)
    options.add_argument("--fine", type=int, default=0, help="so many fine worlds beside them")
    options.add_argument("--fine-size-m", type=float, default=500.0)
    options.add_argument("--fine-gsd-m", type=float, default=0.2)
    options.add_argument("--processes", type=int, default=os.cpu_count() or 2)
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    seeds = [FIRST_HELD_OUT_SEED + i for i in range(given.held_out)]
    seeds += [FIRST_TRAINING_SEED + i for i in range(given.count)]
    seeds += [FIRST_FINE_SEED + i for i in range(given.fine)]
    with ProcessPoolExecutor(given.processes) as pool:
        list(pool.map(one_world, [(seed, i, given) for i, seed in enumerate(seeds)]))
    (given.out / "done").touch()


def one_world(job: tuple[int, int, argparse.Namespace]) -> None:
    seed, number, given = job
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[number % len(cores)]})  # one world, one core: threads would only wait
    cv2.setNumThreads(1)
    fine = seed >= FIRST_FINE_SEED
    size_m, gsd_m = (given.fine_size_m, given.fine_gsd_m) if fine else (given.size_m, given.gsd_m)
    made = make_world(size_m=size_m, gsd_m=gsd_m, seed=seed)
    for date, pixels in (("old", made.old), ("new", made.new)):
        drawn = Texture.from_array(pixels, None, affine=made.affine, epsg=made.epsg)
        drawn.save(given.out / f"world{seed}_{date}.ntx", options=TextureOptions())
    print(f"world {seed}", flush=True)


if __name__ == "__main__":
    main()
