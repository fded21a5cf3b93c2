"""No photo holds a worker for longer than it may: its decoder is ended, and the next photo finds another."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image

from nadirfix.errors import InputError
from nadirfix.image.decode import DecodeResolution, decode
from nadirfix.serve import decoding
from nadirfix.serve.decoding import LimitedDecoder, is_ordinary
from nadirfix.serve.options import ServeOptions
from nadirfix.serve.uploads.parameters import RequestParameters
from tests.hostile_photos import base_photos, jpeg_of_scans
from tests.photos import corners, encoded
from tests.serving import running, small_bundle

LIMIT = 1_000_000
#: Reads a request as the real one does, and never answers.
STUCK = "import sys, time; sys.stdin.buffer.readline(); time.sleep(600)"


@pytest.fixture
def decoder() -> Iterator[LimitedDecoder]:
    limited = LimitedDecoder(within_s=60)
    yield limited
    limited.close()


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def png(side_px: int = 64) -> bytes:
    return encoded(Image.fromarray(corners(side_px, side_px)), "PNG")


def test_pixels_are_those_of_decoding_here(decoder: LimitedDecoder) -> None:
    for photo in base_photos():
        assert np.array_equal(decoder(photo, max_pixels=LIMIT), decode(photo, max_pixels=LIMIT))
    smaller = DecodeResolution((160, 120), (40, 30))
    photo = encoded(Image.fromarray(corners(160, 120)), "JPEG", progressive=True)
    assert not is_ordinary(photo)
    assert decoder(photo, max_pixels=LIMIT, resolution=smaller).shape == (30, 40, 3)


def test_errors_are_those_of_decoding_here(decoder: LimitedDecoder) -> None:
    for photo in (png(2000), png()[:100], b"no photo", jpeg_of_scans(100, side_px=64)):
        with pytest.raises(InputError) as here:
            decode(photo, max_pixels=LIMIT)
        with pytest.raises(InputError) as there:
            decoder(photo, max_pixels=LIMIT)
        assert there.value.to_dict() == here.value.to_dict()


def test_an_ordinary_photo_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a process was started"))
    photo = encoded(Image.fromarray(corners(64, 48)), "JPEG", quality=95)
    assert is_ordinary(photo)
    assert LimitedDecoder(1.0)(photo, max_pixels=LIMIT).shape == (48, 64, 3)


def test_a_decoder_that_never_ends_is_ended_and_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    usual, started = subprocess.Popen, list[subprocess.Popen[bytes]]()

    def first_is_stuck(command: tuple[str, ...], **settings: object) -> subprocess.Popen[bytes]:
        stuck = (command[0], "-c", STUCK)
        started.append(usual(command if started else stuck, **settings))  # type: ignore[call-overload]
        return started[-1]

    monkeypatch.setattr(decoding.subprocess, "Popen", first_is_stuck)
    limited, began_s = LimitedDecoder(within_s=2.0), time.monotonic()
    with pytest.raises(InputError, match=r"took 2 s") as caught:
        limited(png(), max_pixels=LIMIT)
    assert time.monotonic() - began_s < 20
    assert caught.value.code == "photo.unreadable"
    assert started[0].returncode == -signal.SIGKILL
    limited._within_s = 60.0
    assert limited(png(), max_pixels=LIMIT).shape == (64, 64, 3)
    limited.close()
    assert all(child.returncode is not None for child in started)


def test_processes_are_used_again_and_leave_no_pipe_open(decoder: LimitedDecoder) -> None:
    decoder(png(), max_pixels=LIMIT)
    before = open_files()
    work = partial(decoder, png(), max_pixels=LIMIT)
    threads = [threading.Thread(target=work) for _ in range(3)]
    for _ in range(5):
        work()
    assert open_files() == before
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    decoder.close()
    assert open_files() < before


def test_what_is_killed_from_outside_is_replaced(decoder: LimitedDecoder) -> None:
    decoder(png(), max_pixels=LIMIT)
    (child,) = decoder._idle
    child.kill()
    child.wait()
    assert decoder(png(), max_pixels=LIMIT).shape == (64, 64, 3)


def test_the_system_limits_the_memory_of_a_decoder(decoder: LimitedDecoder) -> None:
    decoder(png(), max_pixels=LIMIT)
    (child,) = decoder._idle
    limits = Path(f"/proc/{child.pid}/limits").read_text("utf-8")
    assert f"Max data size             {32 * LIMIT + (256 << 20)}" in limits


class Reading:
    """Decodes photos as the service does, and says how large they are instead of where."""

    def __init__(self, within_s: float) -> None:
        self.decoder = LimitedDecoder(within_s)

    def __call__(self, photo: bytes, parameters: RequestParameters) -> dict[str, Any]:
        size = self.decoder(photo, max_pixels=LIMIT).shape
        return {"photo": parameters.name, "status": "no_fix", "reason": str(size)}


def test_photos_that_never_end_do_not_stop_the_service(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As many as there are workers, and more: each is refused in time, and the next photo is answered."""
    usual, stuck = subprocess.Popen, [True]

    def perhaps_stuck(command: tuple[str, ...], **settings: object) -> subprocess.Popen[bytes]:
        used = (command[0], "-c", STUCK) if stuck[0] else command
        return usual(used, **settings)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(decoding.subprocess, "Popen", perhaps_stuck)
    reading, headers = Reading(within_s=2.0), {"Content-Type": "image/png"}
    options = ServeOptions(at_once=2, photo_s=60.0)
    with running(small_bundle(tmp_path), options, reading) as service, ThreadPoolExecutor(4) as pool:
        post = partial(httpx.post, f"{service.url}/v1/locate", headers=headers, timeout=60)
        answers = list(pool.map(lambda _: post(content=png()), range(4)))
        assert [answer.status_code for answer in answers] == [422] * 4
        stuck[0], reading.decoder._within_s = False, 60.0
        assert httpx.get(f"{service.url}/readyz", timeout=60).json()["stuck"] == 0
        assert post(content=png()).json()["reason"] == "(64, 64, 3)"
    reading.decoder.close()
