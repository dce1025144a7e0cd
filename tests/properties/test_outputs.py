"""Output streams: what they have given by an instant follows from the relation at all instants until then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from panes.delta.consolidate import contents_at
from panes.operators.lower import slides_of
from panes.plan import nodes
from panes.plan.windows import RangeWindow, RowsWindow
from panes.testing import Oracle, counted
from tests.properties.drawn import Case, Cases, drawn
from tests.properties.running import UPA, connection, outputs, together
from tests.properties.streams import Arrivals

Bag = Counter[tuple[Any, ...]]
CASES = Cases(deepest=2, most_rows=12, most_clocks=3)


def relation_at_all_instants(case: Case) -> list[Bag]:
    """The relation at 0, 1, 2, … until the last clock. At 0 nothing has begun."""
    oracle = Oracle(case.arrivals.tables, connection())
    last = case.arrivals.clocks[-1]
    return [Counter(), *(counted(oracle.answer_at(case.plan, now)) for now in range(1, last + 1))]


def entered(relation: list[Bag], begin: int, end: int) -> Bag:
    """What enters the relation from one instant to another."""
    return sum((relation[now] - relation[now - 1] for now in range(max(begin, 1), end + 1)), Counter())


def given_until(plan: nodes.Node, arrivals: Arrivals) -> Iterator[tuple[int, Bag]]:
    """What the operators hold at each clock."""
    tables: list[pa.Table] = []
    dataflow = UPA.lower(plan, every_instant=True)
    for clock, table in zip(arrivals.clocks, outputs(dataflow, arrivals), strict=True):
        tables.append(table)
        yield clock, counted(contents_at(together(tables), clock))


@drawn(CASES, share=0.02)
def test_istream_has_what_entered_at_any_instant(case: Case) -> None:
    relation = relation_at_all_instants(case)
    for clock, given in given_until(nodes.Istream(case.plan), case.arrivals):
        assert given == entered(relation, 1, clock)


@drawn(CASES, share=0.02)
def test_dstream_has_what_left_at_any_instant(case: Case) -> None:
    relation = relation_at_all_instants(case)
    for clock, given in given_until(nodes.Dstream(case.plan), case.arrivals):
        assert given == sum((relation[now - 1] - relation[now] for now in range(2, clock + 1)), Counter())


@drawn(CASES, share=0.02)
def test_wstream_has_the_youngest_results(case: Case) -> None:
    relation = relation_at_all_instants(case)
    for clock, given in given_until(nodes.Wstream(case.plan, RangeWindow(5)), case.arrivals):
        assert given == entered(relation, clock - 4, clock)
    for clock, given in given_until(nodes.Wstream(case.plan, RowsWindow(3)), case.arrivals):
        results = entered(relation, 1, clock)
        assert given.total() == min(results.total(), 3)
        assert given <= results


@drawn(CASES, share=0.02)
def test_rstream_has_the_relation_of_every_slide(case: Case) -> None:
    relation = relation_at_all_instants(case)
    slides = slides_of(case.plan)
    for clock, given in given_until(nodes.Rstream(case.plan), case.arrivals):
        told = [now for now in range(1, clock + 1) if any(now % slide == 0 for slide in slides)]
        told = told if slides else [c for c in case.arrivals.clocks if c <= clock]
        assert given == sum((relation[now] for now in told), Counter())
