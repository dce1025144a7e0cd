"""Each rule makes of queries what its file says, with the same answers, and bugs in it are found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module

import pytest

from panes.optimizer.optimizer import RULES, Rule
from panes.optimizer.what_is_broken import what_is_broken
from panes.plan.expressions import Call, Column
from panes.plan.join_tree import JoinTree, join_tree_of
from panes.plan.nodes import Node, Window, with_children
from panes.plan.structure import structure
from panes.plan.types import BOOLEAN
from panes.plan.windows import NowWindow
from tests.optimizer.fixtures import Fixture, fixtures
from tests.optimizer.rewriting import bound, check_same

FIXTURES = fixtures()


def check(fixture: Fixture, cases: int = 3) -> None:
    before = fixture.before()
    after = fixture.rule(before)
    assert what_is_broken(before, after) is None
    check_same(bound(fixture.sql), after, cases)


@pytest.mark.parametrize("fixture", FIXTURES, ids=str)
def test_a_rule_makes_what_its_file_says(fixture: Fixture) -> None:
    assert fixture.outcome() == fixture.expected
    after = fixture.rule(fixture.before())
    assert fixture.rule(after) == after


@pytest.mark.parametrize("fixture", FIXTURES, ids=str)
def test_the_answers_after_a_rule_are_those_before(fixture: Fixture) -> None:
    check(fixture, cases=2)


def in_one_window(node: Node) -> Node:
    """The plan with the same window on all streams."""
    node = with_children(node, *map(in_one_window, node.children))
    return replace(node, spec=NowWindow()) if isinstance(node, Window) else node


def with_one_condition_more(node: Node) -> JoinTree | None:
    tree = join_tree_of(node)
    if tree is None:
        return None
    *_, last = tree.leaves[0].schema
    more = Call(BOOLEAN, "is_not_null", (Column(last.type, last.name),))
    return replace(tree, conditions=(*tree.conditions, more))


BUGS: dict[str, tuple[str, Callable[..., object]]] = {
    "merge_or_into_in": ("_is_one_of", lambda value, some: Call(BOOLEAN, "eq", (value, some[0]))),
    "remove_redundant_distinct": ("is_without_duplicates", lambda _: True),
    "push_selections": ("_is_of_time", lambda _: True),
    "connect_joins": ("join_tree_of", with_one_condition_more),
    "push_below_window": ("_is_passed", lambda _: True),
    "find_equal_subplans": ("structure", lambda node: structure(in_one_window(node))),
    "keep_needed_columns": ("columns_of", lambda _: frozenset()),
    "merge_projects": ("substitute", lambda _, columns: next(iter(columns.values()))),
}
"""By the name of a rule what is replaced in its module."""


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_bug_in_a_rule_is_found(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    name, bug = BUGS[rule.__name__]
    monkeypatch.setattr(import_module(rule.__module__), name, bug)
    found = []
    for fixture in FIXTURES:
        if fixture.rule is rule and not found:
            try:
                check(fixture)
            except Exception as error:
                found.append(error)
    assert found
