"""What the service bears: 64 clients for a minute, beside ``nadirfix locate`` on the same photos.

First the minute: failures, latency, memory. Then rounds in turns, ``locate`` on the folder and the service
under the same clients, each photo once: throughput is compared round by round, and as processor time a
photo, which a busy machine changes less. Start-up and the first photos are left out on both sides. Clients
take the photos in order, send one, wait for its answer and take the next; who hears 429 keeps its photo and
waits as long as Retry-After says. Clients and service share this machine's cores.

Latency is what a client sees of a photo that was answered: from before its first byte is written to after
the last byte of the answer is read. The queue is ``ServeOptions.queue``: photos in the house, the one at
work among them. Service time is the time from one answer to the next while all clients are at it. The queue
is full all the time, so from sending to answer it takes the time of ``queue`` photos; photos differ, so who
waits for slow ones waits longer than ``queue`` times the mean. Hence three bounds: by the mean, by the 99th
percentile of the service time, and by count: how many answers went out while one client waited, its own
among them, which is its latency over the mean service time of that very wait.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.lib.record import record
from bench.lib.service_clients import Storm, Tally, cpu_of, request
from nadirfix.camera import Camera
from nadirfix.geo.geomap import GeoMap
from nadirfix.offline import build_bundle
from nadirfix.options.map import SimulateOptions
from nadirfix.options.recipe import RECIPES
from nadirfix.serve.options import ServeOptions
from nadirfix.world.files import write_world
from nadirfix.world.photos import simulate_photos
from tests.service_process import ServiceProcess

#: Of a round: enough that the arrival of all clients at once is a small part of it.
PHOTOS = 120
CAMERA = Camera(1024, 768, 600.0, 600.0)
WARM_UP_S = 20.0
#: Photos at the start of each round that are not counted.
FIRST = 4
QUEUE = ServeOptions().queue


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--clients", type=int, default=64)
    options.add_argument("--seconds", type=float, default=60.0)
    options.add_argument("--rounds", type=int, default=3)
    add_place(options, seed=7, matcher="xfeat")
    given = options.parse_args()
    with place(given) as (bundle, photos, folder):
        results = measure(bundle, photos, given, folder)
    print(json.dumps(results, indent=2))
    print(f"wrote {record('serve_load', results)}")


def add_place(options: argparse.ArgumentParser, *, seed: int, matcher: str) -> None:
    options.add_argument("--matcher", default=matcher, choices=("xfeat", "sift", "none"))
    options.add_argument("--bundle", type=Path, help="a bundle instead of one made for this run")
    options.add_argument("--photos", type=Path, help="a folder of photos for it")
    options.add_argument("--seed", type=int, default=seed)


@contextmanager
def place(given: argparse.Namespace) -> Iterator[tuple[Path, Path, Path]]:
    """A bundle, photos for it and a folder to work in; made where none are given."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bundle, photos = given.bundle, given.photos
        if bundle is None or photos is None:
            bundle, photos = prepare(folder, given.seed, given.matcher)
        yield bundle, photos, folder


def prepare(folder: Path, seed: int, matcher: Any) -> tuple[Path, Path]:
    write_world(folder / "world", size_m=1000.0, gsd_m=0.5, seed=seed)
    with GeoMap.open(folder / "world" / "new.tif") as ground:
        simulation = SimulateOptions(count=PHOTOS, altitude_max_m=400.0)
        simulate_photos(ground, folder / "photos", camera=CAMERA, options=simulation)
    target, recipe = folder / "place.nadir", replace(RECIPES["tiny"], matcher=matcher)
    build_bundle(folder / "world" / "old.tif", target, recipe=recipe, train=False)
    return target, folder / "photos" / "photos"


