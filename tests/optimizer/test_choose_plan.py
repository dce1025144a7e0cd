"""The cheapest plan is taken, by whatever statistics say, and the reasons go with it."""

from __future__ import annotations

import pytest

from panes.optimizer import candidates as offered
from panes.optimizer.alternatives.alternative import Alternative
from panes.optimizer.candidates import ALTERNATIVES
from panes.optimizer.choose_plan import LAYOUT, choose_plan
from panes.optimizer.cost import PlanCost, plan_cost
from panes.optimizer.estimates import Estimates
from panes.optimizer.fact_names import early_name, join_name
from panes.optimizer.optimizer import optimize
from panes.optimizer.planning import Planning
from panes.optimizer.statistics import Fact, FactName, Statistics
from panes.plan.nodes import AntiJoin, Node
from panes.plan.shape import shape
from panes.plan.sheddable import why_not_sheddable
from panes.plan.walk import walk
from panes.stages.physical_plan import PhysicalPlan
from panes.stages.plan_text import plan_from, plan_text
from tests.optimizer.rewriting import bound
from tests.stages.corpus_plans import PLANS

ABOVE = """
    SELECT a.v, b.w FROM s [RANGE 1 MINUTE] a, t [RANGE 1 MINUTE] b
    WHERE a.k = b.k AND NOT EXISTS (SELECT 1 FROM t [RANGE 1 MINUTE] c WHERE c.k = a.k)
"""
BELOW = """
    SELECT a.v, b.w
    FROM (SELECT * FROM s [RANGE 1 MINUTE] a
          WHERE NOT EXISTS (SELECT 1 FROM t [RANGE 1 MINUTE] c WHERE c.k = a.k)) a,
         t [RANGE 1 MINUTE] b
    WHERE a.k = b.k
"""
REST = "t [NOW] b WHERE a.k = b.k AND a.w NOT IN (SELECT w FROM t [NOW])"
UP, DOWN = "(a ⋈ b) ▷ c", "(a ▷ c) ⋈ b"
LIFETIMES = "lifetimes above the negation"


def plan_of(sql: str) -> Node:
    return optimize(bound(sql))


def statistics(*, early: float, alone: float, keys: float) -> Statistics:
    """How many results of the negation leave early, how many rows have no match there, and how many keys there
    are: the fewer, the more rows the join makes of each."""
    (negation,) = (node for node in walk(plan_of(ABOVE)) if isinstance(node, AntiJoin))
    return Statistics(
        {
            FactName("early", early_name(negation)): Fact(early, 1),
            FactName("selectivity", f"NOT EXISTS {join_name(negation)}"): Fact(alone, 1),
            FactName("distinct", "s.k"): Fact(keys, 1),
            FactName("distinct", "t.k"): Fact(keys, 1),
        }
    )


@pytest.mark.parametrize("sql", [ABOVE, BELOW], ids=["written above", "written below"])
@pytest.mark.parametrize(
    ("known", "expected"),
    [
        # The join would make many rows, of which the negation leaves few.
        (statistics(early=0.0, alone=0.05, keys=100), DOWN),
        # The join makes few rows, and most of what the negation gives is taken back.
        (statistics(early=0.9, alone=0.95, keys=1e6), UP),
    ],
    ids=["many results", "many taken back"],
)
def test_a_negation_stands_where_statistics_say_however_it_is_written(
    sql: str, known: Statistics, expected: str
) -> None:
    assert choose_plan(plan_of(sql), known, Planning()).choice.candidates[0].shape == expected


@pytest.mark.parametrize(("early", "expected"), [(0.0, True), (0.99, False)])
def test_state_above_a_negation_is_laid_out_by_the_share_that_leaves_early(
    early: float, expected: bool
) -> None:
    chosen = choose_plan(
        plan_of(BELOW), statistics(early=early, alone=0.5, keys=1e5), Planning(negation="written")
    )
    assert chosen.choice.candidates[0].name.endswith(LIFETIMES) is expected
    operators = [step.operator for stage in chosen.stages if stage.fragment for step in stage.fragment.steps]
    assert ("ExplicitExpiry" in operators) is not expected


@pytest.mark.parametrize(
    ("negation", "shapes"), [("up", {UP}), ("down", {DOWN}), ("written", {UP}), ("auto", {UP, DOWN})]
)
def test_a_setting_says_where_negations_stand(negation: str, shapes: set[str]) -> None:
    choice = choose_plan(plan_of(ABOVE), Statistics(), Planning(negation=negation)).choice
    assert {candidate.shape for candidate in choice.candidates} == shapes


