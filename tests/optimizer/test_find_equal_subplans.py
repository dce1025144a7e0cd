"""What is found to be equal becomes one step of a plan, and one stage of it."""

from __future__ import annotations

import pytest

from panes.operators.lower import lower
from panes.optimizer.optimizer import optimize
from panes.sharing.template import template_of
from panes.stages.cut_stages import cut_stages
from tests.optimizer.rewriting import bound, check_same

GROUPS = "SELECT {0}.k, count(*) AS n FROM s [RANGE 9 SECONDS] {0}, t [RANGE 7 SECONDS] o{0} "
GROUPS += "WHERE {0}.w = o{0}.w GROUP BY {0}.k"
TWICE = (
    f"SELECT x.k, y.n FROM ({GROUPS.format('a')}) x JOIN ({GROUPS.format('b')}) y ON x.n = y.n AND x.k < y.k"
)
OFF = frozenset({"find_equal_subplans"})


@pytest.mark.parametrize(("rules_off", "times"), [(OFF, 2), (frozenset(), 1)])
def test_equal_sub_plans_are_one_step_and_one_stage(rules_off: frozenset[str], times: int) -> None:
    plan = optimize(bound(TWICE), rules_off)
    operators = [step.operator for step in lower(plan).fragment.steps]
    assert operators.count("GroupBy") == times
    assert operators.count("Join") == times + 1
    # Per copy a stage that joins and one that groups, and the last one.
    assert len(cut_stages(plan)) == 2 * times + 1
    check_same(bound(TWICE), plan)


def test_what_is_needed_by_two_keys_is_computed_twice_on_all_shards():
    groups = "SELECT k, count(*) AS n FROM s [RANGE 9 SECONDS] {0} GROUP BY k"
    sql = f"SELECT x.k FROM ({groups.format('a')}) x JOIN ({groups.format('b')}) y ON x.k = y.n"
    plan = optimize(bound(sql))
    assert all(stage.is_sharded for stage in cut_stages(plan))
    assert [step.operator for step in lower(plan).fragment.steps].count("GroupBy") == 2


def groups_where(one: str, other: str) -> str:
    groups = "SELECT k, count(*) AS n FROM s [RANGE 1 MINUTE] WHERE w = '{}' GROUP BY k"
    return f"SELECT x.k FROM ({groups.format(one)}) x, ({groups.format(other)}) y WHERE x.n = y.n"


def test_queries_share_a_plan_whether_or_not_their_constants_are_equal():
    same, different = (template_of(optimize(bound(groups_where("a", other)))) for other in "ab")
    assert same is not None
    assert different is not None
    assert same[0] == different[0]
