"""Aggregates of the tuples of a window, put together from what chunks say of their ranges of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from panes.aggregates.base import Accumulators, Ints
from panes.aggregates.linear import Linear
from panes.delta.keys import group_rows
from panes.delta.rows import concat, take, take_column
from panes.plan.expressions import Aggregate
from panes.plan.schema import Schema
from panes.plan.windows import WindowSpec
from panes.synopses.timed_rows import GROUP, TimedRows
from panes.synopses.timed_store import TimedStore
from panes.synopses.tuple_measures import Measure, RankedEnd, end_of, measures_of, null_where, ordered


@dataclass(frozen=True)
class TimedAggregates:
    """What one query asks of the tuples of a window: aggregates by key, over the columns of the tuples."""

    window: WindowSpec
    aggregates: tuple[Aggregate, ...]
    schema: Schema
    """The keys, in the order in which the store has them, then the aggregates."""

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """What the store has to keep for it."""
        return measures_of(self.aggregates)

    @cached_property
    def _linear(self) -> Linear:
        return Linear(self.aggregates)

    @cached_property
    def _ends(self) -> dict[str, RankedEnd]:
        """The least and greatest values that are asked for, by the name of the aggregate."""
        found = {aggregate.name: end_of(aggregate) for aggregate in self.aggregates}
        return {name: end for name, end in found.items() if end is not None}

    def at(self, stores: Iterable[TimedStore], now: int) -> pa.Table:
        """The aggregates at an instant, over the stores of all shards. Without keys there is always one row."""
        reach = self.window.reach(now)
        found = [
            _Ranges.of(part, store.keys, self.measures, reach.since, reach.until)
            for store in stores
            for part in store.seen(self.measures, reach.since, now)
        ]
        found = [ranges for ranges in found if ranges.groups]
        if found:
            return self._together(found)
        if len(self.schema) > len(self.aggregates):
            return self.schema.arrow.empty_table()
        nothing = {name: pa.nulls(1, end.arg.type.arrow) for name, end in self._ends.items()}
        return self._table({**self._linear.results({}, 1), **nothing})

    def _together(self, found: Sequence[_Ranges]) -> pa.Table:
        """The aggregates of each group over the chunks that have some of it."""
        keys = concat([ranges.keys for ranges in found])
        names = keys.column_names[:-1]
        order, starts = np.arange(keys.num_rows), np.zeros(1, np.int64)
        if names:
            groups = group_rows(keys, names)
            order, starts = groups.order, groups.starts
        sums: Accumulators = {}
        for number in sorted({number for ranges in found for number in ranges.sums}):
            parts = [s.sums.get(number, np.zeros(s.groups, np.int64)) for s in found]
            sums[number] = np.add.reduceat(np.concatenate(parts)[order], starts)
        ends = {
            name: _end_of_groups([s.ends[end.name] for s in found], order, starts, end.is_greatest)
            for name, end in self._ends.items()
        }
        shown = take(keys, order[starts], names)
        values = dict(zip(self.schema.names, shown.columns, strict=False))
        return self._table({**values, **self._linear.results(sums, len(starts)), **ends})

    def _table(self, values: Mapping[str, pa.Array]) -> pa.Table:
        return pa.table([values[name] for name in self.schema.names], schema=self.schema.arrow)


@dataclass(frozen=True)
class _Ranges:
    """What the tuples of each group of a chunk in a window add up to, for the groups that have some."""

    keys: pa.Table
    """The keys, and a last column that means nothing: a table without columns has no rows."""
    sums: Accumulators
    ends: Mapping[str, pa.Array]
    """By the name of the measure."""

    @property
    def groups(self) -> int:
        return int(self.keys.num_rows)

    @classmethod
    def of(
        cls, part: TimedRows, keys: Sequence[str], measures: Sequence[Measure], since: int, until: int
    ) -> _Ranges:
        begins, finish = part.ranges(since, until)
        table = part.chunk.table
        sums: Accumulators = {0: finish - begins}
        ends = {}
        for measure in measures if len(begins) else ():
            if isinstance(measure, RankedEnd):
                ends[measure.name] = measure.of_ranges(table, begins, finish)
            else:
                sums |= measure.of_ranges(table, begins, finish)
        return cls(take(table, begins, [*keys, GROUP]), sums, ends)


def _end_of_groups(values: Sequence[pa.Array], order: Ints, starts: Ints, is_greatest: bool) -> pa.Array:
    """The greatest or least value of each group; `order` has the values group by group, as `starts` says."""
    whole = pa.concat_arrays(values)
    places, count = ordered(whole, is_greatest=is_greatest)
    ranks = np.zeros(len(whole), np.int64)
    ranks[places[:count]] = np.arange(1, count + 1)
    found = np.maximum.reduceat(ranks[order], starts)
    return null_where(take_column(whole, places[np.maximum(found, 1) - 1]), found == 0)
