"""Selections that choose whole partitions pass OVER, those that read no items pass unnest; others stop there."""

from panes.optimizer.rules.push_below_added_columns import push_below_added_columns
from panes.plan.expressions import Call, Column, Literal
from panes.plan.nodes import Over, Project, Select, StreamScan, Unnest, Window
from panes.plan.over_functions import OverFunction
from panes.plan.schema import Schema
from panes.plan.sort_key import SortKey
from panes.plan.types import BIGINT, BOOLEAN, list_of
from panes.plan.windows import RangeWindow

SCAN = StreamScan("s", "s", Schema.of([("s.a", BIGINT), ("s.b", BIGINT)]))
WINDOW = Window(SCAN, RangeWindow(5))
NUMBERED = (OverFunction("n", "row_number", None, BIGINT),)


def over(child):
    return Over(child, ("s.a",), (SortKey("s.b"),), NUMBERED)


def is_one(column):
    return Call(BOOLEAN, "eq", (Column(BIGINT, column), Literal(BIGINT, 1)))


def both(one, other):
    return Call(BOOLEAN, "and", (one, other))


def test_a_condition_on_partition_columns_passes():
    assert push_below_added_columns(Select(over(WINDOW), is_one("s.a"))) == over(
        Select(WINDOW, is_one("s.a"))
    )


def test_conditions_on_other_columns_and_on_values_stay():
    plan = Select(over(WINDOW), both(is_one("n"), both(is_one("s.a"), is_one("s.b"))))
    assert push_below_added_columns(plan) == Select(
        over(Select(WINDOW, is_one("s.a"))), both(is_one("n"), is_one("s.b"))
    )


def test_a_condition_passes_under_the_name_that_a_projection_gave():
    columns = (("x.a", Column(BIGINT, "s.a")), ("x.n", Column(BIGINT, "n")))
    plan = Select(Project(over(WINDOW), columns), both(is_one("x.a"), is_one("x.n")))
    below = Select(over(Select(WINDOW, is_one("s.a"))), is_one("n"))
    assert push_below_added_columns(plan) == Project(below, columns)


def test_a_condition_that_reads_no_item_passes_unnest():
    items = Call(list_of(BIGINT), "array", (Column(BIGINT, "s.a"), Column(BIGINT, "s.b")))
    plan = Select(Unnest(WINDOW, items, "t.x"), both(is_one("s.a"), is_one("t.x")))
    below = Unnest(Select(WINDOW, is_one("s.a")), items, "t.x")
    assert push_below_added_columns(plan) == Select(below, is_one("t.x"))
