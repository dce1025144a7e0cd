"""Selections, projections and unnest pass time windows, and stop at count windows."""

import pytest

from panes.optimizer.rules.push_below_window import push_below_window
from panes.plan.expressions import Call, Column, Literal
from panes.plan.nodes import Project, Select, StreamScan, Unnest, Window
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, BOOLEAN, list_of
from panes.plan.windows import NowWindow, RangeWindow, RowsWindow, UnboundedWindow

SCAN = StreamScan("s", "s", Schema.of([("s.a", BIGINT)]))
A = Column(BIGINT, "s.a")
IS_ONE = Call(BOOLEAN, "eq", (A, Literal(BIGINT, 1)))


@pytest.mark.parametrize("spec", [RangeWindow(5), RangeWindow(5, 2), NowWindow(), UnboundedWindow()])
def test_a_chain_passes_a_time_window_in_its_order(spec):
    items = Call(list_of(BIGINT), "array", (A,))
    plan = Project(Unnest(Select(Window(SCAN, spec), IS_ONE), items, "x"), (("b", A),))
    assert push_below_window(plan) == Window(
        Project(Unnest(Select(SCAN, IS_ONE), items, "x"), (("b", A),)), spec
    )


def test_nothing_passes_a_count_window():
    plan = Select(Window(SCAN, RowsWindow(5)), IS_ONE)
    assert push_below_window(plan) == plan


def test_what_lies_below_other_nodes_is_reached():
    inner = Select(Window(SCAN, RangeWindow(5)), IS_ONE)
    plan = Select(Window(inner, RowsWindow(2)), IS_ONE)
    assert push_below_window(plan).child.child == Window(Select(SCAN, IS_ONE), RangeWindow(5))
