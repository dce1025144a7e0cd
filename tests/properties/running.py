"""Running a plan over drawn arrivals."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from panes.delta.consolidate import changes_of, contents_at
from panes.operators.dataflow import Dataflow
from panes.operators.lower import lower
from panes.plan import nodes
from panes.plan.patterns import Pattern
from panes.testing import Oracle, counted, same_rows
from tests.properties.streams import Arrivals
from tests.reference.values import Bag


@functools.cache
def connection() -> duckdb.DuckDBPyConnection:
    """One for all cases: to open one takes longer than to answer a query."""
    return duckdb.connect(config={"threads": 1})


@dataclass(frozen=True)
class Way:
    """A way to run a plan."""

    strategy: str
    leaves_early: bool = True

    def lower(self, plan: nodes.Node, *, changes: str = "epoch") -> Dataflow:
        """The operators of a query that is registered under this setting of `changes`."""
        every_instant = changes == "instant"
        return lower(
            plan, strategy=self.strategy, leaves_early=self.leaves_early, every_instant=every_instant
        )


UPA, NT, DIRECT = Way("upa"), Way("nt"), Way("direct")
UPA_FEW_EARLY = Way("upa", leaves_early=False)
"""As if few rows left negations before their time, so that those keep their known lifetimes."""


def outputs(dataflow: Dataflow, arrivals: Arrivals) -> Iterator[pa.Table]:
    """The delta of each span; what every delta must be is checked on the way."""
    for came, since, clock in arrivals.spans():
        delta = dataflow.process({name: came[name] for name in dataflow.inputs}, since, clock)
        assert delta.clock == clock
        assert (delta.ts > since).all()
        assert (delta.ts <= clock).all()
        assert (delta.ts < delta.exp).all()
        if dataflow.pattern is not Pattern.STRICT:
            assert (delta.weight > 0).all()
        yield delta.table


def check_answers(plan: nodes.Node, arrivals: Arrivals, dataflow: Dataflow) -> None:
    """At every clock, the answer is that of the oracle."""
    check_outputs(arrivals, dataflow, oracles_answers(plan, arrivals))


def oracles_answers(plan: nodes.Node, arrivals: Arrivals) -> Iterator[pa.Table]:
    """The answer at every clock."""
    oracle = Oracle(arrivals.tables, connection())
    for clock in arrivals.clocks:
        yield oracle.answer_at(plan, clock)


def check_outputs(arrivals: Arrivals, dataflow: Dataflow, answers: Iterable[pa.Table]) -> None:
    """At every clock, the answer is the one that is given."""
    tables: list[pa.Table] = []
    for clock, table, answer in zip(arrivals.clocks, outputs(dataflow, arrivals), answers, strict=True):
        tables.append(table)
        difference = same_rows(contents_at(together(tables), clock), answer)
        assert difference is None, f"at {clock}: {difference}"


def together(tables: Sequence[pa.Table]) -> pa.Table:
    return pa.concat_tables([table.select(tables[0].column_names) for table in tables])


def history(tables: Sequence[pa.Table], last: int) -> dict[int, Bag]:
    """How the answer changes at each instant up to the last; what was always there comes at 0."""
    changes: dict[int, Bag] = {}
    for *row, at, change in counted(changes_until(tables, last)):
        changes.setdefault(max(at, 0), Counter())[tuple(row)] = change
    return changes


def changes_until(tables: Sequence[pa.Table], clock: int) -> pa.Table:
    """What happened up to the clock."""
    changes = changes_of(together(tables))
    return changes.filter(pa.array(changes.column("_at").to_numpy() <= clock))
