"""INTERNAL windows: the same results, each at the same instant, and then they stay."""

from __future__ import annotations

from panes.plan.patterns import Pattern
from tests.properties.drawn import Case, Cases, drawn
from tests.properties.running import DIRECT, NT, UPA, history, outputs
from tests.reference.relations import Reference

CASES = Cases(
    plan=lambda drawing: drawing.internal(drawing.random.randint(0, 2)),
    most_rows=14,
    most_clocks=3,
    ways=(UPA, NT, DIRECT),
)


@drawn(CASES, share=0.02)
def test_results_of_internal_windows_come_when_they_are_generated_and_stay(case: Case) -> None:
    dataflow = case.way.lower(case.plan)
    assert dataflow.pattern is Pattern.MONOTONIC
    last = case.arrivals.clocks[-1]
    given = history(list(outputs(dataflow, case.arrivals)), last)
    assert given == Reference(case.arrivals.tables, last).history(case.plan)
