"""Many clients of the service at once, and what they meet."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np


@dataclass
class Tally:
    """What the clients met: when photos were sent and answered, in seconds from the start."""

    answers: list[tuple[float, float]] = field(default_factory=list)
    refused: int = 0
    failed: list[str] = field(default_factory=list)
    rss_mb: list[tuple[float, float]] = field(default_factory=list)

    def done_s(self, until_s: float = np.inf) -> list[float]:
        return sorted(done for _, done in self.answers if done < until_s)


def cpu_of(pid: int) -> float:
    """Seconds a process has computed; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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

    def run(self, *, seconds: float = np.inf, answers: float = np.inf) -> Tally:
        """Until so much time has passed, or so many photos are answered; who waits then gets its answer."""
        return asyncio.run(self._run(seconds, answers))

    def cpu_s(self) -> float:
        return cpu_of(self.pid)

    async def _run(self, seconds: float, answers: float) -> Tally:
        tally, began_s, turn = Tally(), time.monotonic(), count()

        def over() -> bool:
            return time.monotonic() - began_s >= seconds or len(tally.answers) >= answers

        def body() -> bytes:
            return self.bodies[next(turn) % len(self.bodies)]

        watch = asyncio.create_task(watch_memory(tally, self.pid, began_s))
        crowd = [Client(tally, self.port, began_s, over, body) for _ in range(self.clients)]
        await asyncio.gather(*(one.run() for one in crowd))
        watch.cancel()
        return tally


@dataclass(frozen=True)
class Client:
    """Sends a photo, waits for its answer, takes the next."""

    tally: Tally
    port: int
    began_s: float
    over: Any
    next_body: Any

    async def run(self) -> None:
        while not self.over():
            try:
                await self._talk()
            except (OSError, asyncio.IncompleteReadError) as error:
                self.tally.failed.append(f"{type(error).__name__}: {error}")

    async def _talk(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        body = self.next_body()
        while not self.over():
            sent_s = time.monotonic()
            writer.write(body)
            status, retry_s, body_text = await answer(reader)
            if status == 200:
                self.tally.answers.append((sent_s - self.began_s, time.monotonic() - self.began_s))
                body = self.next_body()
            elif status == 429:
                self.tally.refused += 1
                await self._wait(retry_s)
            else:
                self.tally.failed.append(f"{status} {body_text[:200]!r}")
        writer.close()

    async def _wait(self, retry_s: float) -> None:
        """As long as the service says, unless all is over before."""
        until_s = time.monotonic() + retry_s
        while not self.over() and time.monotonic() < until_s:
            await asyncio.sleep(min(0.2, max(0.0, until_s - time.monotonic())))


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
