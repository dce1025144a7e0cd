"""Streams to draw: bursts, ties, gaps, NULLs, duplicates, strings and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from panes.delta.delta import BEGINNING, TS
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, DOUBLE, STRING
from panes.testing import CAME

COLUMNS = Schema.of([("k", BIGINT), ("v", DOUBLE), ("w", STRING)])
STREAMS = ("s", "t")

SEEDS = st.binary(min_size=16, max_size=16)
"""Whatever is drawn is drawn from one of these: draws of many small choices repeat each other's parts."""

_GAPS = (0, 0, 0, 1, 1, 2, 3, 9)
_K = (0, 1, 2, None)
_V = (0.5, -1.25, 3.0, 0.5, None, 0.0, -0.0, float("nan"))
_W = ("a", "b", "", None)
_SCHEMA = pa.schema([*COLUMNS.arrow, pa.field(TS, pa.int64())])


@dataclass(frozen=True)
class Arrivals:
    """What comes on each stream, and the clocks at which it is cut into spans."""

    tables: Mapping[str, pa.Table]
    clocks: Sequence[int]

    @classmethod
    def drawn(cls, random: Random, most_rows: int, most_clocks: int) -> Arrivals:
        rows: dict[str, list[dict[str, object]]] = {name: [] for name in STREAMS}
        now = 1
        for _ in range(random.randint(most_rows // 4, most_rows)):
            now += random.choice(_GAPS)
            row = {"k": random.choice(_K), "v": random.choice(_V), "w": random.choice(_W), TS: now}
            rows[random.choice(STREAMS)] += [row] * random.choice((1, 1, 1, 2))
        tables = {name: pa.Table.from_pylist(of_stream, schema=_SCHEMA) for name, of_stream in rows.items()}
        cuts = random.sample(range(1, now + 12), min(random.randint(1, most_clocks), now + 11))
        return cls(tables, sorted({*cuts, now + 14}))

    def out_of_order(self, random: Random) -> Arrivals:
        """The same tuples, of which some come in an earlier or a later span than the one they belong to."""
        tables = {}
        begins = np.array([1, *(clock + 1 for clock in self.clocks[:-1])])
        for name, table in self.tables.items():
            own = np.searchsorted(self.clocks, table.column(TS).to_numpy())
            moved = own + np.array([random.choice((-1, 0, 0, 0, 1, 2)) for _ in own], np.int64)
            came = begins[np.clip(moved, 0, len(begins) - 1)]
            order = np.argsort(came, kind="stable")
            tables[name] = table.append_column(CAME, pa.array(came)).take(pa.array(order))
        return Arrivals(tables, self.clocks)

    def all_different(self) -> Arrivals:
        """The same tuples, each with a `v` that no other has."""
        tables = {}
        for name, table in self.tables.items():
            numbers = pa.array(np.arange(table.num_rows) / 2)
            tables[name] = table.set_column(table.column_names.index("v"), "v", numbers)
        return Arrivals(tables, self.clocks)

    def spans(self) -> list[tuple[Mapping[str, pa.Table], int, int]]:
        """The arrivals of each span, with its beginning and its clock."""
        spans = []
        since = BEGINNING
        for clock in self.clocks:
            came = {}
            for name, table in self.tables.items():
                at = table.column(CAME if CAME in table.column_names else TS).to_numpy()
                came[name] = table.filter(pa.array((at > since) & (at <= clock))).select(_SCHEMA.names)
            spans.append((came, since, clock))
            since = clock
        return spans

    def with_clocks(self, clocks: Sequence[int]) -> Arrivals:
        return Arrivals(self.tables, clocks)

    def smaller(self) -> Iterator[Arrivals]:
        """The same without one of the clocks, or one of the rows."""
        for at in range(len(self.clocks) - 1):
            yield self.with_clocks([*self.clocks[:at], *self.clocks[at + 1 :]])
        for name, table in self.tables.items():
            for at in range(table.num_rows):
                rest = table.take(pa.array(np.delete(np.arange(table.num_rows), at)))
                yield Arrivals({**self.tables, name: rest}, self.clocks)


def arrivals(most_rows: int = 40, most_clocks: int = 4) -> st.SearchStrategy[Arrivals]:
    """Arrivals as a strategy of Hypothesis."""
    return SEEDS.map(lambda seed: Arrivals.drawn(Random(seed), most_rows, most_clocks))
