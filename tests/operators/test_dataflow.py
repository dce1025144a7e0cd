"""Worked examples of how time reaches the operators of a plan: every delta carries its clock.

The examples are figures 6 and 11 of "Incremental evaluation of sliding-window queries over data streams". The text
gives the counts and sums, which tuples expire when, and which of them decide; the values of the others are free.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from panes.delta.consolidate import contents_at
from panes.delta.delta import BEGINNING, TS
from panes.operators.dataflow import Dataflow
from panes.operators.lower import fragment_of
from panes.plan.expressions import Aggregate, Call, Column, Literal
from panes.plan.nodes import GroupBy, Node, Select, StreamScan, Window
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, BOOLEAN
from panes.plan.windows import RangeWindow

X = Column(BIGINT, "s.x")
WINDOW = Window(StreamScan("s", "s", Schema.of([("s.x", BIGINT)])), RangeWindow(5))


def came(tuples: Sequence[tuple[int, int]], since: int, clock: int) -> dict[str, pa.Table]:
    chosen = [(ts, x) for ts, x in tuples if since < ts <= clock]
    columns = {TS: [ts for ts, _ in chosen], "x": [x for _, x in chosen]}
    return {"s": pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()})}


def told(
    plan: Node, tuples: Sequence[tuple[int, int]], clocks: Sequence[int], strategy: str
) -> list[pa.Table]:
    """What the plan gives in spans that end at the clocks."""
    dataflow = Dataflow(fragment_of(plan, strategy=strategy, every_instant=True))
    begins = [BEGINNING, *clocks[:-1]]
    return [
        dataflow.process(came(tuples, since, clock), since, clock).table
        for since, clock in zip(begins, clocks, strict=True)
    ]


def values_at(tables: Sequence[pa.Table], name: str, instants: Sequence[int]) -> list[object]:
    return [contents_at(pa.concat_tables(tables), now).column(name)[0].as_py() for now in instants]


@pytest.mark.parametrize("strategy", ["upa", "nt"])
def test_a_count_expires_at_once_whether_or_not_something_passes_the_filter_below_it(strategy: str) -> None:
    #  T1  T2  T3  T4  T5  T6  T7  T8  T9  T10 T11     window of 5, favorites are 4 and 5
    #  4   5   5   1   4   5   2   3   1   4   5       what comes
    #                      4-  5-  5-      4-  5-      what leaves
    #  1   2   3   3   4   4   3   2   2   2   2       count
    tuples = list(enumerate([4, 5, 5, 1, 4, 5, 2, 3, 1, 4, 5], start=1))
    is_favorite = Call(BOOLEAN, "gt", (X, Literal(BIGINT, 3)))
    plan = GroupBy(Select(WINDOW, is_favorite), (), (Aggregate("n", "count", None, BIGINT),))
    instants = range(1, 12)
    one_by_one = told(plan, tuples, instants, strategy)
    assert values_at(one_by_one, "n", instants) == [1, 2, 3, 3, 4, 4, 3, 2, 2, 2, 2]
    # At T10 and T11 one leaves and one comes: what leaves rides with what comes, and the count stays.
    assert [one_by_one[now - 1].num_rows for now in (7, 8, 10, 11)] == [2, 2, 0, 0]
    for clocks in ([11], [6, 9, 11], [5, 8, 11]):
        assert values_at(told(plan, tuples, clocks, strategy), "n", instants) == [
            1,
            2,
            3,
            3,
            4,
            4,
            3,
            2,
            2,
            2,
            2,
        ]


@pytest.mark.parametrize("strategy", ["upa", "nt"])
def test_a_sum_waits_for_a_tuple_that_is_delayed_below_it(strategy: str) -> None:
    #  T0  T1  T2  T3  T4  T5  T6  T7                  window of 5
    #  5   3   5       7                               7 reaches the sum at T7
    #  5   8   13  13  20  15  12  7                   sum
    tuples = [(0, 5), (1, 3), (2, 5), (4, 7)]
    plan = GroupBy(WINDOW, (), (Aggregate("total", "sum", X, BIGINT),))
    instants = range(8)
    right = [5, 8, 13, 13, 20, 15, 12, 7]
    assert values_at(told(plan, tuples, instants, strategy), "total", instants) == right
    # The clock of the sum stands at T3 until all that came up to the next one is there.
    assert values_at(told(plan, tuples, [0, 1, 2, 3, 7], strategy), "total", instants) == right
    # A sum that went by the time of day, without waiting for the 7, would show the 8 of the paper at T5.
    without = [(ts, x) for ts, x in tuples if x != 7]
    assert values_at(told(plan, without, instants, strategy), "total", [5]) == [8]
