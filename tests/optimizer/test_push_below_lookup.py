"""Selections go below lookups, each to the side that decides it."""

from panes.language import bind, parse
from panes.optimizer.optimizer import optimize
from panes.optimizer.rules.push_below_lookup import push_below_lookup
from panes.plan.lookups import is_lookup
from panes.plan.nodes import Select
from panes.plan.walk import walk
from panes.sharing.template import template_of
from tests.language.corpus import read_catalog

CATALOG = read_catalog(
    """
    CREATE STREAM s (k BIGINT, g BIGINT);
    CREATE TABLE n (k BIGINT, v BIGINT) NON RETROACTIVE;
    CREATE TABLE r (k BIGINT, v BIGINT);
    CREATE STREAM looked AS SELECT s.k + 1 AS h, g, v FROM s JOIN n ON s.k = n.k;
    CREATE STREAM known AS SELECT g FROM s WHERE k NOT IN (SELECT k FROM n) AND k IN (SELECT v FROM n);
    """
)


def plan_of(sql):
    (query,) = parse(sql)
    return bind(query, CATALOG)


def predicates(node):
    return [str(n.predicate) for n in walk(node) if isinstance(n, Select)]


def selections(plan):
    """The conditions below each lookup of a plan, on its left and right, and those above all of them."""
    lookups = list(filter(is_lookup, walk(plan)))
    inside = set(predicates(lookups[0]))
    above = [predicate for predicate in predicates(plan) if predicate not in inside]
    return [list(map(predicates, lookup.children)) for lookup in lookups], above


def test_a_condition_goes_to_the_side_that_decides_it():
    plan = plan_of("SELECT h FROM looked [NOW] WHERE h > 5 AND v < 3 AND g < v")
    assert selections(plan) == ([[[], []]], ["((looked.h > 5) AND (looked.v < 3)) AND (looked.g < looked.v)"])
    below, above = selections(push_below_lookup(plan))
    assert below == [[["(s.k + 1) > 5"], ["n.v < 3"]]]
    assert above == ["s.g < n.v"]


def test_all_conditions_go_below_semi_and_anti_joins():
    below, above = selections(push_below_lookup(plan_of("SELECT g FROM known [NOW] WHERE g > 5")))
    assert below == [[["s.g > 5"], []], [["s.g > 5"], []]]
    assert above == []


def test_conditions_of_derived_tables_come_together():
    plan = plan_of("SELECT g FROM (SELECT g, v FROM looked [NOW] WHERE v > 1) d WHERE g > 5")
    below, above = selections(push_below_lookup(plan))
    assert below == [[["s.g > 5"], ["n.v > 1"]]]
    assert above == []


def test_nothing_passes_a_count_window_or_a_join_with_a_relation():
    for sql in (
        "SELECT g FROM looked [ROWS 3] WHERE g > 5",
        "SELECT g FROM (SELECT s.g FROM s [NOW] JOIN r ON s.k = r.k) d WHERE g > 5",
    ):
        plan = plan_of(sql)
        assert push_below_lookup(plan) == plan


def test_queries_over_a_stream_that_looked_up_share_a_plan():
    one, other = (
        template_of(optimize(plan_of(f"SELECT h, v FROM looked [RANGE 1 MINUTE] WHERE g = {g}")))
        for g in (1, 2)
    )
    assert one is not None
    assert other is not None
    assert one[0] == other[0]
