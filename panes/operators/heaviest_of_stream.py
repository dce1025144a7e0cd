"""Of a stream that only grows, the counts of its most frequent values (Misra and Gries)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pyarrow as pa

from panes.aggregates.accumulator_table import AccumulatorTable
from panes.aggregates.base import Ints
from panes.aggregates.choose_state import choose_for_sums, choose_for_values
from panes.aggregates.frequencies import COUNT, GROUP, VALUE, Frequencies, held
from panes.aggregates.linear import ROWS
from panes.aggregates.partials import cut_values_of, partial_schema
from panes.delta.delta import EXP, TS, Delta
from panes.delta.hashing import Hashes, hash_pair, hash_rows, in_buckets_of
from panes.operators.base import Operator
from panes.plan import nodes
from panes.state.buffers.base import State

_BLOCK_PER_COUNTER = 10
"""After how many values for each counter the counters are lowered."""
_NUMBER, _BLOCK, _LAST, _LEAST = "_number", "_block", "_last", "_least"


@dataclass
class HeaviestOfStream(Operator):
    """Lowers the counts of values of a group when there are too many of them, so that those of few remain.

    The values of a group are cut into blocks of equally many, in the order of time, and those of one instant in
    their own order: so it does not matter how they are cut into spans. After a block all counts of the group are
    lowered by the greatest one that is not among the `most` greatest, so that at most `most` values have a count
    above zero. No count is lowered by more than the share 1 / (`most` + 1) of all values in the whole.

    Output: the partial rows, and at the last value of a block, for each count that is lowered, a row with that
        many less of the value and a row with that many more of NULL.
    State: the counts of each group, of at most `most` values and those of a block; how many values came.
    Cost: one grouped pass over the delta, and one over the counts of a group for each of its blocks.
    """

    node: nodes.GroupBy
    lies_by: tuple[str, ...] = ()
    """The keys that decide the shard of a group, where these are not all of them in their order."""
    counts: Mapping[str, Frequencies] = field(init=False)
    numbers: Mapping[str, AccumulatorTable] = field(init=False)

    def __post_init__(self) -> None:
        schema, keys = partial_schema(self.node).arrow, self.node.keys
        names = [name for name, _, _ in cut_values_of(self.node)]
        why = "counts of values are lowered together"
        self.counts = {name: choose_for_values(schema.field(name).type, keys, why) for name in names}
        self.numbers = {
            name: choose_for_sums(keys, "values of a group are cut into blocks") for name in names
        }

    @property
    def buffers(self) -> Mapping[str, State]:
        counts: dict[str, State] = {f"counts{name}": counts for name, counts in self.counts.items()}
        return counts | {f"numbers{name}": numbers for name, numbers in self.numbers.items()}

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:  # noqa: ARG002
        (delta,) = inputs
        rows = delta.table
        if not rows.num_rows:
            return delta
        first, second = hash_pair([rows.column(key) for key in self.node.keys], rows.num_rows)
        if self.lies_by:
            first = in_buckets_of(first, hash_rows(rows, self.lies_by))
        groups = _Groups.of(first, second)
        parts = [rows]
        for name, _, most in cut_values_of(self.node):
            lowered = self._lowered(name, most, rows, groups)
            parts.append(_as_rows(rows, self.node.keys, name, lowered, groups))
        return Delta(pa.concat_tables(parts), clock)

    def _lowered(self, name: str, most: int, rows: pa.Table, groups: _Groups) -> pl.DataFrame:
        """By how much which counts of which group are lowered at which instants; the state moves on."""
        came = (
            pl.DataFrame(
                {GROUP: groups.of_row, VALUE: pl.from_arrow(rows.column(name)), TS: rows[TS].to_numpy()}
            )
            .with_columns(pl.Series(COUNT, rows.column(ROWS).to_numpy()))
            .filter(pl.col(VALUE).is_not_null())
            .sort(GROUP, TS, VALUE)
        )
        before = (
            self.numbers[name]
            .look_up(groups.first, groups.second)
            .get(0, np.zeros(len(groups.first), np.int64))
        )
        pieces = _in_blocks(came, before, _BLOCK_PER_COUNTER * most)
        whole = came.group_by(GROUP).agg(pl.col(COUNT).sum()).sort(GROUP)
        at = whole[GROUP].to_numpy()
        self.numbers[name].add(groups.first[at], groups.second[at], {0: whole[COUNT].to_numpy()})
        counts = held(self.counts[name].of(groups.first, groups.second))
        lowered: list[pl.DataFrame] = [pieces.select(GROUP, VALUE, COUNT, TS).clear()]
        last = pieces.filter(pl.col(_LAST).is_not_null())[_BLOCK].max()
        for block in range(int(last) + 1 if isinstance(last, int) else 0):
            some = pieces.filter(pl.col(_BLOCK) == block, pl.col(_LAST).is_not_null())
            counts, less = _after_block(counts, some, most)
            lowered.append(less)
        less = pl.concat(lowered)
        changes = pl.concat([came.select(GROUP, VALUE, COUNT), less.select(GROUP, VALUE, -pl.col(COUNT))])
        at = changes[GROUP].to_numpy()
        values = pa.chunked_array([changes[VALUE].to_arrow().cast(rows.schema.field(name).type)])
        self.counts[name].add(groups.first[at], groups.second[at], values, changes[COUNT].to_numpy())
        return less


@dataclass(frozen=True)
class _Groups:
    """The groups of some rows, sorted by their hashes."""

    first: Hashes
    second: Hashes
    of_row: Ints
    row_of: Ints
    """A row of each group."""

    @classmethod
    def of(cls, first: Hashes, second: Hashes) -> _Groups:
        order = np.lexsort((second, first))
        first, second = first[order], second[order]
        begins = np.append(True, (first[1:] != first[:-1]) | (second[1:] != second[:-1]))
        of_row = np.empty(len(order), np.int64)
        of_row[order] = np.cumsum(begins) - 1
        return cls(first[begins], second[begins], of_row, order[begins])


def _in_blocks(came: pl.DataFrame, before: Ints, size: int) -> pl.DataFrame:
    """The counts of values in pieces of which each is of one block, numbered from the first that is open. Those of
    a block that is complete have the instant of its last value in `_last`."""
    group, counts = came[GROUP].to_numpy(), came[COUNT].to_numpy()
    ends = np.cumsum(counts)
    starts = np.append(True, group[1:] != group[:-1])[: len(group)]
    until = ends - np.maximum.accumulate(np.where(starts, ends - counts, 0)) + before[group] % size
    since = until - counts
    first, last = since // size, (until - 1) // size
    copies = last - first + 1
    row = np.repeat(np.arange(len(group)), copies)
    block = first[row] + np.arange(len(row)) - np.repeat(np.cumsum(copies) - copies, copies)
    inside = np.minimum(until[row], (block + 1) * size) - np.maximum(since[row], block * size)
    pieces = came[row].with_columns(
        pl.Series(_BLOCK, block), pl.Series(COUNT, inside), pl.Series(_NUMBER, until[row])
    )
    is_last = pl.col(_NUMBER) >= (pl.col(_BLOCK) + 1) * size
    ends_at = pl.col(TS).filter(is_last).min().over(GROUP, _BLOCK)
    return pieces.with_columns(ends_at.alias(_LAST))


def _after_block(counts: pl.DataFrame, block: pl.DataFrame, most: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The counts after a block, and by how much they were lowered."""
    ends = block.select(GROUP, _LAST).unique()
    added = (
        pl.concat([counts, block.select(GROUP, VALUE, COUNT)]).group_by(GROUP, VALUE).agg(pl.col(COUNT).sum())
    )
    least = pl.col(COUNT).sort(descending=True).get(most, null_on_oob=True).over(GROUP)
    marked = added.join(ends, on=GROUP, how="left").with_columns(
        pl.when(pl.col(_LAST).is_not_null()).then(least).fill_null(0).alias(_LEAST)
    )
    less = marked.select(GROUP, VALUE, pl.min_horizontal(COUNT, _LEAST).alias(COUNT), pl.col(_LAST).alias(TS))
    left = marked.select(GROUP, VALUE, pl.col(COUNT) - pl.min_horizontal(COUNT, _LEAST))
    return left.filter(pl.col(COUNT) > 0), less.filter(pl.col(COUNT) > 0)


def _as_rows(
    rows: pa.Table, keys: Sequence[str], name: str, lowered: pl.DataFrame, groups: _Groups
) -> pa.Table:
    """What is less of each value, and more of NULL, as partial rows."""
    own = rows.take(pa.array(groups.row_of[lowered[GROUP].to_numpy()]))
    columns = {column: pa.nulls(own.num_rows, own.schema.field(column).type) for column in own.column_names}
    columns |= {key: own.column(key) for key in (*keys, EXP)}
    counts = lowered[COUNT].to_numpy()
    columns |= {TS: pa.array(lowered[TS].to_numpy()), ROWS: pa.array(counts)}
    more = pa.table(columns, schema=rows.schema)
    values = lowered[VALUE].to_arrow().cast(rows.schema.field(name).type)
    less = pa.table(columns | {name: values, ROWS: pa.array(-counts)}, schema=rows.schema)
    return pa.concat_tables([less, more])
