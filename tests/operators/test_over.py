"""OVER, moved on by hand."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest

from panes.delta.consolidate import contents_at
from panes.delta.delta import BEGINNING, WEIGHT
from panes.errors import SettingError
from panes.operators import over as module
from panes.operators.dataflow import Dataflow
from panes.operators.lower import lower
from panes.plan.expressions import Column
from panes.plan.nodes import Distinct, Node, Over, StreamScan, Window
from panes.plan.over_functions import WHOLE, OverFunction
from panes.plan.schema import Schema
from panes.plan.sort_key import SortKey
from panes.plan.types import BIGINT
from panes.plan.windows import RangeWindow

SCAN = StreamScan("s", "s", Schema.of([("s.k", BIGINT), ("s.v", BIGINT)]))
WINDOW = Window(SCAN, RangeWindow(5))
RANK = OverFunction("rank", "rank", None, BIGINT)
NUMBER = OverFunction("number", "row_number", None, BIGINT)
TOTAL = OverFunction("total", "sum", Column(BIGINT, "s.v"), BIGINT, (), WHOLE)


def over(*functions: OverFunction, by: tuple[str, ...] = ("s.k",), child: Node = WINDOW) -> Over:
    return Over(child, by, (SortKey("s.v", descending=True),), functions)


class Run:
    def __init__(self, plan: Node, **options: bool) -> None:
        self.dataflow: Dataflow = lower(plan, **options)  # type: ignore[arg-type]
        self.clock = BEGINNING
        self.tables: list[pa.Table] = []

    def come(self, clock: int, *tuples: tuple[int, int, int]) -> list[tuple[object, ...]]:
        """Tuples as (k, v, ts); the rows at the clock."""
        columns = zip(("k", "v", "_ts"), zip(*tuples, strict=True), strict=True) if tuples else ()
        names = {name: pa.array(values, pa.int64()) for name, values in columns}
        empty = {name: pa.array([], pa.int64()) for name in ("k", "v", "_ts")}
        arrivals = pa.table(names or empty)
        self.tables.append(self.dataflow.process({"s": arrivals}, self.clock, clock).table)
        self.clock = clock
        return self.held(clock)

    def held(self, now: int) -> list[tuple[object, ...]]:
        return sorted(
            tuple(row.values()) for row in contents_at(pa.concat_tables(self.tables), now).to_pylist()
        )

    @property
    def touched(self) -> int:
        return self.dataflow.operators[-1].touched


def test_a_row_that_comes_changes_the_values_of_others() -> None:
    run = Run(over(RANK))
    assert run.come(1, (7, 10, 1), (8, 1, 1)) == [(7, 10, 1), (8, 1, 1)]
    assert run.come(2, (7, 20, 2)) == [(7, 10, 2), (7, 20, 1), (8, 1, 1)]


def test_a_row_that_expires_changes_the_values_of_others() -> None:
    #  1   2   3   4   5   6   7
    #  20-----------------)
    #          10-----------------)
    run = Run(over(RANK, TOTAL))
    assert run.come(5, (7, 20, 1), (7, 10, 3)) == [(7, 10, 2, 30), (7, 20, 1, 30)]
    assert run.come(6) == [(7, 10, 1, 10)]
    assert run.come(8) == []


def test_rows_whose_values_stay_are_not_given_again() -> None:
    run = Run(over(RANK))
    run.come(1, (7, 30, 1), (7, 20, 1))
    run.come(2, (7, 10, 2))
    assert Counter(run.tables[-1].column(WEIGHT).to_pylist()) == {1: 1}


def test_partitions_that_do_not_change_are_not_touched() -> None:
    run = Run(over(RANK, child=Window(SCAN, RangeWindow(500))))
    run.come(1, *((k, v, 1) for k in range(1000) for v in range(5)))
    before = run.touched
    run.come(2, (7, 9, 2))
    assert run.touched - before <= 10


def test_every_instant_inside_a_span_is_right_where_it_is_told() -> None:
    run = Run(over(NUMBER), every_instant=True)
    run.come(9, (7, 1, 1), (7, 2, 2), (7, 3, 4))
    assert [[row[1:] for row in run.held(now)] for now in range(1, 9)] == [
        [(1, 1)],
        [(1, 2), (2, 1)],
        [(1, 2), (2, 1)],
        [(1, 3), (2, 2), (3, 1)],
        [(1, 3), (2, 2), (3, 1)],
        [(2, 2), (3, 1)],
        [(3, 1)],
        [(3, 1)],
    ]


def test_many_instants_are_computed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ROWS_AT_ONCE", 3)
    run = Run(over(NUMBER, by=()), every_instant=True)
    run.come(9, *((k, k, k) for k in range(1, 8)))
    assert [len(run.held(now)) for now in range(1, 9)] == [1, 2, 3, 4, 5, 5, 5, 4]
    assert run.held(5) == [(k, k, 6 - k) for k in range(1, 6)]


def test_equal_rows_get_numbers_of_their_own() -> None:
    assert Run(over(NUMBER)).come(1, (7, 1, 1), (7, 1, 1)) == [(7, 1, 1), (7, 1, 2)]


def test_on_top_it_runs_by_scans_and_below_others_it_does_not() -> None:
    lower(over(RANK), strategy="direct")
    with pytest.raises(SettingError, match="the output of Distinct is STRICT"):
        lower(Distinct(over(RANK)), strategy="direct")
