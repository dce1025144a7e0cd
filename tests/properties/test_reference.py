"""The reference is to be trusted: for plain relations it says what DuckDB says."""

from __future__ import annotations

from panes.testing import Oracle, counted
from tests.properties.drawn import Case, Cases, drawn
from tests.properties.running import connection
from tests.reference.relations import Reference
from tests.reference.values import comparable


@drawn(Cases(deepest=2, most_rows=24), share=0.02)
def test_reference_is_the_oracle_at_every_clock(case: Case) -> None:
    clocks = case.arrivals.clocks
    reference = Reference(case.arrivals.tables, clocks[-1])
    oracle = Oracle(case.arrivals.tables, connection())
    for clock in clocks:
        found = comparable(reference.bag(case.plan, clock))
        assert found == counted(oracle.answer_at(case.plan, clock)), f"at {clock}"
