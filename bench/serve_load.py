"""What the service bears: 64 clients for a minute, beside ``nadirfix locate`` on the same photos.

In one run: ``locate`` on the folder, the service under load, ``locate`` again. Throughput is compared with
the mean of the two; start-up is left out of all three. Clients send a photo, wait for its answer and send the
next; who hears 429 waits as long as Retry-After says. Clients and service share this machine's cores.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from record import record

from nadirfix.camera import Camera
from nadirfix.geo.geomap import GeoMap
from nadirfix.offline import build_bundle
from nadirfix.options import RECIPES, SimulateOptions
from nadirfix.serve.options import ServeOptions
from nadirfix.world.files import write_world
from nadirfix.world.photos import simulate_photos

CAMERA = Camera(1024, 768, 600.0, 600.0)
WARM_UP_S = 20.0
NADIRFIX = [sys.executable, "-m", "nadirfix"]


@dataclass
class Tally:
    """What the clients met."""

    latencies_ms: list[float] = field(default_factory=list)
    finished_s: list[float] = field(default_factory=list)
    refused: int = 0
    failed: list[str] = field(default_factory=list)
    rss_mb: list[tuple[float, float]] = field(default_factory=list)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--clients", type=int, default=64)
    options.add_argument("--seconds", type=float, default=60.0)
    options.add_argument("--bundle", type=Path, help="a bundle instead of one made for this run")
    options.add_argument("--photos", type=Path, help="a folder of photos for it")
    options.add_argument("--seed", type=int, default=7)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bundle, photos = given.bundle, given.photos
        if bundle is None or photos is None:
            bundle, photos = prepare(folder, given.seed)
        results = measure(bundle, photos, given, folder)
    print(json.dumps(results, indent=2))
    print(f"wrote {record('serve_load', results)}")


def prepare(folder: Path, seed: int) -> tuple[Path, Path]:
    write_world(folder / "world", size_m=1000.0, gsd_m=0.5, seed=seed)
    with GeoMap.open(folder / "world" / "new.tif") as ground:
        shot = SimulateOptions(count=40, altitude_max_m=400.0)
        simulate_photos(ground, folder / "photos", camera=CAMERA, options=shot)
    target = folder / "place.nadir"
    build_bundle(folder / "world" / "old.tif", target, recipe=RECIPES["tiny"], train=False)
    return target, folder / "photos" / "photos"


def measure(bundle: Path, photos: Path, given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    files = sorted(photos.iterdir())
    load_before = os.getloadavg()[0]
    alone = [locate_per_s(bundle, photos)]
    process, port = start(bundle, folder)
    try:
        tally = Tally()
        bodies = [request(port, file.read_bytes()) for file in files]
        asyncio.run(storm(tally, bodies, port, process.pid, clients=given.clients, seconds=given.seconds))
    finally:
        process.terminate()
        stopped = process.wait(60)
    alone.append(locate_per_s(bundle, photos))
    return {
        "seed": given.seed,
        "load_average": {"before": round(load_before, 1), "after": round(os.getloadavg()[0], 1)},
        "clients": given.clients,
        "seconds": given.seconds,
        "photos": f"{len(files)} of {CAMERA.spec}",
        "exit_after_sigterm": stopped,
        "left_in_tmp": sorted(p.name for p in (folder / "tmp").iterdir()),
        **summary(tally, alone, given.seconds),
    }


def summary(tally: Tally, alone: list[float], seconds: float) -> dict[str, Any]:
    late = [t for t in tally.finished_s if t >= 2]  # the first are still being queued up
    per_s = len(late) / (seconds - 2)
    service_ms, queue = 1000 / per_s, ServeOptions().queue
    p50, p99 = (float(np.percentile(tally.latencies_ms, q)) for q in (50, 99))
    warm, end = rss_at(tally, WARM_UP_S), rss_at(tally, seconds)
    return {
        "answered": len(tally.latencies_ms),
        "refused_429": tally.refused,
        "failed": len(tally.failed),
        "failures": tally.failed[:5],
        "photos_per_s": {"service": round(per_s, 2), "locate": [round(v, 2) for v in alone]},
        "throughput_against_locate": round(per_s / float(np.mean(alone)), 3),
        "latency_ms": {"p50": round(p50, 1), "p99": round(p99, 1), "max": round(max(tally.latencies_ms), 1)},
        "queue": queue,
        "service_ms": round(service_ms, 2),
        "p99_against_queue_times_service": round(p99 / (queue * service_ms), 3),
        "rss_mb": {f"{WARM_UP_S:.0f} s": round(warm, 1), "end": round(end, 1)},
        "rss_growth_percent": round(100 * (end / warm - 1), 2),
    }


def rss_at(tally: Tally, at_s: float) -> float:
    """Memory around a moment: the median of the samples within two seconds of it."""
    near = [mb for t, mb in tally.rss_mb if abs(t - at_s) <= 2]
    return float(np.median(near))


def locate_per_s(bundle: Path, photos: Path) -> float:
    """Photos a second of the command line, from its fifth line to its last."""
    command = [*NADIRFIX, "locate", *[str(photos)] * 6, "--bundle", str(bundle), "--quiet"]
    stamps = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for _ in process.stdout or ():
            stamps.append(time.monotonic())
    return (len(stamps) - 5) / (stamps[-1] - stamps[4])


def start(bundle: Path, folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "tmp").mkdir()
    environment = {**os.environ, "TMPDIR": str(folder / "tmp")}
    command = [*NADIRFIX, "serve", "--bundle", str(bundle), "--port", str(port), "--quiet"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stderr=log)
    for _ in range(600):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz").close()
            return process, port
        except OSError:
            time.sleep(0.1)
    raise SystemExit((folder / "log").read_text())


def request(port: int, photo: bytes) -> bytes:
    head = (
        f"POST /v1/locate?name=a.jpg HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Content-Type: image/jpeg\r\nContent-Length: {len(photo)}\r\n\r\n"
    )
    return head.encode() + photo


async def storm(
    tally: Tally, bodies: list[bytes], port: int, pid: int, *, clients: int, seconds: float
) -> None:
    began_s = time.monotonic()
    when = {"port": port, "began_s": began_s, "until_s": began_s + seconds}
    asking = [client(tally, bodies, i, **when) for i in range(clients)]
    watch = asyncio.create_task(watch_memory(tally, pid, began_s))
    await asyncio.gather(*asking)
    watch.cancel()


async def client(
    tally: Tally, bodies: list[bytes], turn: int, *, port: int, began_s: float, until_s: float
) -> None:
    while time.monotonic() < until_s:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            while (sent_s := time.monotonic()) < until_s:
                writer.write(bodies[turn % len(bodies)])
                status, retry_s, body = await answer(reader)
                if status == 200:
                    done_s = time.monotonic()
                    tally.latencies_ms.append(1000 * (done_s - sent_s))
                    tally.finished_s.append(min(done_s, until_s) - began_s)
                    turn += 7
                elif status == 429:
                    tally.refused += 1
                    await asyncio.sleep(retry_s)
                else:
                    tally.failed.append(f"{status} {body[:200]!r}")
            writer.close()
        except (OSError, asyncio.IncompleteReadError) as error:
            if time.monotonic() < until_s:
                tally.failed.append(f"{type(error).__name__}: {error}")


async def answer(reader: asyncio.StreamReader) -> tuple[int, float, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
    body = await reader.readexactly(int(fields["content-length"]))
    return int(head.split(" ")[1]), float(fields.get("retry-after", 0)), body


async def watch_memory(tally: Tally, pid: int, began_s: float) -> None:
    page_mb = os.sysconf("SC_PAGE_SIZE") / 2**20
    while True:
        resident = int(Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1])
        tally.rss_mb.append((time.monotonic() - began_s, resident * page_mb))
        await asyncio.sleep(0.5)


if __name__ == "__main__":
    main()
