"""What each way to have an answer costs, by the rates."""

import pytest

from panes.optimizer.answer_costs import READ_SUMS, AnswerCosts, ReadRows, answer_costs
from panes.optimizer.cost import PlanCost
from panes.optimizer.statistics import EPOCH, Fact, FactName, Statistics
from panes.stages.explain_tree import StepKey
from panes.stages.step_cost import StepCost

FACTS = {
    FactName("span", EPOCH): Fact(2.0, 9),
    **{
        FactName("cost", f"read {what} {part}"): Fact(micros, 9)
        for what, micros_of in {"segments": (1000, 1), "sums": (2000, 2), "history": (50_000, 4)}.items()
        for part, micros in zip(("fixed", "row"), micros_of, strict=True)
    },
}
ROWS = ReadRows(answer=10, store=500, history=100_000, of_store=READ_SUMS)


def plan(cpu: float) -> PlanCost:
    """A plan that takes so many CPU seconds per second; reading the stream takes more, for whichever way."""
    return PlanCost({StepKey(0, "", "Select"): StepCost(1.0, 1.0, 0.0, cpu)}, ingest={"s": 0.7})


def costs(invocations: float, **ways: object) -> AnswerCosts:
    return answer_costs(Statistics(FACTS), invocations, 1000.0, ROWS, **ways)


def test_each_way_pays_for_tuples_as_they_come_and_for_invocations():
    found = costs(0.1, eager=plan(0.02), store=plan(0.08), sharing=4)
    assert found.ways == pytest.approx(
        {"eager": 0.02 + 0.1 * 0.001_01, "lazy": 0.08 / 4 + 0.1 * 0.003, "none": 0.1 * 0.45}
    )


def test_an_answer_is_computed_once_per_epoch_however_often_it_is_asked_for():
    assert costs(0.5).ways == costs(80.0).ways
    assert costs(0.25).ways["none"] == costs(80.0).ways["none"] / 2


def test_ways_that_are_not_possible_have_no_cost():
    assert set(costs(1.0).ways) == {"none"}
    assert set(costs(1.0, eager=plan(0.1), can_ask=False).ways) == {"eager"}
