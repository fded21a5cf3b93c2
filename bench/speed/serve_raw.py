"""Whether raw bytes can break the service: two thousand HTTP requests as no client should write them.

From a grammar, good ones that were damaged, several in one, two ends in one, noise. Required: no answer of
500 or above (but 501, for a coding nobody knows), every connection closed in time, the same process at the
end, and nothing left in its temporary folder. The service keeps its own limits; a request is sent whole,
and nothing after it.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx

from bench.lib.raw_requests import Outcome, requests_of, send
from bench.lib.record import record
from bench.speed.serve_load import add_place, place
from tests.service_process import ServiceProcess

#: Most of them wait for the service to lose its patience.
CLIENTS = 48
#: Longer than anything may take: a photo, and then the limit for a connection that stays silent.
LIMIT_S = 30.0


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=2_000)
    add_place(options, seed=1, matcher="none")
    given = options.parse_args()
    with place(given) as (bundle, photos, folder):
        results = attack(bundle, min(photos.iterdir()).read_bytes(), given.count, given.seed, folder)
    print(json.dumps(results, indent=2))
    print(f"wrote {record('serve_raw', results)}")
    if results["server_errors"] or results["hangs"] or not results["same_process_at_the_end"]:
        raise SystemExit("the service did not stand it")


def attack(bundle: Path, photo: bytes, count: int, seed: int, folder: Path) -> dict[str, Any]:
    load, began_s = os.getloadavg()[0], time.monotonic()
    with ServiceProcess(bundle, folder, quiet=True, measure=False) as service:
        with ThreadPoolExecutor(CLIENTS) as pool:
            sent = list(requests_of(photo, count, seed=seed))
            outcomes = list(pool.map(lambda one: send(service.port, one[1], limit_s=LIMIT_S), sent))
        ready = httpx.get(f"{service.url}/readyz", timeout=60).status_code == 200
        alive = service.process.poll() is None
        stopped = service.end(signal.SIGTERM)
    kinds = [kind for kind, _ in sent]
    return {
        "seed": seed,
        "load_average": round(load, 1),
        "requests": count,
        "seconds": round(time.monotonic() - began_s, 1),
        **summary(kinds, outcomes),
        "same_process_at_the_end": alive,
        "ready_at_the_end": ready,
        "exit_after_sigterm": stopped,
        "left_in_tmp": service.left_behind,
        "log_tracebacks": tracebacks(service.log),
    }


def tracebacks(log: str) -> dict[str, int]:
    """How often each fault is in the log, by the line that ends its traceback."""
    after = [text.partition("\n20")[0].strip().splitlines()[-1] for text in log.split("Traceback")[1:]]
    return dict(Counter(line[:200] for line in after))


def summary(kinds: list[str], outcomes: list[Outcome]) -> dict[str, Any]:
    both = list(zip(kinds, outcomes, strict=True))
    faults = [f"{kind}: {one.status}" for kind, one in both if (one.status or 0) >= 500 and one.status != 501]
    return {
        "statuses": dict(sorted(Counter(str(one.status) for one in outcomes).items())),
        "by_kind": dict(sorted(Counter(f"{kind}: {one.status}" for kind, one in both).items())),
        "server_errors": faults[:10],
        "hangs": sum(one.hangs for one in outcomes),
        "longest_s": round(max(one.seconds for one in outcomes), 2),
    }


if __name__ == "__main__":
    main()
