"""The test's own record of what a database was given, and the answers that follow from it.

A row or a change of a table is recorded with the clocks that the streams had when it was given. A query has the
clock of its slowest stream: from one tick later on it sees what came late, and changes of tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pyarrow as pa

from panes.delta.delta import ALWAYS, BEGINNING, EXP, FOREVER, TS
from panes.history.history_file import CAME
from panes.language import bind, parse
from panes.language import statements as st
from panes.plan import nodes
from panes.plan.walk import streams_of, walk
from panes.testing import Oracle, counted
from tests.language.corpus import Shelf
from tests.reference.relations import Reference
from tests.reference.streams import is_internal
from tests.reference.values import Bag, comparable

Clocks = Mapping[str, int | None]
OUTPUT = (nodes.Istream, nodes.Dstream, nodes.Rstream, nodes.Wstream)


@dataclass
class GivenStream:
    slack: int
    rows: list[tuple[dict[str, Any], Clocks]] = field(default_factory=list)
    clock: int | None = None
    has_late: bool = False

    @property
    def newest(self) -> int | None:
        return max((row["ts"] for row, _ in self.rows), default=None)

    def move_clock(self, *, to_the_last: bool) -> None:
        """Moves the clock as an epoch does that takes in all rows; the end of a run moves it to the last row."""
        if (newest := self.newest) is not None:
            reached = newest if to_the_last else newest - self.slack
            self.clock = reached if self.clock is None else max(self.clock, reached)


@dataclass
class Given:
    """All that a database was given."""

    shelf: Shelf = field(default_factory=Shelf)
    streams: dict[str, GivenStream] = field(default_factory=dict)
    tables: dict[str, list[tuple[Clocks, list[dict[str, Any]]]]] = field(default_factory=dict)
    connection: duckdb.DuckDBPyConnection = field(default_factory=lambda: duckdb.connect(config={"threads": 1}))

    def define(self, sql: str) -> None:
        (statement,) = parse(sql)
        assert isinstance(statement, st.CreateStream | st.CreateTable)
        self.shelf.things[statement.name] = statement
        if isinstance(statement, st.CreateTable):
            self.tables[statement.name] = [({}, [])]

    def plan(self, text: str) -> nodes.Node:
        (statement,) = parse(text)
        assert isinstance(statement, st.SelectQuery)
        return bind(statement, self.shelf)

    def clocks(self) -> Clocks:
        return {name: stream.clock for name, stream in self.streams.items()}

    def clock_of(self, plan: nodes.Node, clocks: Clocks | None = None) -> int | None:
        """The clock of a query: that of the slowest stream it reads; None while one of them has none."""
        found = [(self.clocks() if clocks is None else clocks).get(name) for name in streams_of(plan)]
        return None if None in found else min(clock for clock in found if clock is not None)

    def table(self, name: str) -> list[dict[str, Any]]:
        """What a table holds now."""
        return self.tables[name][-1][1]

    def answer(self, plan: nodes.Node, now: int, since: int | None = None) -> Bag | None:
        """The answer at an instant; of a stream, its tuples after `since`. None where the oracle cannot tell."""
        arrivals = {name: self._stream(name, plan) for name in streams_of(plan)}
        for scan in walk(plan):
            if isinstance(scan, nodes.TableScan):
                clock_of = scan.stream or plan
                arrivals[scan.table] = self._versions(scan.table, clock_of)
        if not any(isinstance(node, OUTPUT) for node in walk(plan)):
            return counted(Oracle(arrivals, self.connection).answer_at(plan, now))
        if any(self.streams[name].has_late for name in streams_of(plan)) or now < 0:
            return None
        reference = Reference(arrivals, now)
        if not is_stream(plan):
            return comparable(reference.bag(plan, now))
        sums: Counter[tuple[Any, ...]] = Counter()
        for at, change in reference.history(plan).items():
            if since is None or at > since:
                sums.update(change)
        return +sums

    def _stream(self, name: str, plan: nodes.Node) -> pa.Table:
        schema = self.shelf.things[name].columns.arrow
        rows = [row for row, _ in self.streams[name].rows]
        came = (self.clock_of(plan, clocks) for _, clocks in self.streams[name].rows)
        table = pa.Table.from_pylist(rows, schema=schema)
        table = table.append_column(TS, pa.array([row["ts"] for row in rows], pa.int64()))
        first = [BEGINNING if clock is None else clock + 1 for clock in came]
        return table.append_column(CAME, pa.array(first, pa.int64()))

    def _versions(self, name: str, of: nodes.Node | str) -> pa.Table:
        """The rows of a table, each with the instants from which and until which it is in it."""
        found: list[dict[str, Any]] = []
        open_: dict[tuple[Any, ...], dict[str, Any]] = {}
        for clocks, rows in self.tables[name]:
            clock = clocks.get(of) if isinstance(of, str) else self.clock_of(of, clocks)
            at = ALWAYS if clock is None else clock + 1
            there = {tuple(row.values()): row for row in rows}
            for key in [key for key in open_ if key not in there]:
                found.append(open_.pop(key) | {EXP: at})
            for key, row in there.items():
                open_.setdefault(key, row | {TS: at})
        found += [row | {EXP: FOREVER} for row in open_.values()]
        columns = self.shelf.things[name].columns.arrow
        schema = columns.append(pa.field(TS, pa.int64())).append(pa.field(EXP, pa.int64()))
        return pa.Table.from_pylist([row for row in found if row[TS] < row[EXP]], schema=schema)


def is_stream(plan: nodes.Node) -> bool:
    """Whether the answer of a plan is a stream, which only grows."""
    return isinstance(plan, OUTPUT) or is_internal(plan)


def slides(plan: nodes.Node) -> bool:
    return any(isinstance(node, nodes.Window) and node.spec.slide_us is not None for node in walk(plan))


def difference(found: Bag, expected: Bag) -> str | None:
    """None when both have the same rows; else a text that shows what differs."""
    if found == expected:
        return None
    return f"  only in Panes: {_shown((found - expected).items())}\n  only expected: {_shown((expected - found).items())}"


def _shown(rows: Iterable[tuple[Any, int]]) -> str:
    return ", ".join(f"{row} × {count}" for row, count in sorted(rows, key=str)[:8]) or "nothing"
