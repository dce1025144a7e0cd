"""What plans cost, by statistics that the tests make up."""

from __future__ import annotations

import pytest

from panes.optimizer.cost import PlanCost, plan_cost
from panes.optimizer.statistics import Fact, FactName, Statistics
from panes.stages.make_plan import make_plan
from tests.stages.corpus_plans import PLANS, RUNS
from tests.stages.test_explain import GROUPS, JOIN, plan_of


def known(**rates: float) -> Statistics:
    """Statistics with rates of streams."""
    return Statistics({FactName("rate", stream): Fact(rate, 1) for stream, rate in rates.items()})


def cost_of(
    sql: str, statistics: Statistics | None = None, strategy: str = "upa", shards: int = 1
) -> PlanCost:
    return plan_cost(make_plan(plan_of(sql), strategy=strategy), statistics or Statistics(), shards=shards)


def rows_out(cost: PlanCost, name: str) -> list[float]:
    return [step.rows_out for key, step in cost.steps.items() if key.step.endswith(name)]


def test_every_plan_of_the_corpus_has_a_cost_for_each_of_its_steps() -> None:
    for name, strategy in RUNS:
        plan = make_plan(PLANS[name], strategy=strategy)
        cost = plan_cost(plan, Statistics())
        fragments = [stage.fragment for stage in plan.stages if stage.fragment is not None]
        fragments += [source.fragment for stage in plan.stages for source in stage.inputs]
        made = [step.name for fragment in fragments for step in fragment.steps]
        assert sorted(key.step for key in cost.steps) == sorted([*made, "answer", "store"]), name
        for key, step in cost.steps.items():
            assert min(step.rows_in, step.rows_out, step.state) >= 0, (name, key)
            assert 0 < step.cpu < float("inf"), (name, key)


def test_with_negative_tuples_every_row_comes_twice() -> None:
    upa, nt = cost_of(JOIN), cost_of(JOIN, strategy="nt")
    assert rows_out(nt, "_join") == pytest.approx([2 * rows for rows in rows_out(upa, "_join")])
    assert nt.cpu > upa.cpu


def test_the_fixed_cost_of_a_stage_comes_once_for_each_shard() -> None:
    one, four = cost_of(GROUPS), cost_of(GROUPS, shards=4)
    assert four.rate == pytest.approx(one.rate)
    assert four.cpu > one.cpu


def test_a_stage_that_runs_on_one_shard_says_what_it_costs_alone() -> None:
    assert cost_of(GROUPS).alone == 0
    assert cost_of("SELECT count(*) AS n FROM packets [ROWS 100]").alone > 0


def test_cost_grows_with_the_rate_of_a_stream() -> None:
    slow, fast = cost_of(GROUPS, known(packets=100)), cost_of(GROUPS, known(packets=100_000))
    assert fast.cpu > 4 * slow.cpu
    assert fast.rate > 100 * slow.rate
