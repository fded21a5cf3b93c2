"""The work queue: a full one refuses at once, and every accepted job is run."""

from __future__ import annotations

import asyncio
import threading
import time
from functools import partial

import pytest

pytest.importorskip("fastapi")

from nadirfix.errors import ServiceError
from nadirfix.serve.options import QueueOptions
from nadirfix.serve.queue.service_time import ServiceTimes
from nadirfix.serve.queue.work_queue import Busy, ClientGone, WorkQueue
from nadirfix.serve.queue.workers import Workers
from nadirfix.serve.uploads.body import MemoryBudget
from tests.serving import run_async

#: A queue that counts jobs and estimates nothing.
COUNT_ONLY = QueueOptions(deviations=0.0)


def test_answers_come_back_and_faults_too() -> None:
    async def scenario() -> None:
        assert await queue.submit(lambda: 42, timeout_s=5) == 42
        with pytest.raises(ZeroDivisionError):
            await queue.submit(lambda: 1 // 0, timeout_s=5)
        assert queue.pending == 0

    queue = WorkQueue(capacity=1)
    run_async(scenario())
    assert queue.stop(5)


def test_the_queue_never_grows_beyond_its_size() -> None:
    async def scenario() -> list[object]:
        tasks = [asyncio.create_task(queue.submit(work, timeout_s=20)) for _ in range(50)]
        await asyncio.sleep(0.1)
        assert queue.pending == 3
        latch.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    latch, running, most = threading.Event(), [], []
    queue = WorkQueue(capacity=3, options=COUNT_ONLY)

    def work() -> int:
        running.append(1)
        most.append(len(running))
        latch.wait(20)
        running.pop()
        return len(most)

    answers = run_async(scenario())
    assert [a for a in answers if isinstance(a, int)] == [1, 2, 3]
    assert sum(isinstance(a, Busy) for a in answers) == 47
    assert max(most) == 1  # one at a time
    assert queue.stop(5)


def test_refused_clients_retry_one_after_another() -> None:
    async def scenario() -> list[int]:
        for _ in range(30):  # the mean service time becomes about 50 ms
            await queue.submit(lambda: time.sleep(0.05), timeout_s=5)
        holders = [asyncio.create_task(queue.submit(lambda: latch.wait(20), timeout_s=20)) for _ in range(10)]
        await asyncio.sleep(0)
        mean_s.append(queue.admission.estimate.mean_s)
        waits = []
        for _ in range(200):
            with pytest.raises(Busy) as refusal, queue.reserve():
                pass
            waits.append(refusal.value.retry_after_s)
        latch.set()
        await asyncio.gather(*holders)
        return waits

    mean_s: list[float] = []
    latch, queue = threading.Event(), WorkQueue(capacity=10, options=COUNT_ONLY)
    waits = run_async(scenario())
    queue_s = 10 * mean_s[0]
    assert waits == sorted(waits) and waits[0] == 1
    assert queue_s < waits[-1] <= 4 * queue_s + 1, f"{waits[-1]} s for a queue of {queue_s:.2f} s"
    assert queue.stop(5)


def test_a_job_that_waits_too_long_is_given_up_and_never_started() -> None:
    async def scenario() -> None:
        first = asyncio.create_task(queue.submit(lambda: latch.wait(20), timeout_s=20))
        await asyncio.sleep(0.05)
        assert queue.stuck == 0
        with pytest.raises(ServiceError) as late:
            await queue.submit(lambda: started.append(1), timeout_s=0.05)
        assert late.value.code == "service.timeout"
        latch.set()
        await first

    started: list[int] = []
    latch, queue = threading.Event(), WorkQueue(capacity=5, options=COUNT_ONLY)
    run_async(scenario())
    assert queue.stop(5)
    assert not started and queue.pending == 0


def test_a_client_that_hangs_up_frees_its_place() -> None:
    async def scenario() -> None:
        first = asyncio.create_task(queue.submit(lambda: latch.wait(20), timeout_s=20))
        await asyncio.sleep(0.05)
        disconnected = asyncio.create_task(asyncio.sleep(0.05))
        with pytest.raises(ClientGone):
            await queue.submit(lambda: started.append(1), timeout_s=20, disconnected=disconnected)
        assert queue.pending == 1
        latch.set()
        await first

    started: list[int] = []
    latch, queue = threading.Event(), WorkQueue(capacity=5, options=COUNT_ONLY)
    run_async(scenario())
    assert queue.stop(5)
    assert not started


def test_stopping_finishes_what_was_accepted_and_accepts_nothing_new() -> None:
    async def scenario() -> None:
        tasks = [asyncio.create_task(queue.submit(lambda: time.sleep(0.05), timeout_s=20)) for _ in range(4)]
        await asyncio.sleep(0)
        await asyncio.to_thread(queue.stop, 5)
        with pytest.raises(ServiceError) as refusal:
            await queue.submit(lambda: 1, timeout_s=1)
        assert refusal.value.code == "service.stopping"
        await asyncio.gather(*tasks)

    queue = WorkQueue(capacity=5, options=COUNT_ONLY)
    run_async(scenario())


def test_admitted_jobs_pass_a_full_queue() -> None:
    async def scenario() -> None:
        first = asyncio.create_task(queue.submit(lambda: latch.wait(20), timeout_s=20))
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await queue.submit(lambda: 1, timeout_s=1)
        second = asyncio.create_task(queue.submit(lambda: 2, timeout_s=20, admitted=True))
        await asyncio.sleep(0)
        latch.set()
        assert await second == 2
        await first

    latch, queue = threading.Event(), WorkQueue(capacity=1)
    run_async(scenario())
    assert queue.stop(5)


def test_the_memory_budget_refuses_what_is_too_much_and_gets_leases_back() -> None:
    budget = MemoryBudget(100)
    with budget.lease() as lease:
        lease.acquire(60)
        with pytest.raises(Busy), budget.lease() as other:
            other.acquire(41)
        lease.release(10)
        assert budget.held_bytes == 50
    assert budget.held_bytes == 0


def test_the_first_reservation_has_the_first_turn_however_long_its_upload_takes() -> None:
    async def scenario() -> list[str]:
        done: list[str] = []
        running = asyncio.create_task(queue.submit(lambda: latch.wait(20), timeout_s=20))
        await asyncio.sleep(0.05)
        with queue.reserve() as early, queue.reserve() as late:
            second = asyncio.create_task(
                queue.submit(lambda: done.append("late"), timeout_s=20, reservation=late)
            )
            await asyncio.sleep(0.05)
            first = asyncio.create_task(
                queue.submit(lambda: done.append("early"), timeout_s=20, reservation=early)
            )
            await asyncio.sleep(0.05)
            latch.set()
            await asyncio.gather(running, first, second)
        return done

    latch, queue = threading.Event(), WorkQueue(capacity=5, options=COUNT_ONLY)
    assert run_async(scenario()) == ["early", "late"]
    assert queue.stop(5)


def test_the_waits_that_are_published_are_those_that_decide() -> None:
    async def scenario() -> None:
        for _ in range(20):
            await queue.submit(lambda: time.sleep(0.02), timeout_s=5)
        estimate = queue.admission.estimate
        assert estimate.mean_s == pytest.approx(0.02, rel=0.5)
        assert queue.admission.expected_s == pytest.approx(estimate.mean_s)
        with queue.reserve():
            assert queue.admission.expected_s == pytest.approx(2 * estimate.mean_s)
        assert queue.admission.bound_s == pytest.approx(16 * estimate.mean_s)
        assert (
            estimate.quantile_s(queue.admission.limit, QueueOptions().deviations) <= queue.admission.bound_s
        )

    queue = WorkQueue(capacity=16)
    run_async(scenario())
    assert queue.stop(5)


def test_as_many_jobs_run_at_the_same_time_as_there_are_workers() -> None:
    async def scenario() -> list[int]:
        tasks = [asyncio.create_task(queue.submit(work, timeout_s=20)) for _ in range(6)]
        return await asyncio.gather(*tasks)

    both, running, most = threading.Barrier(2), [], []
    queue = WorkQueue(capacity=6, workers=2, options=COUNT_ONLY)

    def work() -> int:
        running.append(1)
        most.append(len(running))
        both.wait(10)  # broken where the other never comes
        running.pop()
        return 1

    assert run_async(scenario()) == [1] * 6
    assert max(most) == 2
    assert queue.stop(5)


def test_a_stuck_job_blocks_no_other_worker_and_is_left_out_of_the_estimate() -> None:
    async def scenario() -> None:
        stuck = asyncio.create_task(queue.submit(lambda: latch.wait(20), timeout_s=20))
        await asyncio.sleep(0.25)
        assert (queue.stuck, queue.usable, queue.pending) == (1, 1, 0)
        assert queue.admission.bound_s == pytest.approx(16 * queue.admission.estimate.mean_s)
        others = [asyncio.create_task(queue.submit(lambda: 7, timeout_s=5)) for _ in range(5)]
        assert await asyncio.gather(*others) == [7] * 5
        assert not stuck.done()
        latch.set()
        await stuck
        assert (queue.stuck, queue.usable) == (0, 2)
        assert queue.admission.bound_s == pytest.approx(8 * queue.admission.estimate.mean_s)

    latch, queue = threading.Event(), WorkQueue(capacity=16, workers=2, stuck_s=0.2)
    run_async(scenario())
    assert queue.stop(5)


def test_stopping_finishes_running_jobs_and_waits_for_stuck_ones_no_longer_than_allowed() -> None:
    async def scenario() -> None:
        tasks = [asyncio.create_task(queue.submit(work, timeout_s=20)) for work in works]
        await asyncio.sleep(0.05)
        began_s = time.monotonic()
        assert not await asyncio.to_thread(queue.stop, 0.5)
        assert time.monotonic() - began_s < 3
        assert [task.done() for task in tasks] == [False, True, True] and done == ["quick", "waited"]
        latch.set()
        assert await asyncio.gather(*tasks)

    latch, done = threading.Event(), []
    works = [
        lambda: latch.wait(20),
        lambda: (time.sleep(0.2), done.append("quick")),
        lambda: done.append("waited"),
    ]
    queue = WorkQueue(capacity=5, workers=2, options=COUNT_ONLY)
    run_async(scenario())
    assert queue.stop(5)


def test_a_thread_that_cannot_start_is_not_counted_and_its_work_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    workers = Workers(ServiceTimes(COUNT_ONLY), threads=1, stuck_s=20)
    with monkeypatch.context() as full, pytest.raises(RuntimeError, match="new thread"):
        full.setattr(threading.Thread, "start", fail)
        workers.put(lambda: 1, turn=0)
    assert workers.count == 0
    assert workers.put(lambda: 2, turn=1).result(5) == 2
    assert workers.stop(5)


def test_jobs_start_in_the_order_of_their_turns_on_whichever_worker_is_free() -> None:
    async def scenario() -> None:
        tasks = [asyncio.create_task(queue.submit(partial(work, i), timeout_s=20)) for i in range(8)]
        await asyncio.gather(*tasks)

    started: list[int] = []
    queue = WorkQueue(capacity=8, workers=2, options=COUNT_ONLY)

    def work(number: int) -> None:
        started.append(number)
        time.sleep(0.01 if number % 3 else 0.05)

    run_async(scenario())
    assert all(abs(position - number) <= 1 for position, number in enumerate(started)), started
    assert queue.stop(5)
