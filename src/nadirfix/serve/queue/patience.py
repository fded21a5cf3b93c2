"""Who was told to come back later, and when: those who come before their time have it begin anew (ADR 59).

Otherwise whoever asks again at once would take every place that becomes free, and those who wait would
find none. For a minute such a client is served by idle workers alone: the queue is for the others. A
client is known by its connection, which is kept for longer than anyone has to wait; one that hangs up and
dials again takes its waiting time along.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from nadirfix.serve.queue.admission import Busy

__all__ = ["Client", "Patience"]

#: The address and the port of a connection.
Client = tuple[str, int]

#: Clocks differ, and Retry-After is in whole seconds: so much too early is in time.
_TOLERANCE_S = 0.25
#: Who came too early is served by idle workers alone for so long.
_STANDBY_S = 60.0
#: While others stand by, who was answered before and waits as it should is told to wait no longer than this.
_REGULAR_S = 2
#: An address from which so many came early within that minute stands by as a whole.
_STRIKES = 5
#: Waiting times that are remembered of an address whose connections were closed.
_KEPT = 64


@dataclass(frozen=True, slots=True)
class _Wait:
    """Until when a client was told to wait, for how long, and until when it stands by, having come early."""

    until_s: float
    for_s: int
    standby_until_s: float = 0.0

    @property
    def ends_s(self) -> float:
        """From when on there is nothing to remember."""
        return max(self.until_s, self.standby_until_s)


@dataclass(slots=True, eq=False)
class Patience:
    """The waiting times of refused clients; ``clock`` is for tests."""

    clock: Callable[[], float] = time.monotonic
    _waits: dict[Client, _Wait] = field(default_factory=dict)
    _strikes: dict[str, deque[float]] = field(default_factory=dict)
    _answered: set[Client] = field(default_factory=set)
    _crowded_until_s: float = 0.0
    _orphans: dict[str, deque[_Wait]] = field(default_factory=dict)

    def check(self, client: Client | None, *, idle: bool) -> None:
        """Refuse a client that is here before its time, or was within the minute, unless a worker is idle."""
        wait = None if client is None else self._waits.pop(client, None) or self._inherited(client[0])
        if client is None:
            return
        now_s = self.clock()
        wait = wait or _Wait(now_s, _REGULAR_S)
        early_s = wait.until_s - now_s
        if early_s > _TOLERANCE_S:
            self._strikes.setdefault(client[0], deque(maxlen=_STRIKES)).append(now_s)
            standby_until_s = now_s + _STANDBY_S
        else:
            standby_until_s = max(wait.standby_until_s, self._address_until_s(client[0]))
        if standby_until_s <= now_s:
            return
        self._crowded_until_s = max(self._crowded_until_s, standby_until_s)
        until_s = now_s if idle else now_s + wait.for_s
        self._waits[client] = _Wait(until_s, wait.for_s, standby_until_s)
        if not idle:
            raise Busy(
                "this client did not wait as it was told",
                seen=f"{max(0.0, early_s):.1f} s too early; the time begins anew",
                retry_after_s=wait.for_s,
            )

    def answered(self, client: Client | None) -> None:
        """The client has been answered on its connection."""
        if client is not None:
            self._answered.add(client)

    def refused(self, client: Client | None, retry_after_s: int) -> int:
        """The client finds no place: after how many seconds it may come back.

        It is not made to wait for those who filled the queue and then did not wait themselves.
        """
        if client is None:
            return retry_after_s
        before, now_s = self._waits.get(client), self.clock()
        if client in self._answered and before is None and now_s < self._crowded_until_s:
            retry_after_s = min(retry_after_s, _REGULAR_S)
        standby_until_s = before.standby_until_s if before else 0.0
        self._waits[client] = _Wait(now_s + retry_after_s, retry_after_s, standby_until_s)
        return retry_after_s

    def disconnected(self, client: Client | None) -> None:
        """The connection is closed: whoever dials next from that address takes on what it owes."""
        wait = None if client is None else self._waits.pop(client, None)
        if client is not None:
            self._answered.discard(client)
        if client is not None and wait is not None and wait.ends_s > self.clock():
            self._orphans.setdefault(client[0], deque(maxlen=_KEPT)).append(wait)

    def _address_until_s(self, address: str) -> float:
        """Until when a whole address stands by."""
        strikes = self._strikes.get(address)
        return strikes[0] + _STANDBY_S if strikes and len(strikes) == _STRIKES else 0.0

    def _inherited(self, address: str) -> _Wait | None:
        """The rest of a time that an earlier connection of this address did not wait for."""
        self._forget_the_past()
        orphans = self._orphans.get(address)
        return orphans.pop() if orphans else None

    def _forget_the_past(self) -> None:
        now_s = self.clock()
        for address, waits in list(self._orphans.items()):
            current = [wait for wait in waits if wait.ends_s > now_s]
            if current:
                self._orphans[address] = deque(current, maxlen=_KEPT)
            else:
                del self._orphans[address]
        for address, strikes in list(self._strikes.items()):
            if strikes[-1] + _STANDBY_S <= now_s:
                del self._strikes[address]
