"""A query that sleeps until the next instant at which something happens to it misses nothing."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pytest

from panes.delta.consolidate import contents_at
from panes.delta.delta import BEGINNING
from panes.operators.base import Operator
from panes.operators.dataflow import Dataflow
from panes.operators.input_triggered import InputTriggered
from panes.testing import Oracle, same_rows
from tests.properties.drawn import Case, Cases, drawn
from tests.properties.running import NT, UPA, UPA_FEW_EARLY, connection, together

PLAIN = Cases(most_rows=12, ways=(UPA, UPA_FEW_EARLY, NT))
OUTPUTS = Cases(
    plan=lambda drawing: drawing.output(drawing.random.randint(0, 2)), most_rows=12, ways=(UPA, NT)
)
_AFTER = 12
"""How many instants are looked at after all has come."""


class Sleeper:
    """Runs a dataflow only in the spans in which something happens, as epochs do."""

    def __init__(self, dataflow: Dataflow) -> None:
        self.dataflow = dataflow
        self._next_change: int | None = None

    def through(self, came: Mapping[str, pa.Table], since: int, clock: int) -> pa.Table | None:
        """The delta of a span; None when it was slept through."""
        rows = {name: came[name] for name in self.dataflow.inputs}
        is_silent = not any(table.num_rows for table in rows.values())
        if is_silent and self._next_change is not None and self._next_change > clock:
            return None
        delta = self.dataflow.process(rows, since, clock)
        self._next_change = self.dataflow.next_change(clock) if is_silent else None
        return delta.table


def check_sleeping(case: Case) -> int:
    """Cuts time at every instant; returns in how many of the spans the sleeper slept."""
    awake, sleeper = case.way.lower(case.plan), Sleeper(case.way.lower(case.plan))
    slept = 0
    last = case.arrivals.clocks[-1]
    for came, since, clock in case.arrivals.with_clocks(range(1, last + _AFTER)).spans():
        expected = awake.process({name: came[name] for name in awake.inputs}, since, clock).table
        found = sleeper.through(came, since, clock)
        if found is None:
            slept += 1
            assert not expected.num_rows, f"slept at {clock}, when this happened: {expected.to_pylist()}"
        else:
            difference = same_rows(expected, found.select(expected.column_names))
            assert difference is None, f"at {clock}: {difference}"
    return slept


@drawn(PLAIN, share=0.012)
def test_sleeping_until_the_next_change_changes_nothing(case: Case) -> None:
    check_sleeping(case)


@drawn(OUTPUTS, share=0.01)
def test_sleeping_changes_nothing_in_an_output_stream(case: Case) -> None:
    check_sleeping(case)


@drawn(PLAIN, share=0.01)
def test_answers_of_a_sleeper_are_those_of_the_oracle(case: Case) -> None:
    oracle = Oracle(case.arrivals.tables, connection())
    sleeper = Sleeper(case.way.lower(case.plan))
    tables: list[pa.Table] = []
    last = case.arrivals.clocks[-1]
    cuts = sorted({*case.arrivals.clocks, *range(last, last + _AFTER, 3)})
    for came, since, clock in case.arrivals.with_clocks(cuts).spans():
        found = sleeper.through(came, since, clock)
        tables += [] if found is None else [found]
        difference = same_rows(contents_at(together(tables), clock), oracle.answer_at(case.plan, clock))
        assert difference is None, f"at {clock}: {difference}"


def test_queries_sleep_and_a_next_change_that_is_too_late_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [PLAIN.draw(bytes([number] * 16)) for number in range(6)]
    assert sum(map(check_sleeping, cases)) > len(cases)
    next_change = Operator.next_change
    monkeypatch.setattr(Operator, "next_change", lambda operator, clock: next_change(operator, clock) + 1)
    with pytest.raises(AssertionError, match="slept at"):
        list(map(check_sleeping, cases))


def check_input_triggered(case: Case) -> None:
    """Operators that go by their own tuples never get ahead of the clock, and go on after a restart as before."""
    fragment = case.way.lower(case.plan).fragment
    going_on, restarted = InputTriggered(fragment), InputTriggered(fragment)
    told = BEGINNING
    for came, since, clock in case.arrivals.spans():
        rows = {name: came[name] for name in going_on.inputs}
        one, other = (flow.process(rows, since, clock) for flow in (going_on, restarted))
        difference = same_rows(one.table, other.table.select(one.table.column_names))
        assert difference is None, f"at {clock}: {difference}"
        assert told <= one.clock == other.clock <= clock
        assert not one.rows or (one.ts > told).all()
        told = one.clock
        new = InputTriggered(fragment)
        for name, buffer in new.buffers.items():
            buffer.restore(restarted.buffers[name].chunks)
        restarted = new


@drawn(PLAIN, share=0.015)
def test_operators_that_go_by_their_tuples_follow_the_clock_and_survive_restarts(case: Case) -> None:
    check_input_triggered(case)


@drawn(OUTPUTS, share=0.01)
def test_output_streams_of_operators_that_go_by_their_tuples_survive_restarts(case: Case) -> None:
    check_input_triggered(case)
