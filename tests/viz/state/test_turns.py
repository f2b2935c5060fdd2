"""How much is computed at once, and who waits."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from viz.state import result_cache, work_queue
from viz.state.work_queue import WorkQueue

TIMEOUT = 300


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(work_queue, "PATIENCE", 0.01)


class Gone(Exception):
    """What stands for a visitor who left."""


def ignored(before: int) -> None:
    """Hears nothing."""


def test_concurrent_work_is_limited_and_done():
    room, lock, together = WorkQueue(3), threading.Lock(), threading.Barrier(3)
    now, most = 0, 0

    def work(_: int) -> int:
        nonlocal now, most
        with room.slot(ignored):
            with lock:
                now += 1
                most = max(most, now)
            together.wait(TIMEOUT)  # three are here at once, and a fourth would be counted
            with lock:
                now -= 1
        return 1

    with ThreadPoolExecutor(20) as many:
        assert sum(many.map(work, range(60))) == 60
    assert (most, now) == (3, 0)


def test_waiting_work_keeps_its_order():
    room, heard, order = WorkQueue(1), [], []
    waiting = [threading.Event(), threading.Event()]

    def ask(number: int) -> None:
        def told(before: int) -> None:
            heard.append((number, before))
            waiting[number].set()

        with room.slot(told):
            order.append(number)

    with ThreadPoolExecutor(2) as others:
        with room.slot(ignored):
            asked = []
            for number in (0, 1):
                asked.append(others.submit(ask, number))
                assert waiting[number].wait(TIMEOUT)
            assert order == []
        for one in asked:
            one.result(TIMEOUT)
    assert order == [0, 1]
    assert {(0, 1), (1, 2), (0, 0), (1, 0)} <= set(heard)


def test_who_left_or_failed_gives_the_place_back():
    room = WorkQueue(1)

    def told(before: int) -> None:
        raise Gone

    with room.slot(ignored):
        for _ in range(3):
            with pytest.raises(Gone), room.slot(told):
                raise AssertionError("computed for somebody who left")
    with room.slot(told):  # nobody is before, so nothing is told
        pass
    for _ in range(3):
        with pytest.raises(ValueError), room.slot(ignored):
            raise ValueError
    assert (room._free, len(room._queue)) == (1, 0)


def test_short_work_passes_long_work(monkeypatch):
    monkeypatch.setattr(work_queue, "LONG", WorkQueue(1))
    monkeypatch.setattr(work_queue, "SHORT", WorkQueue(1))

    def short() -> str:
        with work_queue.work_slot(is_long=False):
            return "served"

    with (
        work_queue.work_slot(is_long=True),
        work_queue.work_slot(is_long=True),
        work_queue.work_slot(is_long=False),
        ThreadPoolExecutor(1) as other,
    ):
        assert other.submit(short).result(TIMEOUT) == "served"


def test_what_is_waited_for_has_a_place_already(monkeypatch):
    monkeypatch.setattr(work_queue, "SHORT", WorkQueue(2))
    inside, go = threading.Barrier(3), threading.Event()

    @result_cache.cached(8)
    def part(of: int) -> int:
        return of + 1

    @result_cache.cached(8)
    def whole(number: int) -> int:
        inside.wait(TIMEOUT)
        assert go.wait(TIMEOUT)
        return part(7) + number

    queued, answers = threading.Event(), {}

    def third() -> int:
        with work_queue.report_waiting(lambda before: queued.set()):
            return part(7)

    def started(name: str, ask: Callable[[], int]) -> threading.Thread:
        thread = threading.Thread(target=lambda: answers.update({name: ask()}), daemon=True)  # else a deadlock ends no test
        thread.start()
        return thread

    asked = [started(f"whole {number}", partial(whole, number)) for number in (0, 1)]
    inside.wait(TIMEOUT)
    asked.append(started("part", third))
    assert queued.wait(TIMEOUT)
    go.set()
    for thread in asked:
        thread.join(60)
    assert answers == {"whole 0": 8, "whole 1": 9, "part": 8}
