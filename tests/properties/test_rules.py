"""Whichever rules are applied, the answer at every clock is that of the plan as it was written."""

from __future__ import annotations

from random import Random

from panes.optimizer.optimizer import RULES, optimize
from tests.properties.drawn import Case, Cases, drawn
from tests.properties.improvable import improvable
from tests.properties.plans import Drawing
from tests.properties.running import NT, UPA, check_answers


def some_off(case: Case) -> frozenset[str]:
    """Some rules that are off, the same ones for the same case; often none."""
    random = Random(repr(case.plan))
    names = [rule.__name__ for rule in RULES]
    return frozenset(random.sample(names, random.choice((0, 0, 0, 1, len(names) // 2, len(names) - 1))))


def check_rules(case: Case) -> None:
    plan = optimize(case.plan, some_off(case))
    check_answers(case.plan, case.arrivals, case.way.lower(plan))


@drawn(Cases(plan=improvable, ways=(UPA, UPA, NT)), share=0.15)
def test_rules_leave_the_answers_of_plans_as_they_are(case: Case) -> None:
    check_rules(case)


@drawn(Cases(plan=Drawing.with_tables, ways=(UPA, NT), out_of_order=True), share=0.03)
def test_rules_leave_the_answers_of_plans_with_tables_as_they_are(case: Case) -> None:
    check_rules(case)


@drawn(Cases(plan=improvable), share=0.1)
def test_rules_find_nothing_more_to_do_in_what_they_made(case: Case) -> None:
    once = optimize(case.plan)
    assert optimize(once) == once