def measure(bundle: Path, photos: Path, given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    files = sorted(photos.iterdir())
    load_before = os.getloadavg()[0]
    with ServiceProcess(bundle, folder, quiet=True) as service:
        bodies = [request(service.port, file.read_bytes()) for file in files]
        storm = Storm(bodies, service.port, service.process.pid, given.clients)
        tally = storm.run(seconds=given.seconds)
        rounds = [one_round(bundle, photos, storm) for _ in range(given.rounds)]
        stopped = service.end(signal.SIGTERM)
    return {
        "seed": given.seed,
        "load_average": {"before": round(load_before, 1), "after": round(os.getloadavg()[0], 1)},
        "clients": given.clients,
        "seconds": given.seconds,
        "matcher": given.matcher,
        "photos": f"{len(files)} of {CAMERA.spec}",
        "exit_after_sigterm": stopped,
        "left_in_tmp": service.left_behind,
        **summary(tally, given.seconds),
        "against_locate": compared(rounds),
    }


def one_round(bundle: Path, photos: Path, storm: Storm) -> dict[str, float]:
    """Photos a second and processor milliseconds a photo, of the command line and of the service."""
    alone_per_s, alone_cpu_ms = locate_alone(bundle, photos)
    before_s = storm.cpu_s()
    wanted = len(storm.bodies)
    tally = storm.run(answers=wanted)
    stamps = tally.done_s()[FIRST:wanted]
    return {
        "locate_per_s": alone_per_s,
        "locate_cpu_ms": alone_cpu_ms,
        "service_per_s": (len(stamps) - 1) / (stamps[-1] - stamps[0]),
        "service_cpu_ms": 1000 * (storm.cpu_s() - before_s) / len(tally.answers),
    }


def compared(rounds: list[dict[str, float]]) -> dict[str, Any]:
    per_s = [r["service_per_s"] / r["locate_per_s"] for r in rounds]
    cpu = [r["service_cpu_ms"] / r["locate_cpu_ms"] for r in rounds]
    return {
        "rounds": [{name: round(value, 2) for name, value in r.items()} for r in rounds],
        "throughput": {"median": round(float(np.median(per_s)), 3), "each": [round(v, 3) for v in per_s]},
        "processor_time": {"median": round(float(np.median(cpu)), 3), "each": [round(v, 3) for v in cpu]},
    }


def summary(tally: Tally, seconds: float) -> dict[str, Any]:
    stamps = np.array(tally.done_s(seconds))
    service_ms = 1000 * np.diff(stamps)
    latency_ms = 1000 * np.array([done - sent for sent, done in tally.answers if done < seconds])
    p50, p99 = (float(np.percentile(latency_ms, q)) for q in (50, 99))
    mean, slow = float(service_ms.mean()), float(np.percentile(service_ms, 99))
    went = answered_meanwhile(tally)
    warm, end = rss_at(tally, min(WARM_UP_S, seconds / 3)), rss_at(tally, seconds)
    return {
        "answered": len(tally.answers),
        "refused_429": tally.refused,
        "failed": len(tally.failed),
        "failures": tally.failed[:5],
        "photos_per_s": round(1000 / mean, 2),
        "queue": QUEUE,
        "latency_ms": {"p50": round(p50, 1), "p99": round(p99, 1), "max": round(float(latency_ms.max()), 1)},
        "service_ms": {"mean": round(mean, 1), "p99": round(slow, 1)},
        "p99_over_queue_times_mean_service": round(p99 / (QUEUE * mean), 3),
        "p99_over_queue_times_p99_service": round(p99 / (QUEUE * slow), 3),
        "answers_while_one_waits": {"p99": int(np.percentile(went, 99)), "max": int(went.max())},
        "rss_mb": {"warm": round(warm, 1), "end": round(end, 1), "warm_s": min(WARM_UP_S, seconds / 3)},
        "rss_growth_percent": round(100 * (end / warm - 1), 2),
    }


def answered_meanwhile(tally: Tally) -> np.ndarray:
    """For each photo: how many answers went out from when it was sent until its own, that one included."""
    stamps = np.array(tally.done_s())
    sent, done = np.array(tally.answers).T
    return np.searchsorted(stamps, done, "right") - np.searchsorted(stamps, sent, "right")


def rss_at(tally: Tally, at_s: float) -> float:
    """Memory around a moment: the median of the samples within two seconds of it."""
    near = [mb for t, mb in tally.rss_mb if abs(t - at_s) <= 2]
    return float(np.median(near))


def locate_alone(bundle: Path, photos: Path) -> tuple[float, float]:
    """Photos a second of the command line and processor milliseconds a photo, after the first few."""
    command = [sys.executable, "-m", "nadirfix", "locate", photos, "--bundle", bundle, "--quiet"]
    stamps, spent = [], []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for _ in process.stdout or ():
            stamps.append(time.monotonic())
            spent.append(cpu_of(process.pid))
    photos_counted = len(stamps) - FIRST - 1
    per_s = photos_counted / (stamps[-1] - stamps[FIRST])
    return per_s, 1000 * (spent[-2] - spent[FIRST]) / (photos_counted - 1)


if __name__ == "__main__":
    main()
