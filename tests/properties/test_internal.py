"""INTERNAL windows: the same results, each at the same instant, and then they stay."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from panes.delta.consolidate import contents_at
from panes.plan.patterns import Pattern
from panes.testing import counted
from tests.properties.drawn import Case, Cases, drawn
from tests.properties.running import DIRECT, NT, UPA, outputs, together
from tests.properties.test_outputs import entered, relation_at_all_instants

CASES = Cases(
    plan=lambda drawing: drawing.internal(drawing.random.randint(0, 2)),
    most_rows=14,
    most_clocks=3,
    ways=(UPA, NT, DIRECT),
)


@drawn(CASES, share=0.02)
def test_results_of_internal_windows_come_when_those_of_others_do_and_stay(case: Case) -> None:
    # As no two tuples are equal, no result enters at the instant at which an equal one leaves.
    case = replace(case, arrivals=case.arrivals.all_different())
    relation = relation_at_all_instants(case)
    dataflow = case.way.lower(case.plan, every_instant=True)
    assert dataflow.pattern is Pattern.MONOTONIC
    tables: list[pa.Table] = []
    for clock, table in zip(case.arrivals.clocks, outputs(dataflow, case.arrivals), strict=True):
        tables.append(table)
        given = counted(contents_at(together(tables), clock))
        assert given == entered(relation, 1, clock), f"at {clock}"
