"""ReleaseOnTime, where rows that carry weights come before their time."""

from __future__ import annotations

import pyarrow as pa

from panes.delta.delta import BEGINNING, CAME, FOREVER, Delta
from panes.operators.release_on_time import ReleaseOnTime
from panes.operators.tools.edge import Edge
from panes.plan.patterns import Pattern
from panes.plan.schema import Schema
from panes.plan.types import BIGINT

EDGE = Edge(Schema.of([("a", BIGINT)]), Pattern.STRICT)
SCHEMA = EDGE.columns


def delta(clock: int, *rows: tuple[int, int, int, int]) -> Delta:
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    return Delta(pa.table([pa.array(c, pa.int64()) for c in columns], schema=SCHEMA), clock)


def rows(delta: Delta) -> list[tuple[int, ...]]:
    return sorted(tuple(row.values()) for row in delta.table.to_pylist())


def test_rows_keep_their_weight_and_their_end_while_they_wait() -> None:
    hold = ReleaseOnTime(EDGE)
    assert rows(hold.process([delta(2, (7, 2, 9, 1), (8, 5, FOREVER, -1))], 0, 2)) == [(7, 2, 9, 1)]
    assert rows(hold.process([delta(5)], 2, 5)) == [(8, 5, FOREVER, -1)]


def test_rows_that_wait_are_not_touched() -> None:
    hold = ReleaseOnTime(EDGE)
    hold.process([delta(1, *((n, 100, 200, 1) for n in range(50)))], 0, 1)
    for clock in range(2, 50):
        hold.process([delta(clock)], clock - 1, clock)
    assert hold.touched == 0


def test_late_row_is_brought_into_the_span() -> None:
    hold = ReleaseOnTime(EDGE)
    assert rows(hold.process([delta(9, (7, 2, 20, 1), (8, 2, 6, 1))], 5, 9)) == [(7, 6, 20, 1)]
    assert hold.dropped == 1


def test_row_that_came_late_before_the_span_is_seen_from_when_it_came() -> None:
    hold = ReleaseOnTime(EDGE)
    arrived = delta(9, (7, 2, 20, 1), (8, 2, 4, 1), (9, 5, 20, 1), (6, 3, 20, 1))
    came = pa.array([4, 4, 4, 12], pa.int64())
    seen = hold.process([Delta(arrived.table.append_column(CAME, came), 9)], BEGINNING, 9)
    assert rows(seen) == [(7, 4, 20, 1), (9, 5, 20, 1)]
    assert rows(hold.process([delta(12)], 9, 12)) == [(6, 12, 20, 1)]
