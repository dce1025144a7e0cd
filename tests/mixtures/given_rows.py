"""The test's own record of what a database was given, and the answers that follow from it.

A row or a change of a table is recorded with the moment at which it was given: the number of times that clocks
had moved by then. From one tick after the clock that a query had at that moment it sees what came late for it, and
changes of tables. A query has the clock of the slowest of its streams while a background run goes on, and that of
the furthest one after a run; its clock never goes back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
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

OUTPUT = (nodes.Istream, nodes.Dstream, nodes.Rstream, nodes.Wstream)


@dataclass
class GivenStream:
    slack: int
    rows: list[tuple[dict[str, Any], int]] = field(default_factory=list)
    """Each with the moment at which it was given."""
    clock: int | None = None

    @property
    def newest(self) -> int | None:
        return max((row["ts"] for row, _ in self.rows), default=None)


@dataclass
class Given:
    """All that a database was given."""

    shelf: Shelf = field(default_factory=Shelf)
    streams: dict[str, GivenStream] = field(default_factory=dict)
    tables: dict[str, list[tuple[int, list[dict[str, Any]]]]] = field(default_factory=dict)
    """What each table held from when on."""
    moments: list[tuple[bool, dict[str, int | None]]] = field(default_factory=lambda: [(False, {})])
    """Whether streams were waited for, and their clocks, each time that clocks had moved."""
    connection: duckdb.DuckDBPyConnection = field(
        default_factory=lambda: duckdb.connect(config={"threads": 1})
    )

    def define(self, sql: str) -> None:
        (statement,) = parse(sql)
        assert isinstance(statement, st.CreateStream | st.CreateTable)
        self.shelf.things[statement.name] = statement
        if isinstance(statement, st.CreateTable):
            self.tables[statement.name] = [(0, [])]

    def plan(self, text: str) -> nodes.Node:
        (statement,) = parse(text)
        assert isinstance(statement, st.SelectQuery)
        return bind(statement, self.shelf)

    @property
    def now(self) -> int:
        """The moment: what is given now is recorded with it."""
        return len(self.moments) - 1

    def move_clocks(self, *, is_end: bool) -> None:
        """Moves clocks as epochs do that take in all rows. Before the end of a run more rows of the newest time
        may come; at its end streams go on to the instant at which changes of tables take effect."""
        changed = any(versions[-1][0] == self.now for versions in self.tables.values() if len(versions) > 1)
        for stream in self.streams.values():
            before = stream.clock
            if (newest := stream.newest) is not None:
                reached = newest if is_end else newest - stream.slack - 1
                stream.clock = reached if before is None else max(before, reached)
            if is_end and changed and before is not None and stream.clock is not None:
                stream.clock = max(stream.clock, before + 1)
        self.moments.append((not is_end, {name: stream.clock for name, stream in self.streams.items()}))

    def clock_of(self, streams: Iterable[str], moment: int | None = None) -> int | None:
        """The clock of a query over some streams at a moment; None before it has one."""
        names, last = list(streams), self.now if moment is None else moment
        reached = None
        for is_awaited, clocks in self.moments[: last + 1]:
            found = [clocks.get(name) for name in names]
            known = [clock for clock in found if clock is not None]
            if known and not (is_awaited and None in found):
                clock = min(known) if is_awaited else max(known)
                reached = clock if reached is None else max(reached, clock)
        return reached

    def table(self, name: str) -> list[dict[str, Any]]:
        """What a table holds now."""
        return self.tables[name][-1][1]

    def answer(self, plan: nodes.Node, now: int) -> Bag | None:
        """The answer at an instant; of a stream, its tuples up to it. None where the oracle cannot tell."""
        arrivals = {name: self._stream(name, plan) for name in streams_of(plan)}
        for scan in walk(plan):
            if isinstance(scan, nodes.TableScan):
                streams = streams_of(plan) if scan.stream is None else {scan.stream}
                arrivals[scan.table] = self._versions(scan.table, streams)
        if not any(isinstance(node, OUTPUT) for node in walk(plan)):
            return counted(Oracle(arrivals, self.connection).answer_at(plan, now))
        if now < 0 or any(self._has_late(arrivals[name]) for name in streams_of(plan)):
            return None
        reference = Reference(arrivals, now)
        if not is_stream(plan):
            return comparable(reference.bag(plan, now))
        sums: Counter[tuple[Any, ...]] = Counter()
        for change in reference.history(plan).values():
            sums.update(change)
        return +sums

    @staticmethod
    def _has_late(arrivals: pa.Table) -> bool:
        return any(
            came > ts for came, ts in zip(arrivals[CAME].to_pylist(), arrivals[TS].to_pylist(), strict=True)
        )

    def _stream(self, name: str, plan: nodes.Node) -> pa.Table:
        schema = self.shelf.things[name].columns.arrow
        rows = [row for row, _ in self.streams[name].rows]
        came = [self.clock_of(streams_of(plan), moment) for _, moment in self.streams[name].rows]
        table = pa.Table.from_pylist(rows, schema=schema)
        table = table.append_column(TS, pa.array([row["ts"] for row in rows], pa.int64()))
        first = [BEGINNING if clock is None else clock + 1 for clock in came]
        return table.append_column(CAME, pa.array(first, pa.int64()))

    def _versions(self, name: str, streams: Iterable[str]) -> pa.Table:
        """The rows of a table, each with the instants from which and until which it is in it."""
        found: list[dict[str, Any]] = []
        open_: dict[tuple[Any, ...], dict[str, Any]] = {}
        for moment, rows in self.tables[name]:
            clock = self.clock_of(streams, moment)
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
    more, less = _shown((found - expected).items()), _shown((expected - found).items())
    return f"  only in Panes: {more}\n  only expected: {less}"


def _shown(rows: Iterable[tuple[Any, int]]) -> str:
    return ", ".join(f"{row} × {count}" for row, count in sorted(rows, key=str)[:8]) or "nothing"
