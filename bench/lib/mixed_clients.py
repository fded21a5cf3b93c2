"""Clients of every manner at once, each with a loopback address of its own, and what the polite ones meet."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from bench.lib.raw_requests import requests_of
from bench.lib.service_clients import answer, request

__all__ = ["Crowd", "Met"]

#: Requests a rude client has under way at a time.
AT_ONCE = 4


@dataclass
class Met:
    """What clients met; ``texts`` has the answers to each photo, without what took how long."""

    began_s: float = field(default_factory=time.monotonic)
    answers: list[float] = field(default_factory=list)
    refusals: int = 0
    rude_answers: int = 0
    rude_refusals: int = 0
    failures: list[str] = field(default_factory=list)
    texts: dict[int, set[str]] = field(default_factory=dict)
    samples: list[tuple[float, float, int]] = field(default_factory=list)  # seconds, MB, open files


@dataclass(frozen=True)
class Crowd:
    """Clients of one service."""

    port: int
    pid: int
    photos: list[bytes]

    async def run(self, seconds: float, *, polite: int, rude: int = 0, broken: int = 0, slow: int = 0) -> Met:
        """All of them until the time is over; who waits for an answer then still gets it."""
        met, until_s, turn = Met(), time.monotonic() + seconds, count()

        def over() -> bool:
            return time.monotonic() >= until_s

        kinds = [self._polite] * polite + [self._rude] * rude * AT_ONCE
        kinds += [self._broken] * broken + [self._slow] * slow
        watch = asyncio.create_task(self._watch(met))
        addresses = [
            f"127.0.0.{2 + (k if k < polite else polite + (k - polite) // AT_ONCE)}"
            for k in range(len(kinds))
        ]
        await asyncio.gather(
            *(_until(over, kind, address, met, turn) for kind, address in zip(kinds, addresses, strict=True))
        )
        watch.cancel()
        return met

    async def _polite(self, address: str, met: Met, turn: Any, over: Callable[[], bool]) -> None:
        """One photo at a time, and after a refusal the same one again when the time has come."""
        reader, writer = await self._connect(address)
        number = next(turn) % len(self.photos)
        while not over():
            writer.write(request(self.port, self.photos[number]))
            status, retry_s, text = await answer(reader)
            if status == 200:
                met.answers.append(time.monotonic())
                met.texts.setdefault(number, set()).add(_without_times(text))
                number = next(turn) % len(self.photos)
            elif status == 429:
                met.refusals += 1
                until_s = time.monotonic() + retry_s
                while not over() and time.monotonic() < until_s:
                    await asyncio.sleep(0.1)
            else:
                met.failures.append(f"{status} {text[:200]!r}")
        writer.close()

    async def _rude(self, address: str, met: Met, turn: Any, over: Callable[[], bool]) -> None:
        """Again at once whatever the answer, on this connection or, every other client, on a new one."""
        keeps = next(turn) % 2 == 0
        reader, writer = await self._connect(address)
        while not over():
            writer.write(request(self.port, self.photos[0]))
            status, _, _ = await answer(reader)
            met.rude_answers += status == 200
            met.rude_refusals += status == 429
            if not keeps:
                writer.close()
                reader, writer = await self._connect(address)
        writer.close()

    async def _broken(self, address: str, _met: Met, turn: Any, over: Callable[[], bool]) -> None:
        """Damaged requests, one connection each."""
        for _, raw in requests_of(self.photos[0], 10_000, seed=next(turn)):
            if over():
                return
            reader, writer = await self._connect(address)
            try:
                writer.write(raw)
                writer.write_eof()
                async with asyncio.timeout(30):
                    await reader.read()
            finally:
                writer.close()
            await asyncio.sleep(0.05)

    async def _slow(self, address: str, _met: Met, _turn: Any, over: Callable[[], bool]) -> None:
        """A photo byte by byte, until the service has had enough."""
        _, writer = await self._connect(address)
        for byte in request(self.port, self.photos[0]):
            if over():
                break
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0.2)
        writer.close()

    async def _connect(self, address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port, local_addr=(address, 0))

    async def _watch(self, met: Met) -> None:
        began_s, page_mb = time.monotonic(), os.sysconf("SC_PAGE_SIZE") / 2**20
        while True:
            resident = int(Path(f"/proc/{self.pid}/statm").read_text(encoding="utf-8").split()[1])
            files = len(list(Path(f"/proc/{self.pid}/fd").iterdir()))
            met.samples.append((time.monotonic() - began_s, resident * page_mb, files))
            await asyncio.sleep(1.0)


Manner = Callable[[str, Met, Any, Callable[[], bool]], Coroutine[Any, Any, None]]


async def _until(over: Callable[[], bool], kind: Manner, address: str, met: Met, turn: Any) -> None:
    """A client that is thrown out comes again; a polite one remembers that it was."""
    while not over():
        try:
            await kind(address, met, turn, over)
        except (OSError, asyncio.IncompleteReadError) as error:
            if kind.__name__ == "_polite":
                met.failures.append(f"{type(error).__name__}: {error}")
            await asyncio.sleep(0.05)


def _without_times(text: bytes) -> str:
    line = json.loads(text)
    line.pop("timings_ms", None)
    return json.dumps(line, sort_keys=True)
