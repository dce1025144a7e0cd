"""Rows that wait for an instant."""

from __future__ import annotations

import pyarrow as pa

from panes.state.buffers.timer_queue import SMALL, TimerQueue

SCHEMA = pa.schema([("a", pa.int64()), ("_exp", pa.int64())])


def rows(*values: tuple[int, int]) -> pa.Table:
    """Rows from (a, instant)."""
    return pa.table({"a": [a for a, _ in values], "_exp": [exp for _, exp in values]}, schema=SCHEMA)


def due(waiting: TimerQueue, since: int, now: int) -> list[int]:
    return list(waiting.due(since, now).column("a").to_pylist())


def test_rows_come_when_they_are_due_and_only_once() -> None:
    waiting = TimerQueue(SCHEMA)
    waiting.insert(rows((1, 5), (2, 3), (3, 9)))
    assert due(waiting, 0, 2) == []
    assert due(waiting, 2, 5) == [2, 1]
    assert due(waiting, 5, 8) == []
    assert due(waiting, 8, 9) == [3]
    assert waiting.rows == 0


def test_rows_of_one_instant_come_in_the_order_they_were_put_in() -> None:
    waiting = TimerQueue(SCHEMA)
    waiting.insert(rows((1, 5), (2, 5)))
    waiting.insert(rows((3, 5)))
    assert due(waiting, 0, 5) == [1, 2, 3]


def test_what_was_due_is_not_given_again_after_a_restart() -> None:
    waiting = TimerQueue(SCHEMA)
    waiting.insert(rows((1, 3), (2, 9)))
    due(waiting, 0, 3)
    restored = TimerQueue(SCHEMA)
    restored.restore(waiting.chunks)
    assert due(restored, 3, 9) == [2]


def test_chunk_whose_rows_are_not_due_is_not_opened() -> None:
    waiting = TimerQueue(SCHEMA)
    many = range(SMALL)
    waiting.insert(rows(*((n, 100) for n in many)))
    waiting.insert(rows(*((n, 200) for n in many)))
    assert len(waiting.chunks) == 2
    waiting.due(0, 100)
    assert waiting.touched == SMALL
    assert len(waiting.chunks) == 1


def test_small_chunks_are_merged() -> None:
    waiting = TimerQueue(SCHEMA)
    for n in range(100):
        waiting.insert(rows((n, 1000 - n)))
    assert len(waiting.chunks) == 1
    assert due(waiting, 0, 902) == [99, 98]
