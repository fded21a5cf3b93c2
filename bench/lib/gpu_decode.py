"""JPEG files in, references out: decoding on the host's cores or on the GPU itself, beside the networks."""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any

import cv2
import numpy as np
import torch


def decoded_figures(
    one_at_a_time: Callable, batched: Callable, photos: torch.Tensor, given: argparse.Namespace
) -> dict[str, Any]:
    """Latency of one file and files per second, for every way to decode there is here."""
    files = [encoded(photo) for photo in photos[:64].cpu().numpy()]
    found: dict[str, Any] = {"file_mb": round(statistics.mean(map(len, files)) / 1e6, 2)}
    for name, decode in host_decoders().items():
        host = Host(decode, given)
        found[name] = {
            "threads": host.threads,
            "batch_1_ms": tried(lambda h=host: latency(lambda f: one_at_a_time(h.one(f)), files, given)),
            "photos_per_s": tried(lambda h=host: h.rate(batched, files, given)),
        }
    found["nvJPEG"] = tried(lambda: on_device(one_at_a_time, batched, files, given))
    return found


def encoded(photo: np.ndarray) -> bytes:
    return cv2.imencode(".jpg", photo[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 95])[1].tobytes()


def host_decoders() -> dict[str, Callable[[bytes], np.ndarray]]:
    def by_opencv(file: bytes) -> np.ndarray:
        return cv2.imdecode(np.frombuffer(file, np.uint8), cv2.IMREAD_COLOR_RGB)

    found: dict[str, Callable[[bytes], np.ndarray]] = {"OpenCV": by_opencv}
    if find_spec("simplejpeg"):
        import simplejpeg

        found["simplejpeg"] = simplejpeg.decode_jpeg
    return found


class Host:
    """Files decoded by all cores into memory the GPU can fetch by itself, a batch ahead."""

    def __init__(self, decode: Callable[[bytes], np.ndarray], given: argparse.Namespace) -> None:
        self.decode, self.given = decode, given
        self.threads = len(os.sched_getaffinity(0))

    def one(self, file: bytes) -> torch.Tensor:
        return torch.from_numpy(self.decode(file))[None].to(self.given.device)

    def rate(self, pipeline: Callable, files: list[bytes], given: argparse.Namespace) -> float:
        batch = min(len(files), 64)
        height, width, _ = self.decode(files[0]).shape
        room = [
            torch.empty((batch, height, width, 3), dtype=torch.uint8, pin_memory=given.cuda) for _ in "ab"
        ]
        rounds = 12 if given.cuda else 1
        with ThreadPoolExecutor(self.threads) as pool:

            def fill(target: torch.Tensor) -> list:
                views = target.numpy()

                def into(i: int) -> None:
                    views[i] = self.decode(files[i])

                return [pool.submit(into, i) for i in range(batch)]

            waiting = fill(room[0])
            began = 0.0
            for turn in range(rounds + 1):
                for job in waiting:
                    job.result()
                if turn == 1:  # the first batch warms up
                    began = time.perf_counter()
                photos = room[turn % 2].to(given.device, non_blocking=True)
                if given.cuda:
                    torch.cuda.current_stream().synchronize()  # the room is free again once it is copied
                waiting = fill(room[(turn + 1) % 2])
                with torch.no_grad():
                    rows = pipeline(photos)[2]
            rows.cpu()
            return round(rounds * batch / (time.perf_counter() - began), 1)


def on_device(
    one_at_a_time: Callable, batched: Callable, files: list[bytes], given: argparse.Namespace
) -> dict[str, Any]:
    """Files decoded by the GPU's own decoder, through torchvision."""
    from torchvision.io import decode_jpeg

    data = [torch.frombuffer(bytearray(file), dtype=torch.uint8) for file in files]

    def pixels(some: list[torch.Tensor]) -> torch.Tensor:
        return torch.stack(decode_jpeg(some, device=given.device)).permute(0, 2, 3, 1).contiguous()

    def all_of_them() -> None:
        with torch.no_grad():
            batched(pixels(data))[2].cpu()

    all_of_them()
    began, rounds = time.perf_counter(), 5
    for _ in range(rounds):
        all_of_them()
    per_s = round(rounds * len(data) / (time.perf_counter() - began), 1)
    return {
        "batch_1_ms": latency(lambda f: one_at_a_time(pixels([f])), data, given),
        "photos_per_s": per_s,
    }


@torch.no_grad()
def latency(locate: Callable, files: list, given: argparse.Namespace) -> dict[str, float]:
    times = []
    for i in range(60 if given.cuda else 2):
        began = time.perf_counter()
        locate(files[i % len(files)])[2].cpu()
        times.append(1e3 * (time.perf_counter() - began))
    times = times[5:] or times
    return {"median": round(statistics.median(times), 2), "p95": round(float(np.percentile(times, 95)), 2)}


def tried(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except Exception as error:  # a decoder that is not there, or not for this GPU
        return f"not measured: {type(error).__name__}: {str(error)[:200]}"
