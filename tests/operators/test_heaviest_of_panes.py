"""The heaviest values of each pane: what is kept when it closes, and what late tuples change."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from panes.delta.consolidate import contents_at
from panes.delta.delta import BEGINNING
from panes.operators.dataflow import Dataflow
from panes.operators.lower import lower
from panes.plan import nodes
from panes.plan.aggregates import AGGREGATES
from panes.plan.expressions import Aggregate, Column
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, STRING
from panes.plan.windows import RangeWindow, RowsWindow, WindowSpec

SCAN = nodes.StreamScan("s", "s", Schema.of([("s.v", STRING)]))


def query(spec: WindowSpec, k: int) -> Dataflow:
    aggregates = [Aggregate("n", "count", None, BIGINT)]
    for name in ("frequent", "frequent_threshold"):
        result = AGGREGATES[name].signature(STRING, (k,)).result
        aggregates.append(Aggregate(name, name, Column(STRING, "s.v"), result, parameters=(k,)))
    return lower(nodes.GroupBy(nodes.Window(SCAN, spec), (), tuple(aggregates)))


class Running:
    """A query that is given texts of values, each with one instant, and asked for what is frequent."""

    def __init__(self, spec: WindowSpec, k: int) -> None:
        self.dataflow, self.clock, self.deltas = query(spec, k), BEGINNING, []

    def at(self, clock: int, **came: str) -> tuple[list[tuple[Any, ...]], int, int]:
        """The values with their bounds, the threshold and the number of rows, after values came at instants."""
        rows = [(int(ts.removeprefix("at_")), value) for ts, values in came.items() for value in values]
        table = pa.table(
            {
                "v": pa.array([v for _, v in rows], pa.string()),
                "_ts": pa.array([t for t, _ in rows], pa.int64()),
            }
        )
        self.deltas.append(self.dataflow.process({"s": table}, self.clock, clock).table)
        self.clock = clock
        (row,) = contents_at(pa.concat_tables(self.deltas), clock).to_pylist()
        return [tuple(f.values()) for f in row["frequent"] or []], row["frequent_threshold"], row["n"]


def test_lists_of_panes_add_up_and_leave_with_their_panes() -> None:
    #  1 … 10     11 … 20    21 … 30
    #  aaabbcd    aabbb      aac           the two heaviest; the second one's count goes to the threshold
    #  a 3, b 2   b 3, a 2   a 2, c 1
    running = Running(RangeWindow(20, 10), k=2)
    assert running.at(10, at_4="aaabb", at_7="cd") == ([("a", 3, 3)], 2, 7)
    assert running.at(20, at_15="aabbb") == ([("a", 5, 5), ("b", 5, 5)], 4, 12)
    assert running.at(30, at_21="aac") == ([("a", 4, 4)], 3, 8)
    assert running.at(40) == ([("a", 2, 2)], 1, 3)
    assert running.at(50) == ([], 0, 0)


def test_an_open_pane_is_not_seen_before_it_closes_however_it_is_cut() -> None:
    running = Running(RangeWindow(20, 10), k=1)
    assert running.at(3, at_2="ab") == ([], 0, 0)
    assert running.at(7, at_5="b") == ([], 0, 0)
    assert running.at(10, at_9="ab") == ([], 3, 5)  # b 3 is not over the threshold, which is 3


def test_a_pane_with_fewer_values_than_its_list_takes_adds_nothing_to_the_threshold() -> None:
    assert Running(RangeWindow(20, 10), k=3).at(10, at_4="aab") == ([("a", 2, 2), ("b", 1, 1)], 0, 3)


def test_late_tuples_add_to_listed_values_fill_the_list_and_then_raise_the_threshold() -> None:
    running = Running(RangeWindow(30, 10), k=2)
    running.at(10, at_4="aaa")
    # The list has room for b, which comes late; c and d, which come later, find it full.
    assert running.at(20, at_5="bb") == ([("a", 3, 3), ("b", 2, 2)], 0, 5)
    assert running.at(30, at_6="accd") == ([("a", 4, 4)], 3, 9)
    assert running.at(40) == ([], 0, 0)


def test_panes_of_counted_tuples_are_taken_back_when_they_leave() -> None:
    running = Running(RowsWindow(6, 3), k=1)
    assert running.at(1, at_1="aab") == ([], 2, 3)
    assert running.at(2, at_2="abb") == ([], 4, 6)  # a 2 and b 2
    assert running.at(3, at_3="bbb") == ([], 5, 6)  # b 2 and b 3
    assert running.at(4, at_4="cc") == ([], 5, 6)
    assert running.at(5, at_5="c") == ([], 6, 6)  # b 3 and c 3
