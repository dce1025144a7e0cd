"""Streams to draw, with bursts, ties, gaps, NULLs and duplicates, and tables whose rows come and go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from panes.delta.delta import ALWAYS, BEGINNING, EXP, FOREVER, TS, WEIGHT
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, DOUBLE, STRING
from panes.testing import CAME

COLUMNS = Schema.of([("k", BIGINT), ("v", DOUBLE), ("w", STRING)])
STREAMS = ("s", "t")
TABLES = ("r", "n")
"""A retroactive one, and one that tuples look up."""

SEEDS = st.binary(min_size=16, max_size=16)
"""Whatever is drawn is drawn from one of these: draws of many small choices repeat each other's parts."""

_GAPS = (0, 0, 0, 1, 1, 2, 3, 9)
_K = (0, 1, 2, None)
_V = (0.5, -1.25, 3.0, 0.5, None, 0.0, -0.0, float("nan"))
_W = ("a", "b", "", None)
_SCHEMA = pa.schema([*COLUMNS.arrow, pa.field(TS, pa.int64())])
_AHEAD = "_ahead"
"""How long before its instant a change of a table is told."""
_VERSIONS = pa.schema([*COLUMNS.arrow, *(pa.field(name, pa.int64()) for name in (TS, EXP, _AHEAD))])


@dataclass(frozen=True)
class Arrivals:
    """What comes on each stream, which rows each table has from when until when, and the clocks at which all this
    is cut into spans."""

    streams: Mapping[str, pa.Table]
    relations: Mapping[str, pa.Table]
    clocks: Sequence[int]

    @property
    def tables(self) -> Mapping[str, pa.Table]:
        """What SQL reads: the tuples of streams, and the rows of tables with their lifetimes."""
        return {**self.streams, **self.relations}

    @classmethod
    def drawn(cls, random: Random, most_rows: int, most_clocks: int) -> Arrivals:
        rows: dict[str, list[dict[str, object]]] = {name: [] for name in STREAMS}
        now = 1
        for _ in range(random.randint(most_rows // 4, most_rows)):
            now += random.choice(_GAPS)
            row = {"k": random.choice(_K), "v": random.choice(_V), "w": random.choice(_W), TS: now}
            rows[random.choice(STREAMS)] += [row] * random.choice((1, 1, 1, 2))
        streams = {name: pa.Table.from_pylist(of_stream, schema=_SCHEMA) for name, of_stream in rows.items()}
        cuts = random.sample(range(1, now + 12), min(random.randint(1, most_clocks), now + 11))
        relations = {name: _versions(random, now) for name in TABLES}
        return cls(streams, relations, sorted({*cuts, now + 14}))

    def out_of_order(self, random: Random) -> Arrivals:
        """The same tuples, of which some come in an earlier or a later span than the one they belong to."""
        tables = {}
        begins = np.array([1, *(clock + 1 for clock in self.clocks[:-1])])
        for name, table in self.streams.items():
            own = np.searchsorted(self.clocks, table.column(TS).to_numpy())
            moved = own + np.array([random.choice((-1, 0, 0, 0, 1, 2)) for _ in own], np.int64)
            came = begins[np.clip(moved, 0, len(begins) - 1)]
            order = np.argsort(came, kind="stable")
            tables[name] = table.append_column(CAME, pa.array(came)).take(pa.array(order))
        return replace(self, streams=tables)

    def all_different(self) -> Arrivals:
        """The same tuples, each with a `v` that no other has."""
        tables = {}
        for name, table in self.streams.items():
            numbers = pa.array(np.arange(table.num_rows) / 2)
            tables[name] = table.set_column(table.column_names.index("v"), "v", numbers)
        return replace(self, streams=tables)

    def spans(self) -> list[tuple[Mapping[str, pa.Table], int, int]]:
        """What comes in each span: tuples of streams and changes of tables, with its beginning and its clock."""
        spans = []
        changes = {name: _changes(table) for name, table in self.relations.items()}
        since = BEGINNING
        for clock in self.clocks:
            came = {}
            for name, table in (*self.streams.items(), *changes.items()):
                at = table.column(CAME if CAME in table.column_names else TS).to_numpy()
                here = table.filter(pa.array((at > since) & (at <= clock)))
                came[name] = here.drop_columns([CAME]) if CAME in table.column_names else here
            spans.append((came, since, clock))
            since = clock
        return spans

    def with_clocks(self, clocks: Sequence[int]) -> Arrivals:
        return replace(self, clocks=clocks)

    def smaller(self) -> Iterator[Arrivals]:
        """The same without one of the clocks, or one of the rows."""
        for at in range(len(self.clocks) - 1):
            yield self.with_clocks([*self.clocks[:at], *self.clocks[at + 1 :]])
        for name, table in self.streams.items():
            for rest in _without_each(table):
                yield replace(self, streams={**self.streams, name: rest})
        for name, table in self.relations.items():
            for rest in _without_each(table):
                yield replace(self, relations={**self.relations, name: rest})


def _versions(random: Random, last: int) -> pa.Table:
    """The rows of a table: some that were always there, and others that come; some of them go."""
    rows: list[dict[str, object]] = []
    for _ in range(random.randint(0, 12)):
        begin = ALWAYS if random.randrange(3) == 0 else random.randint(1, last + 4)
        end = FOREVER if random.randrange(2) else max(begin, 1) + random.randint(1, last)
        value = {"k": random.choice(_K), "v": random.choice(_V), "w": random.choice(_W)}
        ahead = random.choice((0, 0, 0, 4))
        # An update that changes nothing is none: a row does not begin when an equal one ends.
        equal = [row for row in rows if all(str(row[name]) == str(value[name]) for name in value)]
        if not any({row[TS], row[EXP]} & {begin, end} - {ALWAYS, FOREVER} for row in equal):
            rows.append({**value, TS: begin, EXP: end, _AHEAD: ahead})
            if random.randrange(3) == 0 and end < FOREVER:
                rows.append({**value, "v": random.choice((7.0, None)), TS: end, EXP: FOREVER, _AHEAD: ahead})
    return pa.Table.from_pylist(rows, schema=_VERSIONS)


def _changes(versions: pa.Table) -> pa.Table:
    """What happens to a table, with the instant in which each change is told: never after its own."""
    ends = versions.filter(pa.array(versions.column(EXP).to_numpy() < FOREVER))
    parts = []
    for rows, instant, weight in ((versions, TS, 1), (ends, EXP, -1)):
        at, ahead = rows.column(instant).to_numpy(), rows.column(_AHEAD).to_numpy()
        table = rows.select(COLUMNS.names).append_column(TS, pa.array(at))
        table = table.append_column(EXP, pa.array(np.full(len(at), FOREVER)))
        table = table.append_column(WEIGHT, pa.array(np.full(len(at), weight)))
        parts.append(table.append_column(CAME, pa.array(np.where(at == ALWAYS, at, at - ahead))))
    return pa.concat_tables(parts)


def _without_each(table: pa.Table) -> Iterator[pa.Table]:
    for at in range(table.num_rows):
        yield table.take(pa.array(np.delete(np.arange(table.num_rows), at)))


def arrivals(most_rows: int = 40, most_clocks: int = 4) -> st.SearchStrategy[Arrivals]:
    """Arrivals as a strategy of Hypothesis."""
    return SEEDS.map(lambda seed: Arrivals.drawn(Random(seed), most_rows, most_clocks))
