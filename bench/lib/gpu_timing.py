"""How long a GPU takes: one photo after another, or batch after batch."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from bench.lib.gpu_pipeline import Pipeline, Recorded


@torch.no_grad()
def latency_ms(pipeline: Callable, photos: torch.Tensor, given: argparse.Namespace) -> dict[str, float]:
    """One photo after another, each waited for; the first few warm up. Photos take turns."""
    times = []
    for i, photo in zip(range(given.rounds + 10), forever(photos), strict=False):
        wait(given)
        began = time.perf_counter()
        rows = pipeline(photo)[2]
        rows.cpu()
        if i >= 10 or not given.cuda:
            times.append(1e3 * (time.perf_counter() - began))
    return {"median": round(statistics.median(times), 3), "p95": round(float(np.percentile(times, 95)), 3)}


def forever(photos: torch.Tensor) -> Iterator[torch.Tensor]:
    while True:
        yield from photos.split(1)


@torch.no_grad()
def rate(pipeline: Callable, photos: torch.Tensor, given: argparse.Namespace) -> float:
    """Photos per second, batch after batch for a while, waiting only at the end."""
    for _ in range(3 if given.cuda else 1):
        pipeline(photos)
    wait(given)
    began, rounds = time.perf_counter(), 0
    while time.perf_counter() - began < (2.0 if given.cuda else 0.1):
        pipeline(photos)[2].cpu()
        rounds += 1
    wait(given)
    return round(rounds * len(photos) / (time.perf_counter() - began), 1)


@torch.no_grad()
def stages_ms(pipeline: Pipeline, one: torch.Tensor, given: argparse.Namespace) -> dict[str, float]:
    """What each part costs when played back alone."""
    which = pipeline.classes(one).argmax(1)
    known, descriptor = pipeline.known, pipeline.embed(one, which)
    parts: dict[str, Callable] = {
        "shrink, spectrum, altitude network": pipeline.classes,
        "crop, place network": lambda photo: pipeline.embed(photo, which),
        "cells, references": lambda _: known.search(descriptor, known.likeliest(descriptor)),
    }
    return {name: played_ms(part, one, given) for name, part in parts.items()}


def played_ms(part: Callable, photo: torch.Tensor, given: argparse.Namespace) -> float:
    graph, times = Recorded(part, photo), []
    for _ in range(given.rounds):
        wait(given)
        began = time.perf_counter()
        graph(photo)
        wait(given)
        times.append(1e3 * (time.perf_counter() - began))
    return round(statistics.median(times), 3)


@torch.no_grad()
def all_references_ms(pipeline: Pipeline, one: torch.Tensor, given: argparse.Namespace) -> float:
    """Looking through all references instead of those of three cells."""
    descriptor, times = pipeline.embed(one, pipeline.classes(one).argmax(1)), []
    for _ in range(given.rounds):
        began = time.perf_counter()
        pipeline.known.search_all(descriptor)[0].cpu()
        times.append(1e3 * (time.perf_counter() - began))
    return round(statistics.median(times), 3)


def guarded(work: Callable[[], Any]) -> Any:
    """What came out, or why nothing did: one figure must not cost the others."""
    try:
        return work()
    except Exception as error:  # whatever a driver or a missing library says
        return f"not measured: {type(error).__name__}: {str(error)[:300]}"


def wait(given: argparse.Namespace) -> None:
    if given.cuda:
        torch.cuda.synchronize()
