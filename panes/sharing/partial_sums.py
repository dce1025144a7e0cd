"""The partial rows of a group-by that many queries share.

Tuples of one lifetime and one group make a segment. Where segments are long and only counts are asked for, the
bits of each segment are added up column by column, for all queries at once. Else the pairs of tuple and query are
grouped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from panes.aggregates.linear import ROWS
from panes.aggregates.partials import can_round, partial_schema, partials_of, values_of
from panes.delta.delta import EXP, TS, Delta, first_seen
from panes.delta.evaluate import evaluate
from panes.delta.grouped import starts_of
from panes.delta.rows import int64, take, where, with_column
from panes.delta.rows_by_value import rows_by_value
from panes.operators.pre_aggregate import PreAggregate
from panes.plan.expressions import Column, Expression, columns_of
from panes.plan.nodes import QUERY, GroupBy, Project, Window
from panes.plan.types import DOUBLE
from panes.plan.windows import RangeWindow
from panes.sharing.bits import Flags, Ints, count_columns, pairs_of
from panes.sharing.matched_batch import MatchedBatch
from panes.sharing.predicates import is_attribute

_LONG = 128
"""The average length of a segment from which on bits are added up."""
_PAIRS = 1 << 20
"""Pairs of tuple and query that are grouped at once."""
_SEGMENT, _COLUMN = "_segment", "_column"

_Sums = tuple[Ints, Ints, dict[str, npt.NDArray[Any]]]
"""Segments and columns, and for each pair of them the sums by name."""


def partial_sums(
    rows: pa.Table, batch: MatchedBatch, group_by: GroupBy, window: RangeWindow, since: int
) -> pa.Table:
    """The partial rows, as `partial_schema` says, with `_ts` and `_exp`. `rows` are the tuples of the batch."""
    query_column = next(key for key in group_by.keys if key.startswith(QUERY))
    schema = partial_schema(group_by).arrow
    for name in (TS, EXP):
        schema = schema.append(pa.field(name, pa.int64()))
    own = replace(group_by, keys=tuple(key for key in group_by.keys if key != query_column))
    segments = _Segments.of(*_that_anyone_has(rows, batch, own), own, window, since)
    parts = [schema.empty_table()]
    if segments.amounts.num_rows:
        for part, column in segments.by_bits() if segments.are_long else segments.by_pairs():
            parts.append(with_column(part, query_column, batch.queries[column]).select(schema.names))
    return pa.concat_tables(parts).cast(schema)


@dataclass(frozen=True)
class _Segments:
    """Tuples with one segment after the other, and what each tuple adds to the partial columns."""

    group_by: GroupBy
    batch: MatchedBatch
    amounts: pa.Table
    starts: Ints
    """Where each segment begins."""
    have_panes: bool
    """Whether many tuples share a lifetime."""

    @classmethod
    def of(
        cls, rows: pa.Table, batch: MatchedBatch, group_by: GroupBy, window: RangeWindow, since: int
    ) -> _Segments:
        ts, exp = window.lifetime(int64(rows, TS), first_seen(rows, since))
        if not (ts < exp).all():  # between two slides, and gone before the second
            seen = where(ts < exp)
            rows, batch, ts, exp = take(rows, seen), batch.taken(seen), ts[seen], exp[seen]
        amounts = _amounts(rows, group_by, ts, exp)
        alike = [*group_by.keys, *(name for name, _ in values_of(group_by)), TS, EXP]
        if len(alike) == 2:
            starts = starts_of(ts, exp)
            if len(starts) * _LONG <= len(ts) or len(ts) < 2:
                return cls(group_by, batch, amounts, starts, window.has_slide)
        order, starts = rows_by_value(amounts.select(alike))
        return cls(group_by, batch.taken(order), take(amounts, order), starts, window.has_slide)

    @property
    def are_long(self) -> bool:
        """Whether they are long, and nothing but counts is asked for."""
        only_counts = all(partial.function == "count" for partial in partials_of(self.group_by))
        return only_counts and self.amounts.num_rows >= _LONG * len(self.starts)

    def by_bits(self) -> Iterator[tuple[pa.Table, Ints]]:
        """Partial rows without the query, and the columns that say which it is."""
        names = [partial.name for partial in partials_of(self.group_by)]
        sparse = self._sparse(names)
        before = 0
        ends = np.append(self.starts[1:], self.amounts.num_rows)
        for number, block in enumerate(self.batch.blocks):
            counts = {
                name: np.zeros((len(self.starts), block.words * 64), np.int64) for name in [ROWS, *sparse]
            }
            for first, last in self.batch.stretches(0, self.amounts.num_rows):
                bits = self.batch.match_block(number, first, last)
                segment = int(np.searchsorted(self.starts, first, side="right")) - 1
                while segment < len(self.starts) and self.starts[segment] < last:
                    here = slice(max(self.starts[segment], first), min(ends[segment], last))
                    mine = bits[here.start - first : here.stop - first]
                    counts[ROWS][segment] += count_columns(mine)
                    for name, has in sparse.items():
                        counts[name][segment] += count_columns(mine[has[here]])
                    segment += 1
            segments, columns = np.nonzero(counts[ROWS])
            part = take(self.amounts, self.starts[segments])
            for name in names:
                part = with_column(part, name, counts.get(name, counts[ROWS])[segments, columns])
            yield part, columns + before
            before += block.words * 64

    def _sparse(self, names: Sequence[str]) -> dict[str, Flags]:
        """Which tuples count, for the partial columns for which not all do."""
        counted = {name: int64(self.amounts, name) for name in names}
        return {name: amounts > 0 for name, amounts in counted.items() if not amounts.all()}

    def by_pairs(self) -> Iterator[tuple[pa.Table, Ints]]:
        """Partial rows without the query, and the columns that say which it is."""
        found: list[tuple[Ints, Ints]] = []
        waiting = 0
        for first, last in self.batch.stretches(0, self.amounts.num_rows):
            row, column = pairs_of(self.batch.match(first, last))
            found.append((row + first, column))
            waiting += len(row)
            if waiting >= _PAIRS or last == self.amounts.num_rows:
                yield self._grouped(*map(np.concatenate, zip(*found, strict=True)))
                found, waiting = [], 0

    def _grouped(self, row: Ints, column: Ints) -> tuple[pa.Table, Ints]:
        largest = self._largest_sum(len(row))
        exact = largest < 2**63 and can_round(partials_of(self.group_by), self.amounts, len(row))
        if not self.have_panes or not exact:
            # Sums of integers that might not fit into 64 bits are left to GroupBy, and so are doubles that may
            # not be rounded.
            return take(self.amounts, row), column
        lengths = np.diff(np.append(self.starts, self.amounts.num_rows))
        segment = np.repeat(np.arange(len(self.starts)), lengths)[row]
        columns = int(column.max(initial=0)) + 1
        if len(self.starts) * columns <= len(row) and largest < 2**53:
            segment, column, sums = self._in_a_table(row, segment, column, columns)
        else:
            segment, column, sums = self._by_hash(row, segment, column)
        part = take(self.amounts, self.starts[segment])
        for name, values in sums.items():
            part = with_column(part, name, values)
        return part, column

    def _in_a_table(self, row: Ints, segment: Ints, column: Ints, columns: int) -> _Sums:
        """The sums of pairs, where a table of all segments and columns is not larger than the pairs are many.
        They are added as doubles, which hold integers up to 2^53."""
        place = segment * columns + column
        there = np.flatnonzero(np.bincount(place))
        sums: dict[str, npt.NDArray[Any]] = {}
        for partial in partials_of(self.group_by):
            amounts = self.amounts.column(partial.name).fill_null(0).to_numpy()[row]
            added = np.bincount(place, amounts)[there]
            sums[partial.name] = added if partial.type == DOUBLE else added.astype(np.int64)
        return there // columns, there % columns, sums

    def _by_hash(self, row: Ints, segment: Ints, column: Ints) -> _Sums:
        """The sums of pairs."""
        names = [partial.name for partial in partials_of(self.group_by)]
        pairs = pl.DataFrame(take(self.amounts.select(names), row)).with_columns(
            pl.Series(_SEGMENT, segment), pl.Series(_COLUMN, column)
        )
        sums = pairs.group_by(_SEGMENT, _COLUMN).agg(pl.col(name).sum() for name in names)
        added = {name: sums[name].to_numpy() for name in names}
        return sums[_SEGMENT].to_numpy(), sums[_COLUMN].to_numpy(), added

    def _largest_sum(self, pairs: int) -> int:
        """What no sum of integers of that many pairs exceeds; a sum of DECIMALs is left to GroupBy."""
        largest = pairs
        for partial in partials_of(self.group_by):
            if partial.type.is_decimal:
                return 2**63
            if partial.function == "sum" and partial.type.is_integer:
                ends = pc.min_max(self.amounts.column(partial.name)).as_py()
                largest = max(largest, max(abs(ends["min"] or 0), abs(ends["max"] or 0)) * pairs)
        return largest


def _that_anyone_has(rows: pa.Table, batch: MatchedBatch, group_by: GroupBy) -> tuple[pa.Table, MatchedBatch]:
    """The tuples to aggregate. An expression that may fail is evaluated only for tuples that are for a query."""
    expressions: list[Expression] = [arg for a in group_by.aggregates for arg in a.args]
    expressions += [expression for _, expression in _columns(group_by)]
    if all(is_attribute(expression) for expression in expressions):
        return rows, batch
    anyone = [batch.match(first, last).any(axis=1) for first, last in batch.stretches(0, rows.num_rows)]
    if not anyone:
        return rows, batch
    some = where(np.concatenate(anyone))
    return take(rows, some), batch.taken(some)


def _columns(group_by: GroupBy) -> tuple[tuple[str, Expression], ...]:
    """The columns that a group-by reads, computed from those of the stream."""
    assert isinstance(group_by.child, Window)
    below = group_by.child.child
    read = set(group_by.keys).union(*(columns_of(arg) for a in group_by.aggregates for arg in a.args))
    if isinstance(below, Project):
        return tuple((name, expression) for name, expression in below.columns if name in read)
    return tuple((f.name, Column(f.type, f.name)) for f in below.schema if f.name in read)


def _amounts(rows: pa.Table, group_by: GroupBy, ts: Ints, exp: Ints) -> pa.Table:
    """What each tuple adds to the partial columns, with its keys and its lifetime."""
    columns = {name: evaluate(expression, rows) for name, expression in _columns(group_by)}
    columns |= {TS: pa.array(ts), EXP: pa.array(exp)}
    lift = PreAggregate(group_by, combine=False)
    amounts: pa.Table = lift.process([Delta(pa.table(columns), 0)], 0, 0).table
    return amounts
