"""Queries at work without Spark: random tuples come in spans, on two shards, and DuckDB says what is right."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from panes.clock import to_microseconds
from panes.delta.delta import ALWAYS, BEGINNING, EXP, FOREVER, TS, WEIGHT
from panes.language import statements as st
from panes.plan import nodes
from panes.plan.begin_end import is_begin_end
from panes.plan.order_of_answer import order_of
from panes.plan.output_streams import OUTPUT_STREAMS
from panes.plan.patterns import has_internal
from panes.plan.schema import Field
from panes.plan.walk import streams_of, walk
from panes.testing import Oracle, counted, same_rows
from tests.language.corpus import Shelf
from tests.properties.shards import Shards

BEGIN = datetime(2026, 1, 31, 8, tzinfo=UTC)
CLOCKS = [to_microseconds(BEGIN + timedelta(minutes=minutes)) for minutes in (3, 41, 150)]
MINUTES = (0, 0, 1, 2, 5, 20)
"""Between a tuple and the next one."""

Values = Callable[[Field, random.Random], object]
"""Gives a random value for a column."""


def is_answered(plan: nodes.Node) -> bool:
    """Whether a plan gives a relation over streams all the time, which the oracle knows."""
    is_stream = has_internal(plan) or any(isinstance(node, OUTPUT_STREAMS) for node in walk(plan))
    return not is_stream and not is_begin_end(plan) and bool(streams_of(plan))


def in_sequence(rows: pa.Table) -> list[Counter[tuple[Any, ...]]]:
    """The rows one by one, so that their order can be compared."""
    return [counted(rows.slice(place, 1)) for place in range(rows.num_rows)]


@dataclass
class AtWork:
    """The streams and tables of a catalog with random rows."""

    catalog: Shelf
    value: Values
    rows: int = 40
    seed: int = 11
    arrivals: Mapping[str, pa.Table] = field(init=False)
    oracle: Oracle = field(init=False)

    def __post_init__(self) -> None:
        chance = random.Random(self.seed)
        self.arrivals = {
            thing.name: self._drawn(thing, chance)
            for thing in self.catalog.things.values()
            if isinstance(thing, st.CreateStream | st.CreateTable)
        }
        self.oracle = Oracle(self.arrivals, duckdb.connect(config={"threads": 1}))

    def check(self, plan: nodes.Node) -> pa.Table:
        """Runs a plan; fails when an answer is not that of DuckDB. Gives all answers together."""
        query = Shards.of(plan, 2)
        answers: list[pa.Table] = []
        for since, clock in zip([BEGINNING, *CLOCKS], CLOCKS, strict=False):
            query.process(self._came(plan, since, clock), since, clock)
            if clock == CLOCKS[0]:
                continue  # hardly anything has come
            answer = query.answer(clock)
            expected = self.oracle.answer_at(plan, clock)
            difference = same_rows(answer, expected)
            assert difference is None, f"at {clock}: {difference}"
            if order_of(plan):
                assert in_sequence(answer) == in_sequence(expected), f"at {clock} the order differs"
            answers.append(answer)
        return pa.concat_tables(answers)

    def _drawn(self, thing: st.CreateStream | st.CreateTable, chance: random.Random) -> pa.Table:
        """Tuples with their instants, or rows that were always there."""
        columns = thing.columns
        rows = [{f.name: self.value(f, chance) for f in columns} for _ in range(self.rows)]
        if isinstance(thing, st.CreateTable):
            keys = thing.primary_key or columns.names
            rows = list({tuple(row[key] for key in keys): row for row in rows}.values())
            always, forever = np.full(len(rows), ALWAYS), np.full(len(rows), FOREVER)
            table = pa.Table.from_pylist(rows, schema=columns.arrow)
            return table.append_column(TS, pa.array(always)).append_column(EXP, pa.array(forever))
        minutes = np.cumsum([chance.choice(MINUTES) for _ in rows])
        instants = to_microseconds(BEGIN) + minutes * 60_000_000
        return pa.Table.from_pylist(rows, schema=columns.arrow).append_column(TS, pa.array(instants))

    def _came(self, plan: nodes.Node, since: int, clock: int) -> Mapping[str, pa.Table]:
        """What comes in a span for a plan: tuples of streams, and in the first one all rows of tables."""
        found: dict[str, pa.Table] = {}
        for leaf in walk(plan):
            if isinstance(leaf, nodes.StreamScan):
                rows = self.arrivals[leaf.stream]
                at = rows.column(TS).to_numpy()
                found[leaf.stream] = rows.filter(pa.array((since < at) & (at <= clock)))
            elif isinstance(leaf, nodes.TableScan):
                rows = self.arrivals[leaf.table]
                rows = rows.append_column(WEIGHT, pa.array(np.ones(rows.num_rows, np.int64)))
                found[leaf.table] = rows if since == BEGINNING else rows.slice(0, 0)
        return found
