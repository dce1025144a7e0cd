"""Projections and unnest pass time windows, and stop at count windows."""

import pytest

from panes.optimizer.rules.push_below_window import push_below_window
from panes.plan.expressions import Call, Column
from panes.plan.nodes import Distinct, Project, StreamScan, Unnest, Window
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, list_of
from panes.plan.windows import NowWindow, RangeWindow, RowsWindow, UnboundedWindow

SCAN = StreamScan("s", "s", Schema.of([("s.a", BIGINT)]))
A = Column(BIGINT, "s.a")


@pytest.mark.parametrize("spec", [RangeWindow(5), RangeWindow(5, 2), NowWindow(), UnboundedWindow()])
def test_a_chain_passes_a_time_window_in_its_order(spec):
    items = Call(list_of(BIGINT), "array", (A,))
    plan = Project(Unnest(Window(SCAN, spec), items, "x"), (("b", A),))
    assert push_below_window(plan) == Window(Project(Unnest(SCAN, items, "x"), (("b", A),)), spec)


def test_nothing_passes_a_count_window():
    plan = Project(Window(SCAN, RowsWindow(5)), (("b", A),))
    assert push_below_window(plan) == plan


def test_what_lies_below_other_nodes_is_reached():
    inner = Project(Window(SCAN, RangeWindow(5)), (("b", A),))
    plan = Distinct(inner)
    assert push_below_window(plan) == Distinct(Window(Project(SCAN, (("b", A),)), RangeWindow(5)))
