"""Dataflows as a whole: inputs, names of state, INTERNAL windows, strategies."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from panes.delta.consolidate import contents_at
from panes.delta.delta import BEGINNING, FOREVER
from panes.errors import SettingError
from panes.operators.input import Input
from panes.operators.lower import lower
from panes.plan.expressions import Aggregate, Call, Column, Literal
from panes.plan.nodes import GroupBy, Join, Node, Project, Select, StreamScan, TableScan, Union, Window
from panes.plan.patterns import Pattern
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, BOOLEAN
from panes.plan.windows import BeginEndWindow, RangeWindow, RowsWindow, UnboundedWindow, WindowSpec


def scan(alias: str, stream: str = "s") -> StreamScan:
    return StreamScan(stream, alias, Schema.of([(f"{alias}.k", BIGINT)]))


def keys(*tuples: tuple[int, int]) -> pa.Table:
    """Arrivals from (ts, k)."""
    return pa.table({"k": pa.array([k for _, k in tuples]), "_ts": pa.array([ts for ts, _ in tuples])})


def self_join(spec: WindowSpec, other: WindowSpec | None = None) -> Node:
    return Join(Window(scan("a"), spec), Window(scan("b"), other or spec), ("a.k",), ("b.k",))


def test_stream_that_is_read_twice_is_one_input() -> None:
    dataflow = lower(self_join(RangeWindow(5)))
    assert {name: schema.names for name, schema in dataflow.inputs.items()} == {"s": ("k",)}
    delta = dataflow.process({"s": keys((1, 7))}, BEGINNING, 1)
    assert delta.table.to_pylist() == [{"a.k": 7, "b.k": 7, "_ts": 1, "_exp": 6}]


def test_equal_sub_plans_are_computed_once() -> None:
    window = Window(scan("a"), RangeWindow(5))
    renamed = Project(window, (("b.k", Column(BIGINT, "a.k")),))
    dataflow = lower(Union(window, renamed))
    assert len([step for step in dataflow.fragment.steps if step.name.endswith("window")]) == 1
    assert dataflow.process({"s": keys((1, 7))}, BEGINNING, 1).rows == 2


def test_sub_plan_that_is_computed_elsewhere_is_an_input() -> None:
    filtered = Select(scan("a"), Call(BOOLEAN, "gt", (Column(BIGINT, "a.k"), Literal(BIGINT, 3))))
    plan = Window(filtered, RangeWindow(5))
    dataflow = lower(plan, inputs={filtered: Input("filtered")})
    assert {name: schema.names for name, schema in dataflow.inputs.items()} == {"filtered": ("a.k",)}
    arrivals = pa.table({"a.k": [9], "_ts": [1]})
    assert dataflow.process({"filtered": arrivals}, BEGINNING, 1).table.to_pylist() == [
        {"a.k": 9, "_ts": 1, "_exp": 6}
    ]


def test_input_that_nobody_asked_for_is_an_error() -> None:
    with pytest.raises(KeyError, match="not inputs"):
        lower(Window(scan("a"), RangeWindow(5))).process({"t": keys((1, 7))}, BEGINNING, 1)


def test_stream_without_window_stays_for_ever() -> None:
    dataflow = lower(scan("a"))
    assert dataflow.pattern is Pattern.MONOTONIC
    delta = dataflow.process({"s": keys((1, 7), (5, 8))}, BEGINNING, 3)
    assert delta.table.to_pylist() == [{"a.k": 7, "_ts": 1, "_exp": FOREVER}]
    assert dataflow.process({}, 3, 5).table.to_pylist() == [{"a.k": 8, "_ts": 5, "_exp": FOREVER}]


def test_names_of_state_do_not_change_from_one_lowering_to_the_next() -> None:
    plan = self_join(RangeWindow(5, 2))
    names = list(lower(plan).buffers)
    assert names == list(lower(plan).buffers)
    assert len(names) == len(set(names))


def test_dataflow_can_be_sent_to_another_process() -> None:
    plan = GroupBy(Window(scan("a"), RangeWindow(5)), ("a.k",), (Aggregate("n", "count", None, BIGINT),))
    dataflow = pickle.loads(pickle.dumps(lower(plan)))
    assert dataflow.process({"s": keys((1, 7))}, BEGINNING, 1).rows == 1


@pytest.mark.parametrize("strategy", ["upa", "nt", "direct"])
def test_results_of_internal_windows_stay(strategy: str) -> None:
    dataflow = lower(self_join(RangeWindow(5, internal=True)), strategy=strategy)
    assert dataflow.pattern is Pattern.MONOTONIC
    tables = [dataflow.process({"s": keys((1, 7))}, BEGINNING, 1).table]
    tables.append(dataflow.process({"s": keys((9, 7))}, 1, 9).table)
    # The tuple of 1 has left the windows at 9, so it meets the new one no more; its pair with itself stays.
    assert contents_at(pa.concat_tables(tables), 100).num_rows == 2


def test_join_of_an_internal_and_an_external_window_stays_as_long_as_the_external() -> None:
    dataflow = lower(self_join(RangeWindow(5, internal=True), RangeWindow(3)))
    (row,) = dataflow.process({"s": keys((1, 7))}, BEGINNING, 1).table.to_pylist()
    assert (row["_ts"], row["_exp"]) == (1, 4)


def test_rows_of_an_internal_count_window_stay() -> None:
    dataflow = lower(Window(scan("a"), RowsWindow(1, internal=True)))
    tables = [dataflow.process({"s": keys((t, t))}, t - 1, t).table for t in range(1, 5)]
    assert contents_at(pa.concat_tables(tables), 9).num_rows == 4


@pytest.mark.parametrize("strategy", ["upa", "nt"])
@pytest.mark.parametrize("window", [RowsWindow(1, internal=True), RangeWindow(1, internal=True)])
def test_a_result_that_comes_as_an_equal_one_leaves_is_one_of_its_own(strategy, window) -> None:
    dataflow = lower(Window(scan("a"), window), strategy=strategy)
    delta = dataflow.process({"s": keys((1, 5), (2, 5))}, 0, 2)
    assert contents_at(delta.table, 9).num_rows == 2


def test_values_of_groups_over_internal_windows_stay() -> None:
    window = Window(scan("a"), RangeWindow(2, 2, internal=True))
    dataflow = lower(GroupBy(window, (), (Aggregate("n", "count", None, BIGINT),)))
    delta = dataflow.process({"s": keys((1, 7), (2, 7), (3, 7))}, 0, 6)
    rows = sorted((row["_ts"], row["n"]) for row in delta.table.to_pylist())
    assert rows == [(1, 0), (2, 2), (4, 1), (6, 0)]
    assert contents_at(delta.table, 6).num_rows == 4


def test_direct_refuses_what_leaves_at_times_nobody_knows() -> None:
    with pytest.raises(SettingError, match="direct"):
        lower(self_join(RowsWindow(3)), strategy="direct")


def test_strategy_that_is_none_is_refused() -> None:
    with pytest.raises(SettingError, match="there is no strategy 'fast'"):
        lower(self_join(RangeWindow(3)), strategy="fast")


def test_window_that_an_invocation_applies_has_no_operator() -> None:
    with pytest.raises(TypeError, match="invoked"):
        lower(Window(scan("a"), BeginEndWindow(0, False, 0, True)))


def test_unbounded_join_never_forgets() -> None:
    dataflow = lower(self_join(UnboundedWindow()))
    dataflow.process({"s": keys((1, 7))}, BEGINNING, 1)
    assert dataflow.process({"s": keys((1_000_000, 7))}, 1, 1_000_000).rows == 3


def with_table(spec: WindowSpec, *, retroactive: bool) -> Node:
    """A window joined with a table: as it is, or as it was at the time of each tuple."""
    columns = [("a.k", BIGINT)] + ([] if retroactive else [("a._time", BIGINT)])
    window = Window(StreamScan("s", "a", Schema.of(columns)), spec)
    stream, time = (None, None) if retroactive else ("s", "a._time")
    table = TableScan("t", "t", Schema.of([("t.k", BIGINT)]), retroactive, stream)
    return Join(window, table, ("a.k",), ("t.k",), time=time, keep_us=FOREVER)


def changes(*rows: tuple[int, int, int]) -> pa.Table:
    """Changes of a table from (instant, k, weight)."""
    instants, values, weights = (pa.array(column, pa.int64()) for column in zip(*rows, strict=True))
    return pa.table(
        {"k": values, "_ts": instants, "_exp": pa.array([FOREVER] * len(rows)), "_weight": weights}
    )


def test_a_table_that_is_looked_up_is_not_held_and_keeps_the_pattern() -> None:
    looked_up = lower(with_table(RangeWindow(5), retroactive=False))
    assert [step.operator for step in looked_up.fragment.steps].count("ReleaseOnTime") == 1
    assert looked_up.pattern is Pattern.WEAKEST
    relation = lower(with_table(RangeWindow(5), retroactive=True))
    assert [step.operator for step in relation.fragment.steps].count("ReleaseOnTime") == 2
    assert relation.pattern is Pattern.STRICT


def test_a_tuple_that_comes_late_keeps_its_time() -> None:
    dataflow = lower(with_table(RangeWindow(9), retroactive=False))
    assert dataflow.inputs["s"].names == ("k",)
    dataflow.process({"t": changes((1, 7, 1), (3, 7, -1))}, BEGINNING, 5)
    delta = dataflow.process({"s": keys((2, 7), (4, 7))}, 5, 6)
    assert delta.table.to_pylist() == [{"a.k": 7, "a._time": 2, "t.k": 7, "_ts": 6, "_exp": 11}]


def test_direct_can_run_a_lookup() -> None:
    dataflow = lower(with_table(RangeWindow(5), retroactive=False), strategy="direct")
    delta = dataflow.process({"s": keys((2, 7)), "t": changes((1, 7, 1))}, BEGINNING, 2)
    assert delta.rows == 1
    with pytest.raises(SettingError, match="direct"):
        lower(with_table(RangeWindow(5), retroactive=True), strategy="direct")