def test_all_alternatives_can_be_switched_off() -> None:
    off = frozenset([*ALTERNATIVES, LAYOUT])
    chosen = choose_plan(plan_of(ABOVE), Statistics(), Planning(rules_off=off))
    assert [candidate.name for candidate in chosen.choice.candidates] == ["as written"]
    assert chosen.choice.candidates[0].verdict == "chosen: there is no other"
    assert chosen.plan == plan_of(ABOVE)


def test_the_chosen_plan_costs_least_and_says_why() -> None:
    known = statistics(early=0.0, alone=0.05, keys=100)
    chosen = choose_plan(plan_of(ABOVE), known, Planning(cores=2), rules=("push_below_window",))
    first, *others = chosen.choice.candidates
    assert all(first.cost <= other.cost for other in others)
    assert plan_cost(chosen, known, shards=2).cpu == first.cost
    assert first.verdict.startswith("chosen: ")
    assert first.verdict.endswith(" cheaper than as written")
    assert all(" dearer: " in one.verdict or " times the cost: " in one.verdict for one in others)
    assert chosen.choice.rules == ("push_below_window",)
    assert chosen.choice.capacity == 2.0
    assert plan_from(plan_text(chosen)).choice == chosen.choice


def test_a_plan_that_one_shard_cannot_run_is_not_chosen_though_it_is_cheaper(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def cost(plan: PhysicalPlan, *_: object) -> PlanCost:
        is_up = shape(plan.plan) == UP
        return PlanCost({}, ingest={"s": 1.5 if is_up else 3.0}, alone=1.2 if is_up else 0.0)

    monkeypatch.setattr("panes.optimizer.choose_plan.plan_cost", cost)
    planning = Planning(cores=4, rules_off=frozenset([LAYOUT]))
    choice = choose_plan(plan_of(ABOVE), Statistics(), planning).choice
    assert [(one.shape, one.verdict) for one in choice.candidates] == [
        (DOWN, "chosen: the cluster cannot run as written"),
        (UP, "50 % cheaper, but the cluster cannot run it"),
    ]


def test_of_plans_that_cost_the_same_the_written_one_is_taken() -> None:
    free = {
        FactName("cost", f"{operator} {part}"): Fact(0.0, 1)
        for operator in (
            "Join",
            "AntiJoin",
            "ExplicitExpiry",
            "store",
            "shuffle",
            "ReleaseOnTime",
            "answer",
            "Entry",
        )
        for part in ("row", "fixed", "probe", "insert", "expire", "visit", "retract")
    }
    choice = choose_plan(plan_of(ABOVE), Statistics(free), Planning(rules_off=frozenset([LAYOUT]))).choice
    assert choice.candidates[0].name == "as written"


def test_an_alternative_with_a_bug_is_named_and_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def half(plan: Node, _: object) -> list[Alternative]:
        return [Alternative("half", plan.children[0])]

    monkeypatch.setitem(offered.ALTERNATIVES, "join_orders", half)
    with pytest.warns(RuntimeWarning, match="join_orders is skipped, a bug in Panes: the columns are"):
        choice = choose_plan(plan_of(ABOVE), Statistics(), Planning(negation="written")).choice
    assert {candidate.shape for candidate in choice.candidates} == {UP}


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT Wstream(*) [ROWS 3] FROM s [NOW] a, {REST}",
        f"SELECT Rstream-restore(*) FROM s [NOW] a, {REST}".replace("NOW", "RANGE 6 SECONDS SLIDE 2 SECONDS"),
    ],
    ids=["Wstream", "RESTORE"],
)
def test_negations_stay_where_rows_are_counted_one_by_one(sql: str) -> None:
    choice = choose_plan(plan_of(sql), Statistics(), Planning()).choice
    assert len({candidate.shape for candidate in choice.candidates}) == 1


def test_what_is_chosen_does_not_depend_on_chance() -> None:
    plan, planning = plan_of(ABOVE), Planning()
    known = statistics(early=0.4, alone=0.3, keys=500)
    assert choose_plan(plan, known, planning) == choose_plan(plan, known, planning)


def test_every_candidate_for_a_plan_that_may_shed_may_shed_too_and_has_a_box_for_each_stream():
    plans = [plan for plan in PLANS.values() if why_not_sheddable(plan) is None]
    assert len(plans) > 100
    for plan in plans:
        for one in offered.candidates(plan, Estimates(Statistics()), Planning()).plans:
            assert why_not_sheddable(one.plan) is None, one.plan
        chosen = choose_plan(plan, Statistics(), Planning(sheds=True))
        inputs = [source for stage in chosen.stages for source in stage.inputs if source.stream is not None]
        assert inputs
        assert all(source.has_drop_box for source in inputs)
