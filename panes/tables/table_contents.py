"""The rows of a table at one moment, as a value: a change gives other contents, which share most of the rows.

The rows are a log of chunks (`state/log.py`), sorted by the hash of the primary key; without a primary key all
columns are the key. A change is appended as a chunk of its own, with negative weights for what it deletes, and
merged as the log's policy says. So a change costs what it changes, times a logarithm. A lookup by key is a search
in each of a few chunks, and a scan reads every chunk once.

Changes of a few rows are kept as they are, with the hashes of their keys, until some hundred rows have come
together or somebody asks for one of these keys: then they become one chunk. So a thousand changes of single keys
make few chunks, and each of them costs little more than to find its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from panes.delta.delta import WEIGHT
from panes.delta.evaluate import mask_of
from panes.delta.grouped import are_first
from panes.delta.hashing import HASH, Hashes, hash_rows
from panes.delta.keys import group_rows
from panes.delta.rows import Positions, concat, int64, take, where, with_column, without
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
_FEW = 64
"""A change of more rows becomes a chunk at once."""
_MOST_LOOSE = 512
"""Rows of small changes that are kept as they are."""


class _Stored(NamedTuple):
    """Where the rows are. It is replaced as a whole, because other threads may read it."""

    chunks: tuple[Chunk, ...] = ()
    loose: tuple[pa.Table, ...] = ()
    """Small changes after those of the chunks, in order."""
    hashes: Hashes = np.zeros(0, np.uint64)
    """The hashes of the keys of their rows."""


class Contents:
    """The rows of a table. The value never changes; how its rows are stored may, which shows in nothing."""

    def __init__(self, definition: CreateTable, stored: _Stored = _Stored(), row_count: int = 0) -> None:  # noqa: B008
        self.definition = definition
        self.row_count = row_count
        """How many rows there are, equal ones counted each."""
        self._stored = stored
        self._names = definition.columns.names
        self._key = key_of(definition)

    def applied(self, change: pa.Table) -> Contents:
        """The contents after a net change: the columns of the table and `_weight`, each row once."""
        if not change.num_rows:
            return self
        rows = change.select([*self._names, WEIGHT])
        count = self.row_count + int(int64(rows, WEIGHT).sum())
        stored = self._stored
        if rows.num_rows <= _FEW:
            hashes = np.concatenate([stored.hashes, hash_rows(rows, self._key)])
            stored = _Stored(stored.chunks, (*stored.loose, rows), hashes)
            if len(hashes) > _MOST_LOOSE:
                stored = _in_chunks(stored)
        else:
            chunk = Chunk.of_sorted(cluster(rows, self._key), HASH)
            stored = _Stored(_appended(_in_chunks(stored).chunks, chunk))
        if sum(chunk.rows for chunk in stored.chunks) > _MOST_DEAD * max(count, _MOST_LOOSE):
            stored = _merged_wholly(stored)
        return Contents(self.definition, stored, count)

    def rows(self) -> pa.Table:
        """All rows, in no particular order."""
        return _repeated(self.matching(None))

    def matching(self, condition: Expression | None) -> pa.Table:
        """The different rows for which the condition is true (None: all); `_weight` is how often each is there."""
        self._stored = _merged_wholly(self._stored) if condition is None else _in_chunks(self._stored)
        tables = [chunk.table for chunk in self._stored.chunks]
        if condition is None:
            return self._together(tables)
        try:
            return self._together([_filtered(table, condition) for table in tables])
        except EvaluationError:
            # A row that is deleted may be what the condition fails for. It is gone from merged chunks.
            self._stored = _merged_wholly(self._stored)
            return self._together([_filtered(chunk.table, condition) for chunk in self._stored.chunks])

    def with_keys(self, keys: pa.Table) -> pa.Table:
        """The rows whose primary key is among the rows of `keys`; without a primary key, those that equal one."""
        needles = cluster(keys.select(list(self._key)), self._key)
        stored = self._stored
        if _share_one(stored.hashes, hashes_of(needles)):
            stored = self._stored = _in_chunks(stored)
        found: list[pa.Table] = []
        # Of a primary key the youngest chunk that has it says all: the row that is there, or that none is.
        for chunk in reversed(stored.chunks):
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
            found.append(_at(chunk.table, places))
            if not needles.num_rows:
                break
        if self.definition.primary_key and found:
            return without(concat(found), HASH, WEIGHT)
        return _repeated(self._together(found))

    def _together(self, tables: Sequence[pa.Table]) -> pa.Table:
        """The net rows of parts of chunks, without their hashes."""
        tables = [table for table in tables if table.num_rows]
        if not tables:
            return no_change(self.definition)
        return without(tables[0] if len(tables) == 1 else _net(tables), HASH)


def _filtered(table: pa.Table, condition: Expression) -> pa.Table:
    return take(table, where(np.asarray(mask_of(condition, table))))


def _at(table: pa.Table, places: Positions) -> pa.Table:
    """The rows at the places; a single one without a copy."""
    return table.slice(places[0], 1) if len(places) == 1 else take(table, places)


def _share_one(hashes: Hashes, others: Hashes) -> bool:
    """Whether a hash is among both; the first are few."""
    if not len(hashes):
        return False
    return bool((hashes == others[0]).any() if len(others) == 1 else np.isin(hashes, others).any())


def _in_chunks(stored: _Stored) -> _Stored:
    """The same rows, all of them in chunks."""
    if not stored.loose:
        return stored
    loose = concat(stored.loose).append_column(HASH, pa.array(stored.hashes))
    net = _net([loose])
    return _Stored(_appended(stored.chunks, Chunk.of_sorted(net, HASH)) if net.num_rows else stored.chunks)


def _appended(chunks: tuple[Chunk, ...], chunk: Chunk) -> tuple[Chunk, ...]:
    log = Log(_POLICY, chunks)
    log.append(chunk, _merged)
    return tuple(log.parts)


def _merged_wholly(stored: _Stored) -> _Stored:
    """The same rows in one chunk at most."""
    chunks = _in_chunks(stored).chunks
    if len(chunks) < 2:
        return _Stored(chunks)
    merged = _merged(chunks)
    return _Stored() if merged is None else _Stored((merged,))


def _merged(chunks: Sequence[Chunk]) -> Chunk | None:
    table = _net([chunk.table for chunk in chunks])
    return Chunk.of_sorted(table, HASH) if table.num_rows else None


def _net(hashed: Sequence[pa.Table]) -> pa.Table:
    """The sum of rows with hashes, of which equal rows have equal ones, sorted by them."""
    table = concat(hashed)
    # Chunks are sorted: a stable sort of them all is a merge.
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
