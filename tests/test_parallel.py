"""Photos done ahead come back in their order, few at a time, and a fault stays where it happened."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator

import pytest

from nadirfix.parallel import cores, map_in_order, run_in_background


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_come_in_the_order_of_the_items(workers: int) -> None:
    def slow_first(item: int) -> int:
        time.sleep(0.02 if item % 3 == 0 else 0.0)
        return item * item

    assert list(map_in_order(slow_first, range(20), workers=workers)) == [i * i for i in range(20)]


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_only_a_few_are_taken_before_their_results_are_needed(workers: int) -> None:
    taken: list[int] = []

    def items():
        for item in range(100):
            taken.append(item)
            yield item

    answers = map_in_order(lambda item: item, items(), workers=workers)
    for done in range(1, 11):
        next(answers)
        assert len(taken) <= done + workers
    answers.close()
    assert len(taken) <= 10 + workers


def test_two_are_worked_on_at_the_same_time() -> None:
    both = threading.Barrier(2, timeout=20)
    assert list(map_in_order(lambda item: both.wait() >= 0 and item, [1, 2], workers=2)) == [1, 2]


@pytest.mark.parametrize("workers", [1, 3])
def test_an_error_is_raised_where_its_result_would_have_been(workers: int) -> None:
    answers = map_in_order(lambda item: 10 // item, [5, 2, 0, 1], workers=workers)
    assert [next(answers), next(answers)] == [2, 5]
    with pytest.raises(ZeroDivisionError):
        next(answers)


def test_no_thread_is_left_behind_when_iteration_stops() -> None:
    before = threading.active_count()
    answers = map_in_order(lambda item: item, range(50), workers=4)
    next(answers)
    answers.close()
    assert threading.active_count() == before


@pytest.fixture
def ctrl_c_is_heard() -> Iterator[None]:
    """As in a program of its own: those who run tests on several cores have their workers ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_ctrl_c_while_threads_start_leaves_none_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was left went on with a map that had been closed, and took the process down."""
    start, before, worked = threading.Thread.start, threading.active_count(), []

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(map_in_order(lambda item: worked.append(item) or time.sleep(0.2), range(50), workers=2))
    assert threading.active_count() == before and worked == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_where_no_more_threads_can_be_started_it_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    start, begun = threading.Thread.start, []

    def refused(thread: threading.Thread) -> None:
        begun.append(thread)
        if len(begun) > 2:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refused)
    with pytest.raises(RuntimeError, match="new thread"):
        list(map_in_order(lambda item: item, range(9), workers=4))


def test_there_is_at_least_one_core() -> None:
    assert cores() >= 1


def test_background_work_is_done_after_the_block_and_its_errors_are_raised() -> None:
    done: list[str] = []
    with run_in_background(lambda: done.append("first"), lambda: done.append("second")):
        pass
    assert sorted(done) == ["first", "second"]
    with pytest.raises(ZeroDivisionError), run_in_background(lambda: 1 // 0):
        done.append("block")
    assert done[-1] == "block"
