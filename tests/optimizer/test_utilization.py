"""How busy plans keep a cluster."""

from __future__ import annotations

import pytest

from panes.optimizer.cost import PlanCost
from panes.optimizer.utilization import Utilization, utilization
from panes.stages.explain_tree import StepKey
from panes.stages.step_cost import StepCost


def plan(cpu: float, *, alone: float = 0.0, **streams: float) -> PlanCost:
    """A plan of one step."""
    return PlanCost({StepKey(0, "", "step"): StepCost(1, 1, 0, cpu)}, {}, streams, alone)


def test_plans_add_up_and_a_stream_is_read_once() -> None:
    together = utilization([plan(0.5, s=0.25), plan(0.75, s=0.25, t=0.125)], 2)
    assert together.busy == 0.5 + 0.75 + 0.25 + 0.125
    assert str(together) == "utilization 81 % of 2 cores: feasible"


def test_more_than_there_is_is_infeasible() -> None:
    assert str(utilization([plan(3.0)], 2)) == "utilization 150 % of 2 cores: infeasible"


def test_a_stage_on_one_shard_cannot_take_more_than_a_core() -> None:
    found = utilization([plan(1.2, alone=1.2), plan(0.1)], 4)
    assert not found.is_feasible
    assert str(found) == "utilization 32 % of 4 cores: infeasible, a stage on one shard takes 120 % of a core"


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (Utilization(0.5), "utilization 50 % of a core"),
        (Utilization(0.031, 1), "utilization 3.1 % of 1 core: feasible"),
        (Utilization(0.0), "utilization 0 % of a core"),
    ],
)
def test_the_text_says_of_how_many_cores(found: Utilization, text: str) -> None:
    assert str(found) == text
