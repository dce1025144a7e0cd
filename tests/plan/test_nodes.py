"""Nodes that make no sense are refused when they are built, and the message names what is wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from panes.plan.expressions import Aggregate, Call, Column, Literal
from panes.plan.nodes import (
    Except,
    GroupBy,
    Join,
    Node,
    PlanError,
    Project,
    Select,
    StreamScan,
    Union,
    Unnest,
    Window,
    with_children,
)
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, BOOLEAN, STRING, list_of
from panes.plan.windows import RowsWindow

S = StreamScan("s", "s", Schema.of([("s.a", BIGINT), ("s.b", STRING)]))
R = StreamScan("r", "r", Schema.of([("r.a", BIGINT), ("r.b", STRING)]))
TRUE = Literal(BOOLEAN, True)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Select(S, Column(BIGINT, "s.a")), "a condition must be BOOLEAN, not BIGINT"),
        (lambda: Select(S, Column(BOOLEAN, "s.z")), "there is no column s.z"),
        (lambda: Project(S, ()), "at least one column"),
        (lambda: Project(S, (("x", Column(BIGINT, "r.a")),)), "there is no column r.a"),
        (lambda: Project(S, (("x", Column(STRING, "s.a")),)), "the column is s.a BIGINT, not STRING"),
        (lambda: Join(S, R, ("s.a",), ("r.a",), time="s._time"), "there is no time s._time"),
        (lambda: GroupBy(S, (), ()), "needs a key or an aggregate"),
        (lambda: GroupBy(S, ("s.z",), ()), "GROUP BY s.z"),
        (lambda: GroupBy(S, (), (Aggregate("n", "sum", Column(BIGINT, "r.a"), BIGINT),)), "no column r.a"),
        (lambda: Join(S, R, ("s.a",), ()), "as many left keys as right keys"),
        (lambda: Join(S, R, ("s.a",), ("r.b",)), "of different types"),
        (lambda: Join(S, R, ("s.z",), ("r.a",)), "there is no column s.z"),
        (lambda: Join(S, R, (), (), Column(BOOLEAN, "t.a")), "there is no column t.a"),
        (lambda: Join(S, R, (), (), Column(BIGINT, "r.a")), "a condition must be BOOLEAN, not BIGINT"),
        (lambda: Unnest(S, Column(BIGINT, "s.a"), "x"), "s.a BIGINT is no list"),
        (lambda: Unnest(S, Column(list_of(BIGINT), "r.a"), "x"), "there is no column r.a"),
        (lambda: Union(S, Project(R, (("x", Column(BIGINT, "r.a")),))), "different columns"),
        (lambda: Window(S, RowsWindow(3, partition_by=("s.z",))), "PARTITION BY s.z"),
    ],
)
def test_impossible_nodes_are_refused(build: Callable[[], Node], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        build()


def test_two_columns_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two columns are named 'x'"):
        Project(S, (("x", TRUE), ("x", TRUE)))


def test_plans_are_values() -> None:
    predicate = Call(BOOLEAN, "gt", (Column(BIGINT, "s.a"), Literal(BIGINT, 1)))
    assert Select(S, predicate) == Select(S, predicate)
    assert len({Select(S, predicate), Select(S, predicate), Select(S, TRUE)}) == 2


def test_children_can_be_exchanged() -> None:
    assert with_children(Select(S, TRUE), R).child == R
    assert with_children(Except(S, R), R, S) == Except(R, S)
    with pytest.raises(PlanError, match="StreamScan has no children"):
        with_children(S, R)


def test_schemas_are_derived() -> None:
    assert Join(S, R, ("s.a",), ("r.a",)).schema.names == ("s.a", "s.b", "r.a", "r.b")
    count = Aggregate("n", "count", None, BIGINT)
    assert str(GroupBy(S, ("s.b",), (count,)).schema) == "s.b STRING, n BIGINT"
