"""The rows of a table at one moment, as a value: a change gives other contents, which share most of the rows.

The rows are a log of chunks (`state/log.py`), sorted by the hash of the primary key; without a primary key all
columns are the key. A change is appended as a chunk of its own, with negative weights for what it deletes, and
merged as the log's policy says. So a change costs what it changes, times a logarithm. A lookup by key is a search
in each of a few chunks, and a scan reads every chunk once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from panes.delta.delta import WEIGHT
from panes.delta.evaluate import mask_of
from panes.delta.grouped import are_first
from panes.delta.hashing import HASH
from panes.delta.keys import group_rows
from panes.delta.rows import concat, int64, take, where, with_column, without
from panes.errors import EvaluationError
from panes.language.statements import CreateTable
from panes.plan.expressions import Expression
from panes.state.buffers.chunk import Chunk
from panes.state.buffers.chunked import cluster, verified
from panes.state.buffers.hash_search import HashSearch, hashes_of
from panes.state.log import Log, MergePolicy
from panes.tables.net_change import no_change

_POLICY = MergePolicy(fan_in=4, smallest=256)
_MOST_DEAD = 4
"""All chunks are merged when they hold this many times as many rows as the table: the others cancel out."""


class Contents:
    """The rows of a table. The value never changes; its chunks may be merged behind it, which shows in nothing."""

    def __init__(self, definition: CreateTable, chunks: Sequence[Chunk] = (), row_count: int = 0) -> None:
        self.definition = definition
        self.row_count = row_count
        """How many rows there are, equal ones counted each."""
        self._chunks = tuple(chunks)
        self._names = definition.columns.names
        self._key = key_of(definition)

    def applied(self, change: pa.Table) -> Contents:
        """The contents after a net change: the columns of the table and `_weight`, each row once."""
        if not change.num_rows:
            return self
        rows = cluster(change.select([*self._names, WEIGHT]), self._key)
        count = self.row_count + int(int64(rows, WEIGHT).sum())
        log = Log(_POLICY, self._chunks)
        log.append(Chunk.of_sorted(rows, HASH), _merged)
        if sum(chunk.rows for chunk in log.parts) > _MOST_DEAD * max(count, _POLICY.smallest):
            log.merge_all(_merged)
        return Contents(self.definition, log.parts, count)

    def rows(self) -> pa.Table:
        """All rows, in no particular order."""
        return _repeated(self.matching(None))

    def matching(self, condition: Expression | None) -> pa.Table:
        """The different rows for which the condition is true (None: all); `_weight` is how often each is there."""
        if condition is None:
            self._merge()
            found = [chunk.table for chunk in self._chunks]
        else:
            try:
                found = self._filtered(condition)
            except EvaluationError:
                # A row that is deleted may be what the condition fails for. It is gone from merged chunks.
                self._merge()
                found = self._filtered(condition)
        return self._together(found)

    def with_keys(self, keys: pa.Table) -> pa.Table:
        """The rows whose primary key is among the rows of `keys`; without a primary key, those that equal one."""
        needles = cluster(keys.select(list(self._key)), self._key)
        found: list[pa.Table] = []
        # Of a primary key the youngest chunk that has it says all: the row that is there, or that none is.
        for chunk in reversed(self._chunks):
            at, stored_at = HashSearch(hashes_of(needles)).find_in(chunk)
            at, _, places = verified(
                needles, at, self._key, chunk.table, stored_at, self._key, nulls_equal=True
            )
            if not len(places):
                continue
            places = np.unique(places)
            if self.definition.primary_key:
                places = places[int64(chunk.table, WEIGHT)[places] > 0]
                unknown = np.ones(needles.num_rows, np.bool_)
                unknown[at] = False
                needles = take(needles, where(unknown))
            found.append(take(chunk.table, places))
            if not needles.num_rows:
                break
        if self.definition.primary_key and found:
            return without(concat(found), HASH, WEIGHT)
        return _repeated(self._together(found))

    def _filtered(self, condition: Expression) -> list[pa.Table]:
        tables = (chunk.table for chunk in self._chunks)
        return [take(table, where(np.asarray(mask_of(condition, table)))) for table in tables]

    def _together(self, tables: Sequence[pa.Table]) -> pa.Table:
        """The net rows of parts of chunks, without their hashes."""
        tables = [table for table in tables if table.num_rows]
        if not tables:
            return no_change(self.definition)
        return without(tables[0] if len(tables) == 1 else _net(tables), HASH)

    def _merge(self) -> None:
        """Makes one chunk of all, for this value and all that come from it."""
        if len(self._chunks) > 1:
            merged = _merged(self._chunks)
            self._chunks = () if merged is None else (merged,)


def _merged(chunks: Sequence[Chunk]) -> Chunk | None:
    table = _net([chunk.table for chunk in chunks])
    return Chunk.of_sorted(table, HASH) if table.num_rows else None


def _net(clustered: Sequence[pa.Table]) -> pa.Table:
    """The sum of clustered tables, clustered too: equal rows have equal hashes."""
    table = concat(clustered)
    # The parts are sorted: a stable sort of them all is a merge.
    order = np.argsort(hashes_of(table), kind="stable")
    hashes, weights = hashes_of(table)[order], int64(table, WEIGHT)[order]
    # Few rows have a hash that another one has, and only those can be equal.
    again = ~are_first(hashes)
    shares = again.copy()
    shares[:-1] |= again[1:]
    places = where(shares)
    if not len(places):
        return take(table, order)
    columns = [name for name in table.column_names if name not in (WEIGHT, HASH)]
    groups = group_rows(take(table, order[places], columns), columns, hashes[places])
    totals = np.add.reduceat(weights[places][groups.order], groups.starts)
    weights[places] = 0
    weights[places[groups.first]] = totals
    kept = where(weights != 0)
    return with_column(take(table, order[kept]), WEIGHT, weights[kept])


def _repeated(held: pa.Table) -> pa.Table:
    """Each row as often as its weight says, without the weights."""
    weights = int64(held, WEIGHT)
    rows = without(held, WEIGHT)
    if (weights == 1).all():
        return rows
    if (weights < 0).any():
        some = take(rows, where(weights < 0)).slice(0, 3).to_pylist()
        raise ValueError(f"more was deleted than inserted: {some}")
    return take(rows, np.repeat(np.arange(len(weights)), weights))


def key_of(definition: CreateTable) -> tuple[str, ...]:
    """The columns by which rows are found: the primary key, or all."""
    return definition.primary_key or definition.columns.names
