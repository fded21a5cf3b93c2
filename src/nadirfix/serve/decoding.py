"""Decodes photos so that none can hold a worker: a process of its own for all but ordinary ones (ADR 55).

An ordinary photo, a JPEG that comes in one go, is decoded where it is: its decoder reads every byte once and
cannot take long. Any other goes to a process that is ended when its time is over, and replaced.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from nadirfix.image.decode import DecodeResolution, decode
from nadirfix.image.decode_child import ask
from nadirfix.image.headers import jpeg_work
from nadirfix.image.photo_source import Photo, unreadable

__all__ = ["LimitedDecoder", "is_ordinary"]

_COMMAND = (sys.executable, "-P", "-m", "nadirfix.image.decode_child")


def is_ordinary(photo: bytes) -> bool:
    """Whether it is a JPEG as cameras write them, all of it in one go."""
    return photo.startswith(b"\xff\xd8\xff") and jpeg_work(photo).in_one_go


class LimitedDecoder:
    """Decodes photos as ``decode`` does, each within a time; safe to use from several threads."""

    def __init__(self, within_s: float) -> None:
        self._within_s, self._lock = within_s, threading.Lock()
        self._idle: list[subprocess.Popen[bytes]] = []

    def __call__(
        self, photo: Photo, *, max_pixels: int, resolution: DecodeResolution | None = None
    ) -> NDArray[np.uint8]:
        """The photo's pixels; an error where that takes too long, or its decoder breaks down."""
        if not isinstance(photo, bytes) or is_ordinary(photo):
            return decode(photo, max_pixels=max_pixels, resolution=resolution)
        child = self._take()
        overdue = threading.Timer(self._within_s, child.kill)
        overdue.start()
        try:
            return self._pixels(child, photo, max_pixels, resolution)
        except (EOFError, OSError, ValueError) as error:
            _end(child)
            do = "save it again with a photo program, as an ordinary JPEG"
            raise unreadable(photo, f"its decoder broke down, or took {self._within_s:g} s", do) from error
        finally:
            overdue.cancel()
            self._give_back(child)

    def close(self) -> None:
        """End the processes that are waiting; those at work end with their photos."""
        with self._lock:
            idle, self._idle = self._idle, []
        for child in idle:
            _end(child)

    def _pixels(
        self,
        child: subprocess.Popen[bytes],
        photo: bytes,
        max_pixels: int,
        resolution: DecodeResolution | None,
    ) -> NDArray[np.uint8]:
        to, answers = cast(BinaryIO, child.stdin), cast(BinaryIO, child.stdout)
        return ask(to, answers, photo, max_pixels=max_pixels, resolution=resolution, within_s=self._within_s)

    def _take(self) -> subprocess.Popen[bytes]:
        """One that waits, or a new one, which a Ctrl-C in the terminal does not reach."""
        with self._lock:
            while self._idle:
                if (child := self._idle.pop()).poll() is None:
                    return child
                _end(child)
        pipe = subprocess.PIPE
        return subprocess.Popen(
            _COMMAND, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, start_new_session=True
        )

    def _give_back(self, child: subprocess.Popen[bytes]) -> None:
        if child.poll() is None and child.stdin is not None and not child.stdin.closed:
            with self._lock:
                self._idle.append(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a process for good, and let go of its pipes."""
    child.kill()
    child.wait()
    for pipe in (child.stdin, child.stdout):
        try:
            if pipe is not None:
                pipe.close()
        except OSError:  # what could not be written to it any more
            continue
