"""What polite clients get beside rude ones: sixteen clients, of whom twelve do not wait as they are told.

Polite ones send one photo at a time and wait as long as Retry-After says. Rude ones have several requests
at once and ask again at once: half of them on the same connection, half on a new one each time. Each has an
address of its own (127.0.0.2 and so on). In turns: the polite ones alone, then with the rude ones, by
photos answered in a second, and the median of the ratios. Clients and service share this machine.
``--minutes`` runs a mixed load instead: polite, rude, broken and slow ones together, with memory and open
files watched after the first tenth, and one answer for each photo.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import statistics
from typing import Any

from bench.lib.mixed_clients import Crowd, Met
from bench.lib.record import record
from bench.speed.serve_load import add_place, place
from tests.service_process import ServiceProcess

POLITE, RUDE = 4, 12
#: At the start of each turn, not counted: all clients come at once, and nobody has been told to wait.
WARM_UP_S = 10.0


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=40.0, help="of each turn; ten are not counted")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--minutes", type=float, help="a mixed load of this length instead, at most 120")
    add_place(options, seed=7, matcher="none")
    given = options.parse_args()
    with (
        place(given) as (bundle, photos, folder),
        ServiceProcess(bundle, folder, quiet=True, measure=False) as service,
    ):
        bodies = [path.read_bytes() for path in sorted(photos.iterdir())]
        crowd = Crowd(service.port, service.process.pid, bodies)
        results = {"seed": given.seed, "matcher": given.matcher, "load_average": round(os.getloadavg()[0], 1)}
        if given.minutes is None:
            results |= fairness(crowd, given.seconds, given.rounds)
        else:
            results |= endurance(crowd, min(given.minutes, 120.0))
        results |= {"exit_after_sigterm": service.end(signal.SIGTERM), "left_in_tmp": service.left_behind}
    print(json.dumps(results, indent=2))
    print(f"wrote {record('serve_fair' if given.minutes is None else 'serve_fair_mixed', results)}")


def fairness(crowd: Crowd, seconds: float, rounds: int) -> dict[str, Any]:
    turns = [one_round(crowd, seconds) for _ in range(rounds)]
    shares = [turn["beside_rude_per_s"] / max(turn["alone_per_s"], 1e-9) for turn in turns]
    return {
        "polite": POLITE,
        "rude": RUDE,
        "seconds": seconds,
        "rounds": turns,
        "share": {"median": round(statistics.median(shares), 3), "each": [round(s, 3) for s in shares]},
    }


def one_round(crowd: Crowd, seconds: float) -> dict[str, float]:
    alone = asyncio.run(crowd.run(seconds, polite=POLITE))
    beside = asyncio.run(crowd.run(seconds, polite=POLITE, rude=RUDE))
    return {
        "alone_per_s": rate(alone, seconds),
        "beside_rude_per_s": rate(beside, seconds),
        "rude_per_s": round(beside.rude_answers / seconds, 2),
        "rude_refused_per_s": round(beside.rude_refusals / seconds, 2),
        "polite_failed": len(beside.failures),
    }


def rate(met: Met, seconds: float) -> float:
    """Photos answered in a second, once the crowd that comes all at once has been sorted."""
    later = [done_s for done_s in met.answers if WARM_UP_S <= done_s - met.began_s <= seconds]
    return round(len(later) / (seconds - WARM_UP_S), 2)


def endurance(crowd: Crowd, minutes: float) -> dict[str, Any]:
    seconds = 60 * minutes
    met = asyncio.run(crowd.run(seconds, polite=POLITE, rude=2, broken=2, slow=2))
    warm = [sample for sample in met.samples if sample[0] >= seconds / 10]
    return {
        "minutes": minutes,
        "answered": len(met.answers),
        "told_429": met.refusals,
        "polite_failures": met.failures[:5],
        "photos_with_more_than_one_answer": sum(len(texts) > 1 for texts in met.texts.values()),
        "memory_mb": {"after_a_tenth": round(warm[0][1], 1), "end": round(warm[-1][1], 1)},
        "memory_growth_percent": round(100 * (warm[-1][1] / warm[0][1] - 1), 2),
        "open_files": {"after_a_tenth": warm[0][2], "end": warm[-1][2]},
    }


if __name__ == "__main__":
    main()
