"""Whether anything a client uploads can break the service: ten thousand photos that were tampered with.

Cut short, bits flipped, spliced, noise, bombs, the wrong kind; bare and in forms, some of them broken too.
Asked for: no answer of 500 or above, the same process at the end, nothing left in its temporary folder. Ten
thousand go through a bundle without a matcher, where most of the time is reading; with ``--matcher xfeat``
what can still be read is verified against the map as well, which takes a second each.
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

from bench.lib.record import record
from bench.speed.serve_load import add_place, place
from tests.service_process import ServiceProcess
from tests.uploads import Upload, mutated

CLIENTS = 4


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=10_000)
    add_place(options, seed=1, matcher="none")
    given = options.parse_args()
    with place(given) as (bundle, photos, folder):
        results = fuzz(bundle, sorted(photos.iterdir())[:3], given.count, given.seed, folder)
    results = {"matcher": given.matcher, **results}
    print(json.dumps(results, indent=2))
    name = "serve_fuzz" if given.matcher == "none" else f"serve_fuzz_{given.matcher}"
    print(f"wrote {record(name, results)}")


def fuzz(bundle: Path, photos: list[Path], count: int, seed: int, folder: Path) -> dict[str, Any]:
    load, began_s = os.getloadavg()[0], time.monotonic()
    uploads = mutated([p.read_bytes() for p in photos], count, seed=seed)
    with ServiceProcess(bundle, folder, quiet=True) as service:
        with httpx.Client(base_url=service.url, timeout=120) as client:
            with ThreadPoolExecutor(CLIENTS) as pool:
                answers = list(pool.map(lambda upload: ask(client, upload), uploads))
            ready = client.get("/readyz").status_code == 200
        alive = service.process.poll() is None
        stopped = service.end(signal.SIGTERM)
    return {
        "seed": seed,
        "load_average": round(load, 1),
        "uploads": count,
        "seconds": round(time.monotonic() - began_s, 1),
        **summary(answers),
        "same_process_at_the_end": alive,
        "ready_at_the_end": ready,
        "exit_after_sigterm": stopped,
        "left_in_tmp": service.left_behind,
        "log_tracebacks": service.log.count("Traceback"),
    }


def summary(answers: list[tuple[str, int, str]]) -> dict[str, Any]:
    return {
        "statuses": dict(sorted(Counter(status for _, status, _ in answers).items())),
        "by_kind": dict(sorted(Counter(f"{kind}: {status}" for kind, status, _ in answers).items())),
        "server_errors": [text for _, status, text in answers if status >= 500][:10],
        "internal_error_lines": sum("internal.error" in text for _, _, text in answers),
    }


def ask(client: httpx.Client, upload: Upload) -> tuple[str, int, str]:
    while True:
        headers = {"Content-Type": upload.content_type}
        answer = client.post(upload.path, content=upload.body, headers=headers)
        if answer.status_code != 429:
            return upload.kind, answer.status_code, answer.text
        time.sleep(float(answer.headers["retry-after"]))


if __name__ == "__main__":
    main()
