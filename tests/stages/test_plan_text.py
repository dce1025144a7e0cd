"""Physical plans as text: what is read is what was written, for every query of the corpus under every strategy."""

from __future__ import annotations

import json

import pytest

from panes.errors import StateError
from panes.plan.nodes import Node
from panes.stages.make_plan import make_plan
from panes.stages.plan_text import plan_from, plan_text
from tests.stages.corpus_plans import PLANS, RUNS


@pytest.mark.parametrize(("name", "strategy"), RUNS)
def test_a_plan_is_read_as_it_was_written(name: str, strategy: str) -> None:
    plan: Node = PLANS[name]
    made = make_plan(plan, strategy=strategy)
    again = plan_from(plan_text(made))
    assert again == made
    digests = [[source.fragment.digests for source in stage.inputs] for stage in made.stages]
    assert [[source.fragment.digests for source in stage.inputs] for stage in again.stages] == digests


def test_a_plan_of_another_version_is_refused() -> None:
    content = json.loads(plan_text(make_plan(next(iter(PLANS.values())))))
    content["version"] = 99
    with pytest.raises(StateError, match="a stored plan has version 99"):
        plan_from(json.dumps(content))
