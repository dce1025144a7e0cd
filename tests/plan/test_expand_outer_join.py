"""Outer joins as the operators there are."""

from __future__ import annotations

import pytest

from panes.operators.lower import fragment_of
from panes.plan.expand_outer_join import expand_outer_join
from panes.plan.nodes import (
    AntiJoin,
    Join,
    Node,
    OuterJoin,
    PlanError,
    Project,
    StreamScan,
    TableScan,
    Union,
    Window,
)
from panes.plan.patterns import MONOTONIC, STRICT, WEAKEST, pattern_of
from panes.plan.schema import Field, Schema
from panes.plan.types import BIGINT, STRING
from panes.plan.windows import RangeWindow


def window(name: str) -> Window:
    columns = Schema((Field(f"{name}.k", BIGINT), Field(f"{name}.v", STRING)))
    return Window(StreamScan(name, name, columns), RangeWindow(5))


def left_join(left: Node, right: Node, *, is_full: bool = False) -> OuterJoin:
    return OuterJoin(left, right, (left.schema.names[0],), (right.schema.names[0],), is_full=is_full)


def test_left_join_is_the_pairs_and_the_rows_of_the_left_that_are_alone() -> None:
    node = left_join(window("x"), window("y"))
    union = expand_outer_join(node)
    assert isinstance(union, Union)
    assert isinstance(union.left, Join)
    assert isinstance(union.right, Project)
    assert isinstance(union.right.child, AntiJoin)
    assert union.schema == node.schema
    assert [str(e) for _, e in union.right.columns] == ["x.k", "x.v", "NULL", "NULL"]


def test_full_join_has_the_rows_of_the_right_that_are_alone_too() -> None:
    union = expand_outer_join(left_join(window("x"), window("y"), is_full=True))
    assert isinstance(union, Union)
    assert isinstance(union.right, Project)
    assert [str(e) for _, e in union.right.columns] == ["NULL", "NULL", "y.k", "y.v"]


def test_both_sides_are_computed_once() -> None:
    chain = left_join(left_join(left_join(window("x"), window("y")), window("z")), window("w"))
    steps = [step.operator for step in fragment_of(chain).steps]
    assert steps.count("TimeWindow") == 4
    assert steps.count("Join") == 3
    assert steps.count("AntiJoin") == 3


def test_a_row_that_is_alone_may_get_a_partner() -> None:
    assert pattern_of(left_join(window("x"), window("y"))).pattern is STRICT


@pytest.mark.parametrize(("side", "pattern"), [(window("x"), WEAKEST), (window("x").child, MONOTONIC)])
def test_a_lookup_keeps_the_pattern_of_the_left(side: Node, pattern: object) -> None:
    columns = Schema((Field("t.k", BIGINT), Field("t.v", STRING)))
    table = TableScan("t", "t", columns, retroactive=False, stream="x")
    lookup = OuterJoin(side, table, ("x.k",), ("t.k",), time="x.k")
    assert pattern_of(lookup).pattern is pattern


def test_a_table_that_is_looked_up_keeps_no_rows() -> None:
    with pytest.raises(PlanError, match="looked up"):
        OuterJoin(window("x"), window("y"), ("x.k",), ("y.k",), time="x.k", is_full=True)
