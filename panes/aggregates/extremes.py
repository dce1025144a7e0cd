"""The values of each group that are, or may become, its least or its greatest one.

Where rows leave at known times, a value that is not greater than another one and leaves no later never becomes the
greatest. So of each group the values are kept that are greater than all that leave later: over random values as
many as the logarithm of their number, over input that only grows a single one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from panes.aggregates.accumulator_table import FIRST, SECOND, has_collision
from panes.aggregates.base import Ints
from panes.aggregates.frequencies import GROUP, VALUE
from panes.aggregates.steps import Steps
from panes.delta.delta import BEGINNING, EXP, TS, Instants
from panes.delta.grouped import sort_by_time, starts_of
from panes.delta.hashing import Hashes, sorted_hashes
from panes.state.buffers.base import State
from panes.state.buffers.chunk import Chunk
from panes.state.log import MergePolicy


class Extremes(State):
    """Values with the times at which they leave, of each group those that no other one outlives and exceeds.

    With `greatest` the greatest value is looked for, else the least. Chunks are sorted by the hash of the group.
    A value that one in a younger chunk makes useless stays until the two are merged. The label `until` says when
    the last row of a chunk leaves; then the chunk does.
    """

    kind = "extremes"

    def __init__(
        self,
        value_type: pa.DataType,
        keys: Sequence[str] = (),
        reason: str = "values that may become the greatest or the least",
        *,
        greatest: bool,
    ) -> None:
        super().__init__(MergePolicy(), reason, keys)
        self._greatest = greatest
        self._expired_to = BEGINNING
        self._schema = pa.schema(
            [(FIRST, pa.uint64()), (SECOND, pa.uint64()), (VALUE, value_type), (EXP, pa.int64())]
        )

    def follow(
        self, steps: Steps, values: pa.ChunkedArray, lives: pa.Table, since: int, clock: int
    ) -> pl.DataFrame:
        """The extreme of each group before the span `(since, clock]` and after each of its steps, where it holds
        any value; the state moves on.

        The first events of the steps are the rows that came, with these values and `lives` (`_ts` and `_exp`).
        The moments are numbered from group to group: one before its steps, and one after each.
        """
        groups = _Groups(steps)
        stored = self._of(groups, since)
        there = np.flatnonzero(values.is_valid())
        came = self._frame(values.take(pa.array(there)), lives.take(pa.array(there)), steps, there)
        came = came.with_columns(pl.Series(GROUP, groups.of_step[steps.step_of[there]]))
        rows = pl.concat([stored, came.select(stored.columns)])
        group, exp = rows[GROUP].to_numpy(), rows[EXP].to_numpy()
        ranks, places = _ranks(rows[VALUE], greatest=self._greatest)
        begin = groups.moments_before(group, rows[TS].to_numpy()) + 1
        begin[: stored.height] = 0
        end = groups.moments_before(group, exp) + 1
        seen = np.flatnonzero(begin < end)
        base = groups.first_moments[group[seen]]
        best = _greatest_over(ranks[seen], base + begin[seen], base + end[seen], groups.moments)
        self._expired_to = max(self._expired_to, clock)
        stays = _undominated(group, ranks, exp, np.flatnonzero(exp > clock))
        self._keep(rows[stays[stays >= stored.height]])
        held = np.flatnonzero(best >= 0)
        return pl.DataFrame({GROUP: held}).with_columns(rows[VALUE].gather(places[best[held]]))

    def _frame(self, values: pa.ChunkedArray, lives: pa.Table, steps: Steps, events: Ints) -> pl.DataFrame:
        """The rows that came."""
        if pa.types.is_floating(values.type):
            values = pc.add(values, pa.scalar(0.0, values.type))  # minus zero is zero
        step = steps.step_of[events]
        table = pa.table(
            {
                FIRST: steps.first[step],
                SECOND: steps.second[step],
                VALUE: values,
                EXP: lives.column(EXP),
                TS: lives.column(TS),
            }
        )
        return pl.DataFrame(table)

    def _of(self, groups: _Groups, since: int) -> pl.DataFrame:
        """The stored rows of some groups that live after `since`."""
        parts = [pl.DataFrame(self._schema.empty_table()).with_columns(pl.lit(0, pl.Int64).alias(GROUP))]
        for chunk in self._log.parts:
            stored = chunk.table.column(FIRST).to_numpy()
            begin = np.searchsorted(stored, groups.first, side="left")
            length = np.searchsorted(stored, groups.first, side="right") - begin
            which = np.repeat(np.arange(len(begin)), length)
            at = begin[which] + np.arange(len(which)) - np.repeat(np.cumsum(length) - length, length)
            self.touched += len(at)
            found = pl.DataFrame(chunk.table.take(pa.array(at))).with_columns(pl.Series(GROUP, which))
            own = (found[SECOND] == pl.Series(groups.second[which])) & (found[EXP] > since)
            parts.append(found.filter(own))
        return pl.concat(parts).with_columns(pl.lit(BEGINNING, pl.Int64).alias(TS))

    def _keep(self, rows: pl.DataFrame) -> None:
        self._log.parts = [c for c in self._log.parts if c.labels["until"] > self._expired_to]
        chunk = self._chunk(rows)
        if chunk is not None:
            self._log.append(chunk, self._merged)

    def _merged(self, chunks: Sequence[Chunk]) -> Chunk | None:
        self.touched += sum(chunk.rows for chunk in chunks)
        rows = pl.concat([pl.DataFrame(chunk.table) for chunk in chunks])
        rows = rows.filter(pl.col(EXP) > self._expired_to)
        if not rows.height:
            return None
        rows = _by_group(rows)
        group = _numbers(rows[FIRST].to_numpy(), rows[SECOND].to_numpy())
        ranks, _ = _ranks(rows[VALUE], greatest=self._greatest)
        stays = _undominated(group, ranks, rows[EXP].to_numpy(), np.arange(rows.height))
        return self._chunk(rows[stays])

    def _chunk(self, rows: pl.DataFrame) -> Chunk | None:
        if not rows.height:
            return None
        ordered = _by_group(rows.select(self._schema.names))
        table = ordered.to_arrow().cast(self._schema).combine_chunks()
        return Chunk.of_sorted(table, FIRST, until=int(table.column(EXP).to_numpy().max()))


class _Groups:
    """The groups that change in a span, and their moments."""

    def __init__(self, steps: Steps) -> None:
        starts = steps.starts
        lengths = np.diff(np.append(starts, len(steps.first)))
        self.first: Hashes = steps.first[starts]
        self.second: Hashes = steps.second[starts]
        self.of_step = np.repeat(np.arange(len(starts)), lengths)
        self.first_moments = starts + np.arange(len(starts))
        self.moments = len(steps.first) + len(starts)
        self._starts = starts
        self._instants = np.unique(steps.instants)
        self._keys = self._keyed(self.of_step, steps.instants)

    def moments_before(self, group: Ints, instants: Instants) -> Ints:
        """How many steps each group has before an instant."""
        return np.searchsorted(self._keys, self._keyed(group, instants)) - self._starts[group]

    def _keyed(self, group: Ints, instants: Instants) -> Ints:
        """Numbers that rise from group to group, and within each with the instants."""
        number = np.searchsorted(self._instants, instants)
        keys: Ints = group * (len(self._instants) + 1) + number
        return keys


def _by_group(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with those of each group together, by the first hash."""
    first, second = rows[FIRST].to_numpy(), rows[SECOND].to_numpy()
    if not (first[1:] < first[:-1]).any() and not has_collision(first, second):
        return rows
    order, ordered = sorted_hashes(first)
    if has_collision(ordered, second[order]):
        order = np.lexsort((second, first))
    return rows[order]


