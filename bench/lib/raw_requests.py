"""HTTP as no client should write it: requests made from a grammar and then damaged. Repeatable by seed."""

# ruff: noqa: E501 (a request in one line is easier to read than in two)
from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

__all__ = ["Outcome", "requests_of", "send"]

Draw = np.random.Generator

_PATHS = [
    b"/healthz", b"/readyz", b"/metrics", b"/", b"/openapi.json", b"/v1/bundle", b"/v1/locate", b"/v1/locate/batch",
    b"/v1/tiles/0/0/0.jpg", b"/v1/tiles/99/-1/1e9.jpg", b"/v1/references/0.jpg", b"/v1/references.geojson",
    b"/../../etc/passwd", b"/%2e%2e/%00", b"*", b"http://evil.example/", b"//", b"/?" + b"a=" * 500, b"/\xff\xfe",
    b"/v1/locate?camera=640x480@500&altitude=%00", b"/v1/locate?near=1e999,0", b"/v1/locate?name=" + b"%1b" * 90,
]  # fmt: skip
_METHODS = [
    b"GET",
    b"POST",
    b"HEAD",
    b"OPTIONS",
    b"PUT",
    b"TRACE",
    b"CONNECT",
    b"get",
    b"G\x00T",
    b"M" * 300,
    b"",
]
_VERSIONS = [b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2.0", b"HTTP/9", b"http/1.1", b"HTTP/1.1.1", b"", b"HTTP/-1.1"]
_HEADERS = [
    b"Host: localhost", b"Host: 127.0.0.1", b"Host: evil.example", b"Host:", b"Host: a\r\nHost: b", b"Host: [::",
    b"Content-Type: image/jpeg", b"Content-Type: multipart/form-data; boundary=cut", b"Content-Type: \xff",
    b"Content-Type: multipart/form-data", b"Content-Type: multipart/form-data; boundary=" + b"x" * 500,
    b"Content-Length: 5", b"Content-Length: -1", b"Content-Length: 99999999999999999999", b"Content-Length: 0x10",
    b"Content-Length: 5, 5", b"Content-Length: +5", b"Content-Length: \xb2", b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: gzip, chunked", b"Transfer-Encoding: xchunked", b"Transfer-Encoding : chunked",
    b"Transfer-Encoding:\tchunked", b"Expect: 100-continue", b"Expect: magic", b"Connection: close",
    b"Connection: keep-alive, upgrade", b"Upgrade: websocket", b"Upgrade: h2c", b"Origin: null",
    b"Origin: https://evil.example", b"Sec-Fetch-Site: cross-site", b"Authorization: Bearer x", b"Range: bytes=0-1",
    b"If-None-Match: *", b"Accept-Encoding: br, gzip;q=-1", b" folded: line", b"No-Colon", b": empty", b"A\x00B: c",
    b"X: " + b"y" * 20_000, b"X-Forwarded-For: 1.2.3.4", b"Trailer: X", b"Cookie: " + b"a=b; " * 100, b"X: \x1b[2J\x07",
]  # fmt: skip
_BODIES = [
    b"", b"hello", b"5\r\nhello\r\n0\r\n\r\n", b"0\r\n\r\nGET /v1/bundle HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"ffffffffffffffff\r\n", b"-1\r\n", b"5;ext=\x00\r\nhello\r\n0\r\nX: y\r\n\r\n", b"--cut\r\n", b"--cut--\r\n",
    b"--cut\r\nContent-Disposition: form-data; name=photo; filename=a\r\n\r\nx\r\n--cut--\r\n",
    b"--cut\r\n" + b"X: y\r\n" * 200, b"--cut\r\nContent-Disposition: form-data; name=\x00\r\n\r\n" + b"z" * 5000,
]  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What came back: the status of the first answer, and whether the other side kept us waiting too long."""

    status: int | None
    seconds: float
    hangs: bool


def requests_of(photo: bytes, count: int, *, seed: int) -> Iterator[tuple[str, bytes]]:
    """So many requests, each with the kind of what was done to it."""
    draw = np.random.default_rng(seed)
    kinds: dict[str, Callable[[Draw, bytes], bytes]] = {
        "grammar": _grammar,
        "good": _good,
        "flipped": lambda d, p: _flipped(d, _good(d, p)),
        "cut": lambda d, p: (raw := _good(d, p))[: d.integers(len(raw))],
        "spliced": lambda d, p: _spliced(d, _good(d, p), _grammar(d, p)),
        "two ends": _two_ends,
        "pipelined": lambda d, p: b"".join(_good(d, p) for _ in range(d.integers(2, 6))),
        "noise": lambda d, _: d.bytes(int(d.integers(1, 3000))),
    }
    names = list(kinds)
    for _ in range(count):
        kind = names[draw.integers(len(names))]
        yield kind, kinds[kind](draw, photo)


def send(port: int, raw: bytes, *, limit_s: float, still_s: float = 0.5) -> Outcome:
    """Send it and read until the other side closes, or has answered and is still; else it hangs."""
    began_s, received, hangs = time.monotonic(), b"", False
    with socket.create_connection(("127.0.0.1", port), timeout=limit_s) as line:
        try:
            line.sendall(raw)
            while piece := line.recv(65536):
                received += piece
                line.settimeout(still_s)
        except TimeoutError:
            hangs = not received
        except OSError:  # closed while we were still sending: that is an answer, too
            pass
    return Outcome(_status(received), time.monotonic() - began_s, hangs)


def _status(received: bytes) -> int | None:
    words = received[:15].split(b" ")
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else None


def _pick(draw: Draw, options: list[bytes]) -> bytes:
    return options[draw.integers(len(options))]


def _grammar(draw: Draw, photo: bytes) -> bytes:
    """A line, headers and a body that need not fit together."""
    end = _pick(draw, [b"\r\n"] * 8 + [b"\n", b"\r"])
    line = b" ".join([_pick(draw, _METHODS), _pick(draw, _PATHS), _pick(draw, _VERSIONS)])
    headers = [_pick(draw, _HEADERS) for _ in range(draw.integers(0, 8))]
    return end.join([line, b"Host: localhost", *headers, b"", _pick(draw, [*_BODIES, photo])])


def _good(draw: Draw, photo: bytes) -> bytes:
    """A request that is answered: a photo, or one of the paths."""
    if draw.random() < 0.5:
        return b"GET " + _pick(draw, _PATHS[:6]) + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
    head = b"POST /v1/locate HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n"
    return head % len(photo) + photo


def _two_ends(draw: Draw, _photo: bytes) -> bytes:
    """Headers that say twice where the body ends, in some order and spelling."""
    lengths = [b"Content-Length: %d" % draw.integers(0, 60), b"Content-Length: 0", b"Content-Length:  5 "]
    codings = [b"Transfer-Encoding: chunked", b"transfer-encoding: Chunked", b"Transfer-Encoding: identity"]
    headers = [_pick(draw, lengths), _pick(draw, codings)]
    draw.shuffle(headers)  # type: ignore[arg-type]
    lines = [b"POST /v1/locate HTTP/1.1", b"Host: localhost", *headers, b"Content-Type: image/jpeg", b"", b""]
    return b"\r\n".join(lines) + _pick(draw, _BODIES)


def _flipped(draw: Draw, raw: bytes) -> bytes:
    data = bytearray(raw)
    for _ in range(draw.integers(1, 12)):
        data[draw.integers(min(len(data), 400))] ^= 1 << draw.integers(8)
    return bytes(data)


def _spliced(draw: Draw, one: bytes, other: bytes) -> bytes:
    return one[: draw.integers(len(one))] + other[draw.integers(len(other)) :]
