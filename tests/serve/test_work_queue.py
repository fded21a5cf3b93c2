"""The queue before the model: full means refused at once, and whoever is taken is served."""

from __future__ import annotations

import asyncio
import threading
import time
from functools import partial

import pytest

pytest.importorskip("fastapi")

from nadirfix.errors import ServiceError
from nadirfix.serve.options import Pace
from nadirfix.serve.queue.service_time import ServiceTimes
from nadirfix.serve.queue.work_queue import Busy, ClientGone, Desk
from nadirfix.serve.queue.workers import Workers
from nadirfix.serve.uploads.body import Ledger

#: A queue that counts and reckons nothing.
COUNTED = Pace(deviations=0.0)


def test_answers_come_back_and_faults_too() -> None:
    async def story() -> None:
        assert await desk.ask(lambda: 42, patience_s=5) == 42
        with pytest.raises(ZeroDivisionError):
            await desk.ask(lambda: 1 // 0, patience_s=5)
        assert desk.taken == 0

    desk = Desk(capacity=1)
    asyncio.run(story())
    assert desk.stop(5)


def test_the_queue_never_grows_beyond_its_size() -> None:
    async def story() -> list[object]:
        asked = [asyncio.create_task(desk.ask(work, patience_s=20)) for _ in range(50)]
        await asyncio.sleep(0.1)
        assert desk.taken == 3
        gate.set()
        return await asyncio.gather(*asked, return_exceptions=True)

    gate, at_work, most = threading.Event(), [], []
    desk = Desk(capacity=3, pace=COUNTED)

    def work() -> int:
        at_work.append(1)
        most.append(len(at_work))
        gate.wait(20)
        at_work.pop()
        return len(most)

    answers = asyncio.run(story())
    assert [a for a in answers if isinstance(a, int)] == [1, 2, 3]
    assert sum(isinstance(a, Busy) for a in answers) == 47
    assert max(most) == 1  # one at a time
    assert desk.stop(5)


def test_the_refused_are_told_to_come_one_after_another() -> None:
    async def story() -> list[int]:
        for _ in range(30):  # the usual time becomes about 50 ms
            await desk.ask(lambda: time.sleep(0.05), patience_s=5)
        holders = [asyncio.create_task(desk.ask(lambda: gate.wait(20), patience_s=20)) for _ in range(10)]
        await asyncio.sleep(0)
        usual_s.append(desk.gate.reckoning.usual_s)
        waits = []
        for _ in range(200):
            with pytest.raises(Busy) as refusal, desk.seat():
                pass
            waits.append(refusal.value.retry_after_s)
        gate.set()
        await asyncio.gather(*holders)
        return waits

    usual_s: list[float] = []
    gate, desk = threading.Event(), Desk(capacity=10, pace=COUNTED)
    waits = asyncio.run(story())
    queue_s = 10 * usual_s[0]
    assert waits == sorted(waits) and waits[0] == 1
    assert queue_s < waits[-1] <= 4 * queue_s + 1, f"{waits[-1]} s for a queue of {queue_s:.2f} s"
    assert desk.stop(5)


def test_what_takes_too_long_is_given_up_and_never_begun() -> None:
    async def story() -> None:
        first = asyncio.create_task(desk.ask(lambda: gate.wait(20), patience_s=20))
        await asyncio.sleep(0.05)
        assert desk.stuck == 0
        with pytest.raises(ServiceError) as late:
            await desk.ask(lambda: begun.append(1), patience_s=0.05)
        assert late.value.code == "service.timeout"
        gate.set()
        await first

    begun: list[int] = []
    gate, desk = threading.Event(), Desk(capacity=5, pace=COUNTED)
    asyncio.run(story())
    assert desk.stop(5)
    assert not begun and desk.taken == 0


def test_a_client_that_hangs_up_frees_its_place() -> None:
    async def story() -> None:
        first = asyncio.create_task(desk.ask(lambda: gate.wait(20), patience_s=20))
        await asyncio.sleep(0.05)
        gone = asyncio.create_task(asyncio.sleep(0.05))
        with pytest.raises(ClientGone):
            await desk.ask(lambda: begun.append(1), patience_s=20, gone=gone)
        assert desk.taken == 1
        gate.set()
        await first

    begun: list[int] = []
    gate, desk = threading.Event(), Desk(capacity=5, pace=COUNTED)
    asyncio.run(story())
    assert desk.stop(5)
    assert not begun


def test_stopping_finishes_what_was_taken_and_takes_nothing_new() -> None:
    async def story() -> None:
        asked = [asyncio.create_task(desk.ask(lambda: time.sleep(0.05), patience_s=20)) for _ in range(4)]
        await asyncio.sleep(0)
        await asyncio.to_thread(desk.stop, 5)
        with pytest.raises(ServiceError) as refusal:
            await desk.ask(lambda: 1, patience_s=1)
        assert refusal.value.code == "service.stopping"
        await asyncio.gather(*asked)

    desk = Desk(capacity=5, pace=COUNTED)
    asyncio.run(story())


def test_reserved_work_passes_a_full_queue() -> None:
    async def story() -> None:
        first = asyncio.create_task(desk.ask(lambda: gate.wait(20), patience_s=20))
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await desk.ask(lambda: 1, patience_s=1)
        second = asyncio.create_task(desk.ask(lambda: 2, patience_s=20, reserved=True))
        await asyncio.sleep(0)
        gate.set()
        assert await second == 2
        await first

    gate, desk = threading.Event(), Desk(capacity=1)
    asyncio.run(story())
    assert desk.stop(5)


def test_the_ledger_refuses_what_is_too_much_and_forgets_what_is_settled() -> None:
    ledger = Ledger(100)
    with ledger.account() as account:
        account.take(60)
        with pytest.raises(Busy), ledger.account() as other:
            other.take(41)
        account.give(10)
        assert ledger.held_bytes == 50
    assert ledger.held_bytes == 0


def test_who_was_let_in_first_has_the_first_turn_however_long_the_photo_takes_to_come() -> None:
    async def story() -> list[str]:
        done: list[str] = []
        at_work = asyncio.create_task(desk.ask(lambda: gate.wait(20), patience_s=20))
        await asyncio.sleep(0.05)
        with desk.seat() as early, desk.seat() as late:
            second = asyncio.create_task(desk.ask(lambda: done.append("late"), patience_s=20, seat=late))
            await asyncio.sleep(0.05)
            first = asyncio.create_task(desk.ask(lambda: done.append("early"), patience_s=20, seat=early))
            await asyncio.sleep(0.05)
            gate.set()
            await asyncio.gather(at_work, first, second)
        return done

    gate, desk = threading.Event(), Desk(capacity=5, pace=COUNTED)
    assert asyncio.run(story()) == ["early", "late"]
    assert desk.stop(5)


def test_what_the_gate_tells_is_what_it_goes_by() -> None:
    async def story() -> None:
        for _ in range(20):
            await desk.ask(lambda: time.sleep(0.02), patience_s=5)
        told = desk.gate.reckoning
        assert told.usual_s == pytest.approx(0.02, rel=0.5)
        assert desk.gate.expected_s == pytest.approx(told.usual_s)
        with desk.seat():
            assert desk.gate.expected_s == pytest.approx(2 * told.usual_s)
        assert desk.gate.bound_s == pytest.approx(16 * told.usual_s)
        assert told.sure_s(desk.gate.places, Pace().deviations) <= desk.gate.bound_s

    desk = Desk(capacity=16)
    asyncio.run(story())
    assert desk.stop(5)


def test_as_many_pieces_are_at_work_at_once_as_there_are_workers() -> None:
    async def story() -> list[int]:
        asked = [asyncio.create_task(desk.ask(work, patience_s=20)) for _ in range(6)]
        return await asyncio.gather(*asked)

    both, at_work, most = threading.Barrier(2), [], []
    desk = Desk(capacity=6, workers=2, pace=COUNTED)

    def work() -> int:
        at_work.append(1)
        most.append(len(at_work))
        both.wait(10)  # broken where the other never comes
        at_work.pop()
        return 1

    assert asyncio.run(story()) == [1] * 6
    assert max(most) == 2
    assert desk.stop(5)


def test_what_is_stuck_holds_up_no_other_worker_and_is_not_reckoned_with() -> None:
    async def story() -> None:
        stuck = asyncio.create_task(desk.ask(lambda: gate.wait(20), patience_s=20))
        await asyncio.sleep(0.25)
        assert (desk.stuck, desk.able, desk.taken) == (1, 1, 0)
        assert desk.gate.bound_s == pytest.approx(16 * desk.gate.reckoning.usual_s)
        others = [asyncio.create_task(desk.ask(lambda: 7, patience_s=5)) for _ in range(5)]
        assert await asyncio.gather(*others) == [7] * 5
        assert not stuck.done()
        gate.set()
        await stuck
        assert (desk.stuck, desk.able) == (0, 2)
        assert desk.gate.bound_s == pytest.approx(8 * desk.gate.reckoning.usual_s)

    gate, desk = threading.Event(), Desk(capacity=16, workers=2, stuck_s=0.2)
    asyncio.run(story())
    assert desk.stop(5)


def test_stopping_finishes_all_that_is_at_work_and_waits_for_the_stuck_no_longer_than_it_may() -> None:
    async def story() -> None:
        asked = [asyncio.create_task(desk.ask(work, patience_s=20)) for work in works]
        await asyncio.sleep(0.05)
        began_s = time.monotonic()
        assert not await asyncio.to_thread(desk.stop, 0.5)
        assert time.monotonic() - began_s < 3
        assert [task.done() for task in asked] == [False, True, True] and done == ["quick", "waited"]
        gate.set()
        assert await asyncio.gather(*asked)

    gate, done = threading.Event(), []
    works = [
        lambda: gate.wait(20),
        lambda: (time.sleep(0.2), done.append("quick")),
        lambda: done.append("waited"),
    ]
    desk = Desk(capacity=5, workers=2, pace=COUNTED)
    asyncio.run(story())
    assert desk.stop(5)


def test_a_thread_that_cannot_start_is_not_counted_and_its_work_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    workers = Workers(ServiceTimes(COUNTED), threads=1, stuck_s=20)
    with monkeypatch.context() as full, pytest.raises(RuntimeError, match="new thread"):
        full.setattr(threading.Thread, "start", fail)
        workers.put(lambda: 1, turn=0)
    assert workers.count == 0
    assert workers.put(lambda: 2, turn=1).result(5) == 2
    assert workers.stop(5)


def test_turns_are_begun_in_their_order_by_whichever_worker_is_free() -> None:
    async def story() -> None:
        asked = [asyncio.create_task(desk.ask(partial(work, i), patience_s=20)) for i in range(8)]
        await asyncio.gather(*asked)

    begun: list[int] = []
    desk = Desk(capacity=8, workers=2, pace=COUNTED)

    def work(number: int) -> None:
        begun.append(number)
        time.sleep(0.01 if number % 3 else 0.05)

    asyncio.run(story())
    assert all(abs(place - number) <= 1 for place, number in enumerate(begun)), begun
    assert desk.stop(5)
