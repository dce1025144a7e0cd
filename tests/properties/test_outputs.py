"""Output streams: what they have given by an instant follows from the relation at all instants until then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from panes.delta.consolidate import contents_at
from panes.operators.lower import slides_of
from panes.plan import nodes
from panes.plan.windows import RangeWindow, RowsWindow
from panes.testing import Oracle, counted
from tests.properties.drawn import drawn
from tests.properties.plans import plans
from tests.properties.running import UPA, connection, outputs, together
from tests.properties.streams import Arrivals, arrivals

Bag = Counter[tuple[Any, ...]]
CASES = st.tuples(plans(2), arrivals(most_rows=15, most_clocks=3))


def relation_at_all_instants(plan: nodes.Node, arrivals: Arrivals) -> list[Bag]:
    """The relation at 0, 1, 2, … until the last clock."""
    oracle = Oracle(arrivals.tables, connection())
    return [counted(oracle.answer_at(plan, now)) for now in range(arrivals.clocks[-1] + 1)]


def given_until(plan: nodes.Node, arrivals: Arrivals) -> Iterator[tuple[int, Bag]]:
    """What the operators hold at each clock."""
    tables: list[pa.Table] = []
    dataflow = UPA.lower(plan, every_instant=True)
    for clock, table in zip(arrivals.clocks, outputs(dataflow, arrivals), strict=True):
        tables.append(table)
        yield clock, counted(contents_at(together(tables), clock))


@drawn(CASES, share=0.02)
def test_istream_has_what_entered_at_any_instant(case: tuple[nodes.Node, Arrivals]) -> None:
    plan, arrivals = case
    relation = relation_at_all_instants(plan, arrivals)
    for clock, given in given_until(nodes.Istream(plan), arrivals):
        # The relation at the first instant counts as entered, because before it there was none.
        entered = sum((relation[now] - relation[now - 1] for now in range(2, clock + 1)), relation[1])
        assert given == entered


@drawn(CASES, share=0.02)
def test_dstream_has_what_left_at_any_instant(case: tuple[nodes.Node, Arrivals]) -> None:
    plan, arrivals = case
    relation = relation_at_all_instants(plan, arrivals)
    for clock, given in given_until(nodes.Dstream(plan), arrivals):
        assert given == sum((relation[now - 1] - relation[now] for now in range(2, clock + 1)), Counter())


@drawn(st.tuples(CASES, st.integers(1, 5)), share=0.02)
def test_wstream_has_the_youngest_results(case: tuple[tuple[nodes.Node, Arrivals], int]) -> None:
    (plan, arrivals), length = case
    relation = relation_at_all_instants(plan, arrivals)
    for clock, given in given_until(nodes.Wstream(plan, RangeWindow(length)), arrivals):
        begin = max(clock - length + 1, 1)
        entered = sum(
            (relation[now] - relation[now - 1] for now in range(max(begin, 2), clock + 1)), Counter()
        )
        assert given == entered + (relation[1] if begin == 1 else Counter())
    for clock, given in given_until(nodes.Wstream(plan, RowsWindow(length)), arrivals):
        entered = sum((relation[now] - relation[now - 1] for now in range(2, clock + 1)), relation[1])
        assert given.total() == min(entered.total(), length)
        assert given <= entered


@drawn(st.tuples(plans(2), arrivals(most_rows=15, most_clocks=3)), share=0.02)
def test_rstream_has_the_relation_of_every_slide(case: tuple[nodes.Node, Arrivals]) -> None:
    plan, arrivals = case
    relation = relation_at_all_instants(plan, arrivals)
    slides = slides_of(plan)
    for clock, given in given_until(nodes.Rstream(plan), arrivals):
        told = [t for t in range(1, clock + 1) if any(t % slide == 0 for slide in slides)]
        told = told if slides else [c for c in arrivals.clocks if c <= clock]
        assert given == sum((relation[now] for now in told), Counter())
