"""Operators that are run when rows or time messages come to them give what they give when they are always run."""

from __future__ import annotations

import pyarrow as pa
import pytest

from panes.delta.consolidate import contents_at
from panes.operators import time_messages
from panes.operators.dataflow import Dataflow
from panes.operators.time_messages import TimeMessages
from panes.testing import Oracle, same_rows
from tests.properties.drawn import Case, Cases, drawn
from tests.properties.running import NT, UPA, UPA_FEW_EARLY, connection, together
from tests.properties.test_sleeping import Sleeper

WAYS = (UPA, UPA_FEW_EARLY, UPA_FEW_EARLY, NT)
PLAIN = Cases(most_rows=16, ways=WAYS)
OUTPUTS = Cases(
    plan=lambda drawing: drawing.output(drawing.random.randint(0, 2)), most_rows=12, ways=(UPA, NT)
)
LATE = Cases(most_rows=16, ways=WAYS, out_of_order=True)
_AFTER = 12
"""How many instants are looked at after all has come."""


def check_deltas(case: Case) -> tuple[float, float]:
    """Compares what is given in each span, with a restart after each; returns how often operators with state were
    run, and how often they would be."""
    fragment = case.way.lower(case.plan).fragment
    always, told = Dataflow(fragment), TimeMessages(fragment)
    last = case.arrivals.clocks[-1]
    run = 0.0
    for came, since, clock in case.arrivals.with_clocks(range(1, last + _AFTER)).spans():
        rows = {name: came[name] for name in always.inputs}
        expected, found = (flow.process(rows, since, clock).table for flow in (always, told))
        difference = same_rows(expected, found.select(expected.column_names))
        assert difference is None, f"at {clock}: {difference}"
        run += sum(told.measures[step.name].spans for step in fragment.steps if step.buffers)
        new = TimeMessages(fragment)
        for name, buffer in new.buffers.items():
            buffer.restore(told.buffers[name].chunks)
        told = new
    return run, sum(always.measures[step.name].spans for step in fragment.steps if step.buffers)


@drawn(PLAIN, share=0.005)
def test_what_is_given_is_the_same(case: Case) -> None:
    check_deltas(case)


@drawn(OUTPUTS, share=0.004)
def test_output_streams_are_the_same(case: Case) -> None:
    check_deltas(case)


@drawn(LATE, share=0.01)
def test_answers_are_those_of_the_oracle_when_queries_sleep_and_tuples_come_out_of_order(case: Case) -> None:
    oracle = Oracle(case.arrivals.tables, connection())
    sleeper = Sleeper(TimeMessages(case.way.lower(case.plan).fragment))
    tables: list[pa.Table] = []
    last = case.arrivals.clocks[-1]
    cuts = sorted({*case.arrivals.clocks, *range(last, last + _AFTER, 3)})
    for came, since, clock in case.arrivals.with_clocks(cuts).spans():
        found = sleeper.through(came, since, clock)
        tables += [] if found is None else [found]
        difference = same_rows(contents_at(together(tables), clock), oracle.answer_at(case.plan, clock))
        assert difference is None, f"at {clock}: {difference}"


def test_operators_are_left_out_and_a_message_that_is_lost_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [PLAIN.draw(bytes([number] * 16)) for number in range(4)]
    run, would = map(sum, zip(*map(check_deltas, cases), strict=True))
    assert run < would / 2
    summed = time_messages._summed
    monkeypatch.setattr(time_messages, "_summed", lambda exp, weight: summed(exp[:-1], weight[:-1]))
    with pytest.raises(AssertionError, match="at "):
        list(map(check_deltas, cases))
