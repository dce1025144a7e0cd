"""The oracle itself, on windows that are worked out by hand."""

from __future__ import annotations

import pyarrow as pa
import pytest

from panes.plan.expressions import Aggregate, Call, Column
from panes.plan.nodes import AntiJoin, GroupBy, Istream, Project, StreamScan, TableScan, Union, Window
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, STRING, TIMESTAMP
from panes.plan.windows import BeginEndWindow, NowWindow, RangeWindow, RowsWindow, UnboundedWindow, WindowSpec
from panes.testing import answer_at, same_rows

SCAN = StreamScan("s", "s", Schema.of([("s.a", STRING), ("s.k", BIGINT)]))
ARRIVALS = {
    "s": pa.table(
        {"a": ["p", "q", "r", "t", "u"], "k": [1, 2, 1, None, 2], "_ts": [10, 12, 12, 15, 21]},
    )
}


def held(spec: WindowSpec, now: int) -> str:
    return "".join(sorted(answer_at(Window(SCAN, spec), ARRIVALS, now).column("s.a").to_pylist()))


@pytest.mark.parametrize(
    ("spec", "now", "expected"),
    [
        (RangeWindow(5), 9, ""),
        (RangeWindow(5), 10, "p"),
        (RangeWindow(5), 14, "pqr"),
        (RangeWindow(5), 15, "qrt"),
        (RangeWindow(5), 17, "t"),
        (RangeWindow(5, 10), 19, "p"),
        (RangeWindow(10, 10), 20, "qrt"),
        (NowWindow(), 12, "qr"),
        (NowWindow(), 13, ""),
        (UnboundedWindow(), 15, "pqrt"),
        (RowsWindow(2), 12, "qr"),
        (RowsWindow(1), 12, "r"),
        (RowsWindow(2, slide=2), 12, "pq"),
        (RowsWindow(2, slide=2), 15, "rt"),
        (RowsWindow(1, partition_by=("s.k",)), 15, "qrt"),
        (BeginEndWindow(-3, True, 0, True), 15, "qrt"),
        (BeginEndWindow(10, False, 12, False), 99, "pqr"),
    ],
)
def test_window_holds(spec: WindowSpec, now: int, expected: str) -> None:
    assert held(spec, now) == expected


def test_answer_is_sql_over_the_windows() -> None:
    counted = GroupBy(Window(SCAN, RangeWindow(5)), ("s.k",), (Aggregate("n", "count", None, BIGINT),))
    expected = pa.table({"s.k": pa.array([2, 1, None], pa.int64()), "n": pa.array([1, 1, 1], pa.int64())})
    assert same_rows(answer_at(counted, ARRIVALS, 15), expected) is None


def test_not_in_knows_nothing_while_there_is_a_null() -> None:
    other = StreamScan("s", "o", Schema.of([("o.a", STRING), ("o.k", BIGINT)]))
    sides = Window(SCAN, UnboundedWindow()), Window(other, NowWindow())
    for null_aware, now, rows in ((True, 12, 0), (True, 13, 3), (False, 15, 4), (True, 15, 0)):
        plan = AntiJoin(*sides, ("s.k",), ("o.k",), null_aware=null_aware)
        assert answer_at(plan, ARRIVALS, now).num_rows == rows


def test_of_a_union_the_left_comes_first_at_one_time() -> None:
    name = Column(STRING, "s.a")
    lower, upper = Project(SCAN, (("x", name),)), Project(SCAN, (("x", Call(STRING, "upper", (name,))),))
    for union, youngest in ((Union(lower, upper), "R"), (Union(upper, lower), "r")):
        assert answer_at(Window(union, RowsWindow(1)), ARRIVALS, 12).column("x").to_pylist() == [youngest]


def test_relation_holds_rows_from_and_until_their_times() -> None:
    scan = TableScan("hosts", "h", Schema.of([("h.name", STRING)]), retroactive=True)
    table = pa.table({"name": ["x", "y"], "_ts": [1, 3], "_exp": [5, 9]})
    assert answer_at(scan, {"hosts": table}, 4).num_rows == 2
    assert answer_at(scan, {"hosts": table}, 5).column("h.name").to_pylist() == ["y"]


def test_instants_come_back_with_their_zone() -> None:
    scan = StreamScan("s", "s", Schema.of([("s.at", TIMESTAMP)]))
    arrivals = pa.table({"at": pa.array([5], TIMESTAMP.arrow), "_ts": [1]})
    assert answer_at(scan, {"s": arrivals}, 1).column("s.at").type == TIMESTAMP.arrow


def test_output_stream_is_no_relation() -> None:
    with pytest.raises(TypeError, match="Istream is not a relation"):
        answer_at(Istream(Window(SCAN, NowWindow())), ARRIVALS, 12)


def test_difference_names_the_rows_that_differ() -> None:
    one, other = pa.table({"a": [1, 1, 2]}), pa.table({"a": [1, 2, 3]})
    text = same_rows(one, other)
    assert text is not None
    assert "only in the first: (1,) × 1" in text
    assert "only in the second: (3,) × 1" in text


def test_order_does_not_matter_and_doubles_may_differ_in_the_last_digits() -> None:
    one = pa.table({"a": [0.1 + 0.2, float("nan")]})
    assert same_rows(one, pa.table({"a": [float("nan"), 0.3]})) is None
    assert same_rows(one, pa.table({"a": [float("nan"), 0.3001]})) is not None
