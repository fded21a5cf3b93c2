"""A process that decodes photos for another one, which may end it at any moment (ADR 55).

Requests come on standard input, answers go to standard output: a line of JSON, and behind it the bytes of the
photo, or of its pixels. Nothing that a broken decoder might send can be more than a picture.
"""

from __future__ import annotations

import io
import json
import math
import os
import signal
import sys
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from nadirfix.errors import InputError
from nadirfix.image.decode import DecodeResolution, decode

__all__ = ["ask", "serve"]

#: Memory a decoder may take for each pixel that is allowed, and beside that.
_BYTES_PER_PIXEL, _SPARE_BYTES = 32, 256 << 20
#: Should nobody be left to end this process, it ends itself so much later than it should have been ended.
_GRACE_S = 5.0


def ask(
    to: BinaryIO,
    answers: BinaryIO,
    photo: bytes,
    *,
    max_pixels: int,
    resolution: DecodeResolution | None,
    within_s: float,
) -> NDArray[np.uint8]:
    """The pixels of a photo from a process that runs ``serve``; EOFError where it was ended meanwhile."""
    sizes = resolution and (resolution.whole_px, resolution.least_px)
    request = {"bytes": len(photo), "max_pixels": max_pixels, "sizes": sizes, "within_s": within_s}
    to.write(json.dumps(request).encode() + b"\n" + photo)
    to.flush()
    answer = json.loads(answers.readline() or b"null")
    if answer is None:
        raise EOFError
    if "error" in answer:
        code, what, seen, do = answer["error"]
        raise InputError(code, what, seen=seen, do=do)
    height, width = answer["size"]
    pixels = np.empty((height, width, 3), np.uint8)
    if cast(io.BufferedReader, answers).readinto(pixels.data.cast("B")) != pixels.nbytes:
        raise EOFError
    return pixels


def serve(requests: BinaryIO, to: BinaryIO) -> None:
    """Decode what comes until nothing more does."""
    while line := requests.readline():
        request = json.loads(line)
        photo = requests.read(request["bytes"])
        _limit(request["max_pixels"], request["within_s"])
        try:
            pixels = decode(photo, max_pixels=request["max_pixels"], resolution=_resolution(request["sizes"]))
        except InputError as error:
            parts = (error.code, error.what, error.seen, error.do)
            to.write(json.dumps({"error": parts}).encode() + b"\n")
        else:
            to.write(json.dumps({"size": pixels.shape[:2]}).encode() + b"\n")
            to.write(np.ascontiguousarray(pixels).data.cast("B"))
        to.flush()
        signal.setitimer(signal.ITIMER_REAL, 0)


def _resolution(sizes: Any) -> DecodeResolution | None:
    return sizes and DecodeResolution(tuple(sizes[0]), tuple(sizes[1]))


def _limit(max_pixels: int, within_s: float) -> None:
    """An end to time and memory, whatever a decoder does: the system sees to both."""
    signal.setitimer(signal.ITIMER_REAL, min(within_s + _GRACE_S, 1e6) if within_s < math.inf else 0)
    if sys.platform == "linux":
        import resource

        limit = max_pixels * _BYTES_PER_PIXEL + _SPARE_BYTES
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (limit if hard < 0 else min(limit, hard), hard))


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    with os.fdopen(os.dup(1), "wb") as pipe:
        os.dup2(2, 1)  # what a library prints must not come between the answers
        serve(sys.stdin.buffer, pipe)
