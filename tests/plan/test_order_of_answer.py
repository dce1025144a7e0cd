"""The order of an answer, at the top of its plan and inside another."""

from __future__ import annotations

from panes.plan.expressions import Column
from panes.plan.nodes import OrderBy, Project, StreamScan
from panes.plan.order_of_answer import order_of, relation_of, shown, without_order
from panes.plan.schema import Schema
from panes.plan.sort_key import SortKey
from panes.plan.types import BIGINT

SCAN = StreamScan("s", "s", Schema.of([("a", BIGINT), ("_by1", BIGINT)]))
PLAIN = StreamScan("s", "s", Schema.of([("a", BIGINT)]))
ORDER = (SortKey("_by1", descending=True),)


def test_what_is_kept_has_the_columns_that_it_is_sorted_by() -> None:
    plan = OrderBy(SCAN, ORDER)
    assert relation_of(plan) is SCAN
    assert order_of(plan) == ORDER
    assert plan.schema.names == ("a",)


def test_a_plan_without_an_order_is_its_own_relation() -> None:
    assert relation_of(PLAIN) is PLAIN
    assert without_order(PLAIN) is PLAIN
    assert shown(PLAIN) is PLAIN
    assert order_of(PLAIN) == ()


def test_inside_another_query_neither_the_order_nor_its_columns_are_seen() -> None:
    assert without_order(OrderBy(SCAN, ORDER)) == Project(SCAN, (("a", Column(BIGINT, "a")),))
    assert without_order(OrderBy(PLAIN, (SortKey("a"),))) is PLAIN
