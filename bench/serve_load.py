"""What the service bears: 64 clients for a minute, beside ``nadirfix locate`` on the same photos.

First the minute: failures, latency and memory. Then short rounds in turns, ``locate`` on the folder and the
service under the same clients: throughput is compared round by round, and as processor time a photo, which a
busy machine changes less. Start-up is left out. Clients send a photo, wait for its answer and send the next;
who hears 429 waits as long as Retry-After says. Clients and service share this machine's cores.
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
ROUND_S = 10.0
#: Photos at the start of a ``locate`` that are not counted.
FIRST = 4
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
    options.add_argument("--rounds", type=int, default=5)
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
    process, port = start(bundle, folder)
    try:
        bodies = [request(port, file.read_bytes()) for file in files]
        storm = Storm(bodies, port, process.pid, given.clients)
        tally = storm.run(given.seconds)
        rounds = [one_round(bundle, photos, storm) for _ in range(given.rounds)]
    finally:
        process.terminate()
        stopped = process.wait(60)
    return {
        "seed": given.seed,
        "load_average": {"before": round(load_before, 1), "after": round(os.getloadavg()[0], 1)},
        "clients": given.clients,
        "seconds": given.seconds,
        "photos": f"{len(files)} of {CAMERA.spec}",
        "exit_after_sigterm": stopped,
        "left_in_tmp": sorted(p.name for p in (folder / "tmp").iterdir()),
        **summary(tally, given.seconds),
        "against_locate": compared(rounds),
    }


def one_round(bundle: Path, photos: Path, storm: Storm) -> dict[str, float]:
    """Photos a second and processor milliseconds a photo, of the command line and of the service."""
    alone_per_s, alone_cpu_ms = locate_alone(bundle, photos)
    before_s = storm.cpu_s()
    tally = storm.run(ROUND_S)
    count = len(tally.latencies_ms)
    return {
        "locate_per_s": alone_per_s,
        "locate_cpu_ms": alone_cpu_ms,
        "service_per_s": len([t for t in tally.finished_s if t < ROUND_S]) / ROUND_S,
        "service_cpu_ms": 1000 * (storm.cpu_s() - before_s) / count,
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
    late = [t for t in tally.finished_s if 2 <= t < seconds]  # the first are still being queued up
    per_s = len(late) / (seconds - 2)
    service_ms, queue = 1000 / per_s, ServeOptions().queue
    p50, p99 = (float(np.percentile(tally.latencies_ms, q)) for q in (50, 99))
    warm, end = rss_at(tally, min(WARM_UP_S, seconds / 3)), rss_at(tally, seconds)
    return {
        "answered": len(tally.latencies_ms),
        "refused_429": tally.refused,
        "failed": len(tally.failed),
        "failures": tally.failed[:5],
        "photos_per_s": round(per_s, 2),
        "latency_ms": {"p50": round(p50, 1), "p99": round(p99, 1), "max": round(max(tally.latencies_ms), 1)},
        "queue": queue,
        "service_ms": {"mean": round(service_ms, 2), "slowest_5_s": round(slowest_ms(tally, seconds), 2)},
        "p99_against_queue_times_service": round(p99 / (queue * service_ms), 3),
        "p99_against_queue_times_slowest": round(p99 / (queue * slowest_ms(tally, seconds)), 3),
        "rss_mb": {f"{WARM_UP_S:.0f} s": round(warm, 1), "end": round(end, 1)},
        "rss_growth_percent": round(100 * (end / warm - 1), 2),
    }


def slowest_ms(tally: Tally, seconds: float) -> float:
    """Time of a photo in the slowest five seconds: a shared machine does not go at one pace."""
    counts = np.histogram(tally.finished_s, np.arange(2, seconds + 0.1, 5))[0]
    return 5000 / float(counts.min())


def rss_at(tally: Tally, at_s: float) -> float:
    """Memory around a moment: the median of the samples within two seconds of it."""
    near = [mb for t, mb in tally.rss_mb if abs(t - at_s) <= 2]
    return float(np.median(near))


def locate_alone(bundle: Path, photos: Path) -> tuple[float, float]:
    """Photos a second of the command line and processor milliseconds a photo, after the first few."""
    command = [*NADIRFIX, "locate", *[str(photos)] * 4, "--bundle", str(bundle), "--quiet"]
    stamps, spent = [], []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for _ in process.stdout or ():
            stamps.append(time.monotonic())
            spent.append(cpu_of(process.pid))
    count = len(stamps) - FIRST - 1
    per_s = count / (stamps[-1] - stamps[FIRST])
    return per_s, 1000 * (spent[-2] - spent[FIRST]) / (count - 1)


def cpu_of(pid: int) -> float:
    """Seconds a process has computed; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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


@dataclass(frozen=True)
class Storm:
    """Many clients at once."""

    bodies: list[bytes]
    port: int
    pid: int
    clients: int

    def run(self, seconds: float) -> Tally:
        return asyncio.run(self._run(seconds))

    def cpu_s(self) -> float:
        return cpu_of(self.pid)

    async def _run(self, seconds: float) -> Tally:
        tally, began_s = Tally(), time.monotonic()
        when = {"port": self.port, "began_s": began_s, "until_s": began_s + seconds}
        watch = asyncio.create_task(watch_memory(tally, self.pid, began_s))
        await asyncio.gather(*(client(tally, self.bodies, i, **when) for i in range(self.clients)))
        watch.cancel()
        return tally


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
                    tally.finished_s.append(done_s - began_s)
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