def _numbers(first: Hashes, second: Hashes) -> Ints:
    """The number of the group of each row, where the rows of each lie together."""
    numbers = np.zeros(len(first), np.int64)
    numbers[starts_of(first, second)] = 1
    return np.cumsum(numbers) - 1


def _ranks(values: pl.Series, *, greatest: bool) -> tuple[Ints, Ints]:
    """The rank of each value, equal for equal ones, highest for the one that is looked for; and of each rank the
    place of a value."""
    order = values.arg_sort()
    ordered = values.gather(order)
    if not len(ordered):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    numbers = np.cumsum(ordered.ne_missing(ordered.shift(1)).to_numpy())
    ranks = np.empty(len(ordered), np.int64)
    ranks[order.to_numpy()] = numbers if greatest else numbers[-1] - numbers
    places = np.zeros(int(ranks.max()) + 1, np.int64)
    places[ranks] = np.arange(len(ranks))
    return ranks, places


def _undominated(group: Ints, ranks: Ints, exp: Instants, among: Ints) -> Ints:
    """Of the rows `among` those that outlive all of their group that rank as high."""
    if not len(among):
        return among
    by, rank, ends = group[among], ranks[among], exp[among]
    low, others = int(ends.min()), _bits(by) + _bits(rank)
    if (int(ends.max()) - low).bit_length() + others > 63:
        ends = np.unique(ends, return_inverse=True)[1]
    else:
        ends = ends - low
    bits = _bits(ends)
    if bits + others > 63:
        order = np.lexsort((-ends, -rank, by))
    else:
        # Group, rank and end as one number sort several times as fast as three columns.
        order = sort_by_time(
            (((by << _bits(rank)) + (int(rank.max()) - rank)) << bits) + (int(ends.max()) - ends)
        )
    # Within a group the latest end so far; groups are told apart by their number.
    ends = ends[order] + (by[order] << bits)
    order = among[order]
    is_later = np.ones(len(order), np.bool_)
    is_later[1:] = ends[1:] > np.maximum.accumulate(ends)[:-1]
    return np.sort(order[is_later])


def _bits(numbers: Ints) -> int:
    """How many bits the numbers, none of which is below zero, have."""
    return int(numbers.max()).bit_length()


def _greatest_over(ranks: Ints, begin: Ints, end: Ints, moments: int) -> Ints:
    """For each moment the greatest rank among those that hold at it, from `begin` to just before `end`; -1 where
    none does.

    A range is covered by two that overlap, each as long as a power of two. From the longest to the shortest, what
    holds for a range holds for both of its halves: each moment is visited once for each power.
    """
    best = np.full(moments, -1)
    if not len(ranks):
        return best
    powers = np.frexp(end - begin)[1] - 1
    for power in range(int(powers.max()), -1, -1):
        length = 1 << power
        halves = best.copy()
        halves[length:] = np.maximum(halves[length:], best[:-length])
        best = halves
        at = np.flatnonzero(powers == power)
        np.maximum.at(best, begin[at], ranks[at])
        np.maximum.at(best, end[at] - length, ranks[at])
    return best
