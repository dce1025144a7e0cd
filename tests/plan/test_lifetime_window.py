"""The arithmetic of windows over tuples that bring their own ends."""

from __future__ import annotations

from datetime import UTC, datetime

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from panes.plan.lifetime_window import LifetimeWindow, ends_of, ends_sql
from panes.plan.stream import TimestampBy
from panes.plan.windows import FOREVER, RangeWindow

SECONDS = TimestampBy("until", "SECONDS")
MICROSECONDS = TimestampBy("until", "MICROSECONDS")


def lifetimes(window: LifetimeWindow, ts: list[int], until: list[int | None]) -> list[tuple[int, int]]:
    rows, at = pa.table({"until": pa.array(until, pa.int64())}), np.array(ts)
    enters, leaves = window.lifetime_in(rows, at, at)
    return list(zip(enters.tolist(), leaves.tolist(), strict=True))


def test_a_tuple_leaves_at_its_end_or_with_the_window_that_holds_it():
    #  1   2   3   4   5   6   7   8   9
    #      a---------------)                 its own end
    #          b-----------------------)     the end of the window
    #              c--------------------…    no end of its own: that of the window
    assert lifetimes(LifetimeWindow(MICROSECONDS), [2, 3, 4], [6, 99, None]) == [
        (2, 6),
        (3, 99),
        (4, FOREVER),
    ]
    within = LifetimeWindow(MICROSECONDS, RangeWindow(6))
    assert lifetimes(within, [2, 3, 4], [6, 99, None]) == [(2, 6), (3, 9), (4, 10)]


def test_with_slide_both_ends_are_multiples_of_it():
    sliding = LifetimeWindow(MICROSECONDS, RangeWindow(10, 4))
    assert lifetimes(sliding, [2, 5], [7, 8]) == [(4, 8), (8, 8)]
    assert lifetimes(sliding, [1], [FOREVER - 1]) == [(4, 12)]
    assert sliding.without_slide() == LifetimeWindow(MICROSECONDS, RangeWindow(10))


def test_ends_beyond_all_instants_never_come():
    far = pa.chunked_array(
        [pa.array([None, 3, FOREVER // 1_000_000, FOREVER // 1_000_000 + 1, FOREVER, -FOREVER])]
    )
    found = ends_of(far, SECONDS).tolist()
    assert found[:2] == [FOREVER, 3_000_000]
    assert found[2] < FOREVER
    assert found[3:5] == [FOREVER, FOREVER]
    assert found[5] < -(2**62)


@pytest.mark.parametrize("by", [SECONDS, MICROSECONDS, TimestampBy("until", "TIMESTAMP")], ids=str)
def test_sql_reads_ends_as_operators_do(by):
    values = [1, -7, 1_700_000_000]
    if by.unit == "TIMESTAMP":
        column = pa.array([datetime.fromtimestamp(v, UTC) for v in values], pa.timestamp("us", "UTC"))
    else:
        column = pa.array(values, pa.int64())
    rows = pa.table({"until": column.cast(pa.timestamp("us")) if by.unit == "TIMESTAMP" else column})
    found = duckdb.sql(f"SELECT {ends_sql('until', by)} AS e FROM rows").fetchall()
    assert [int(e) for (e,) in found] == ends_of(pa.chunked_array([column]), by).tolist()
    assert rows.num_rows == 3
