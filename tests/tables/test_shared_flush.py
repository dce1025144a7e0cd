from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from panes.errors import StateError
from panes.tables.shared_flush import SharedFlush


def nothing() -> None:
    """What is done when items are given up."""


def test_an_item_is_stored_when_the_block_has_ended() -> None:
    stored: list[str] = []
    lock: SharedFlush[str] = SharedFlush(stored.extend, nothing)
    with lock:
        lock.hand_over("a")
        with lock:
            lock.hand_over("b")
        assert stored == []
    assert stored == ["a", "b"]


def test_writers_who_come_during_a_flush_share_the_next_one() -> None:
    flushes: list[list[int]] = []
    goes_on = threading.Event()

    def store(items: list[int]) -> None:
        flushes.append(items)
        if len(flushes) == 1:
            goes_on.wait()

    lock: SharedFlush[int] = SharedFlush(store, nothing)
    handed_over = threading.Semaphore(0)

    def write(number: int) -> None:
        with lock:
            lock.hand_over(number)
            handed_over.release()

    with ThreadPoolExecutor(20) as threads:
        writing = [threads.submit(write, number) for number in range(20)]
        for _ in writing:
            handed_over.acquire()
        goes_on.set()
        for done in writing:
            done.result()
    assert sorted(item for items in flushes for item in items) == list(range(20))
    assert len(flushes) <= 3


def test_what_builds_on_an_item_that_could_not_be_stored_is_given_up() -> None:
    given_up: list[bool] = []
    fails = [True]
    stored: list[str] = []
    inside, failed = threading.Event(), threading.Event()

    def store(items: list[str]) -> None:
        if fails.pop():
            inside.set()
            failed.wait()
            raise StateError("the disk is full")
        stored.extend(items)

    lock: SharedFlush[str] = SharedFlush(store, lambda: given_up.append(True))

    def write(item: str) -> None:
        with lock:
            lock.hand_over(item)
            if item == "second":
                failed.set()

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(write, "first")
        inside.wait()
        second = threads.submit(write, "second")
        for writing in (first, second):
            with pytest.raises(StateError, match="the disk is full"):
                writing.result()
    assert given_up == [True]
    fails.append(False)
    write("third")
    assert stored == ["third"]


def test_a_block_that_began_before_a_failure_hands_nothing_over() -> None:
    def store(_: list[str]) -> None:
        raise StateError("the disk is full")

    lock: SharedFlush[str] = SharedFlush(store, nothing)
    with lock:
        lock._failures += 1
        with pytest.raises(StateError, match="try again"):
            lock.hand_over("a")


def test_one_knows_whether_one_holds_the_lock() -> None:
    lock: SharedFlush[str] = SharedFlush(lambda _: None, nothing)
    assert not lock.is_mine
    with lock, ThreadPoolExecutor(1) as threads:
        assert lock.is_mine
        assert not threads.submit(lambda: lock.is_mine).result()
    assert not lock.is_mine
