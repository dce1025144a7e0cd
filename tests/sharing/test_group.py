"""A group has the synopsis that its queries need, as long as signatures are few."""

from __future__ import annotations

from panes.plan.expressions import Aggregate, Call, Column, Expression, Literal
from panes.plan.nodes import GroupBy, Node, Select, StreamScan, Synopsis, Window
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, BOOLEAN
from panes.plan.windows import RangeWindow
from panes.sharing.group import Group
from panes.sharing.template import templates_of
from panes.synopses.definition import AUTO, predicates_of

COLUMNS = [f"s.c{number}" for number in range(12)]
SCAN = StreamScan("s", "s", Schema.of([(name, BIGINT) for name in COLUMNS]))
COUNT = Aggregate("n", "count", None, BIGINT)


def above(column: str, value: int) -> Expression:
    return Call(BOOLEAN, "gt", (Column(BIGINT, column), Literal(BIGINT, value)))


def counted(predicate: Expression, length: int) -> Node:
    return GroupBy(Window(Select(SCAN, predicate), RangeWindow(length, 1)), (), (COUNT,))


def group_of(plan: Node) -> Group:
    (key,) = (template.key for template in templates_of(plan) if template.source is not None)
    return Group.of(plan, key)


def test_queries_with_other_selections_and_windows_are_of_one_group():
    plans = {number: counted(above("s.c0", number), number + 2) for number in range(12)}
    group = group_of(plans[0])
    group.update({0: plans[0]})
    runs = group.plan(AUTO)
    assert group.outgrown(runs) == set()
    group.update(plans)
    assert group.outgrown(runs) == set(range(1, 12))
    assert group.why_not_grown(runs) is None
    grown = group.plan(AUTO, runs)
    assert isinstance(grown, Synopsis)
    assert predicates_of(grown) == tuple(above("s.c0", number) for number in range(12))


def test_selections_that_could_tell_every_tuple_apart_do_not_share_a_synopsis():
    plans = {number: counted(above(column, 1), 2) for number, column in enumerate(COLUMNS)}
    group = group_of(plans[0])
    group.update({0: plans[0]})
    runs = group.plan(AUTO)
    group.update(plans)
    assert group.why_not_grown(runs) == "their selections could tell tuples apart in more than 192 ways"


def test_what_was_seen_decides_where_selections_could_tell_every_tuple_apart():
    plans = {number: counted(above(column, 1), 2) for number, column in enumerate(COLUMNS)}
    group = group_of(plans[0])
    group.update({number: plans[number] for number in range(len(COLUMNS) - 2)})
    runs = group.plan(AUTO)
    group.update(plans)
    most = 16 * len(COLUMNS)
    # Two more selections cut each signature in four at most.
    assert group.why_not_grown(runs, lambda: most // 4) is None
    refused = f"their selections could tell tuples apart in more than {most} ways"
    assert (
        group.why_not_grown(runs, lambda: most // 4 + 1)
        == f"{refused}, and have told {most // 4 + 1} apart by now"
    )
    assert group.why_not_grown(runs, lambda: None) == refused
