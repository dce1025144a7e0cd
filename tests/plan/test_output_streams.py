"""What output streams ask of the plan below them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from panes.plan.expressions import Aggregate, Column
from panes.plan.nodes import (
    AntiJoin,
    Distinct,
    Dstream,
    GroupBy,
    Istream,
    Join,
    Node,
    Project,
    Rstream,
    SemiJoin,
    StreamScan,
    TableScan,
    Union,
    Window,
    Wstream,
)
from panes.plan.output_streams import (
    counts_each_result,
    generated_stream,
    gives_generated,
    is_known_at_every_instant,
)
from panes.plan.schema import Schema
from panes.plan.types import BIGINT
from panes.plan.windows import RangeWindow, RowsWindow

SCAN = StreamScan("s", "s", Schema.of([("s.a", BIGINT)]))
OTHER = StreamScan("t", "t", Schema.of([("t.a", BIGINT)]))
PLAIN, SLIDING, INTERNAL = (
    Window(SCAN, spec) for spec in (RangeWindow(20), RangeWindow(20, 5), RangeWindow(20, internal=True))
)
TABLE = TableScan("n", "n", Schema.of([("n.a", BIGINT)]), retroactive=False, stream="s")
TIMED = StreamScan("s", "s", Schema.of([("s.a", BIGINT), ("s._time", BIGINT)]))
LOOKED_UP = {"left_keys": ("s.a",), "right_keys": ("n.a",), "time": "s._time"}
LAST, LAST_BY_TWO = (Window(SCAN, RowsWindow(4, slide)) for slide in (None, 2))


def counted(child: Node) -> Node:
    return GroupBy(child, (), (Aggregate("n", "count", None, BIGINT),))


@pytest.mark.parametrize(
    ("plan", "is_known"),
    [
        (PLAIN, True),
        (counted(PLAIN), False),
        (counted(LAST), False),
        # With SLIDE every slide is told, in time and in rows, also beside windows that change in between.
        (counted(SLIDING), True),
        (counted(LAST_BY_TWO), True),
        (counted(Union(SLIDING, PLAIN)), True),
        (Union(counted(PLAIN), counted(SLIDING)), True),
        # Whatever can tell is told of every instant.
        (Istream(counted(PLAIN)), True),
        (Dstream(counted(PLAIN)), True),
        (Rstream(counted(PLAIN)), True),
        (Wstream(counted(PLAIN), RowsWindow(3)), True),
        (counted(INTERNAL), True),
        # The groups of a window over a stream are groups like any other.
        (counted(Window(Istream(counted(SLIDING)), RangeWindow(9))), False),
        (Project(counted(PLAIN), (("n", Column(BIGINT, "n")),)), False),
    ],
)
def test_which_plans_tell_their_answer_at_every_instant(plan, is_known):
    assert is_known_at_every_instant(plan) == is_known


@pytest.mark.parametrize(
    ("relation", "counts"),
    [
        (PLAIN, True),
        (LAST, True),
        (Union(PLAIN, LAST), True),
        (Join(PLAIN, Window(OTHER, RangeWindow(9)), ("s.a",), ("t.a",)), True),
        (Join(PLAIN, Window(OTHER, RowsWindow(9)), ("s.a",), ("t.a",)), False),
        (Distinct(PLAIN), False),
        (counted(PLAIN), False),
        # Tuples look tables up one by one, also those of count windows.
        (Join(Window(TIMED, RangeWindow(9)), TABLE, **LOOKED_UP), True),
        (SemiJoin(Window(TIMED, RowsWindow(9)), TABLE, **LOOKED_UP), True),
        (AntiJoin(Window(TIMED, RangeWindow(9)), TABLE, **LOOKED_UP), True),
        (Join(Distinct(Window(TIMED, RangeWindow(9))), TABLE, **LOOKED_UP), False),
        (Join(PLAIN, replace(TABLE, retroactive=True, stream=None), ("s.a",), ("n.a",)), False),
    ],
)
def test_of_which_relations_every_result_counts(relation, counts):
    assert counts_each_result(relation) == counts


def test_results_of_internal_windows_and_of_wstream_are_generated():
    assert generated_stream(INTERNAL) == Istream(INTERNAL)
    assert generated_stream(PLAIN) == PLAIN
    assert generated_stream(Wstream(PLAIN, RowsWindow(1))) == Wstream(PLAIN, RowsWindow(1))
    assert gives_generated(Istream(INTERNAL))
    assert gives_generated(Wstream(PLAIN, RowsWindow(1)))
    assert not gives_generated(Istream(PLAIN))
