"""OVER: rows with values that are computed from the other rows of their partition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from panes.aggregates.base import Ints
from panes.aggregates.over_rows import OverRows
from panes.delta.delta import EXP, FOREVER, TS, UNTIL, WEIGHT, Delta, Instants, delta_schema
from panes.delta.evaluate import evaluate
from panes.delta.grouped import cumsum_within, starts_of
from panes.delta.keys import equal_rows, group_rows
from panes.delta.orders import places_in_order
from panes.delta.rows import Positions, concat, int64, take, where, with_column, without
from panes.operators.base import Operator
from panes.operators.tools.edge import Edge
from panes.plan import nodes
from panes.plan.sort_key import SortKey, total_order
from panes.state.buffers.base import State
from panes.state.buffers.chunked import ChunkedBuffer

_ROWS_AT_ONCE = 1_000_000
"""What is held in memory at once: the rows of a partition for each instant at which it changes."""

_VALUE = "_value"


@dataclass
class Over(Operator):
    """The rows of the input, each with the values of functions over its partition.

    Output: when a partition changes at e, rows that go or whose values change with weight -1, and rows that come
        or have new values with weight 1, from e on; STRICT. With `every_instant` e is each instant at which the
        input changes, without it the clock of the span.
    State: the rows of the input, by partition.
    Cost: a partition that changes is computed as a whole, before and after each e; the others are not touched.
    """

    edge: Edge
    node: nodes.Over
    every_instant: bool
    has_until: bool = False
    """Whether the plan has an INTERNAL window, so that its edges carry `_until`."""
    rows: ChunkedBuffer = field(init=False)

    def __post_init__(self) -> None:
        self.rows = self.edge.buffer(self.node.partition_by, nulls_equal=True)

    @property
    def buffers(self) -> Mapping[str, State]:
        return {"rows": self.rows}

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        (delta,) = inputs
        gone = self.rows.expire(clock, since)
        empty = delta_schema(self.node.schema, weighted=True).empty_table()
        if not delta.rows and not gone.num_rows:
            return Delta(self._finished(empty), clock)
        versions = self._versions(delta, gone, clock)
        self._remember(delta, clock)
        ordered = _Ordered(self.node, versions.values)
        parts = [ordered.changes(versions, *block) for block in versions.blocks()]
        return Delta(self._finished(concat([empty, *parts])), clock)

    def _versions(self, delta: Delta, gone: pa.Table, clock: int) -> _Versions:
        """What the partitions that change hold before the span and after each of its instants."""
        names, by = list(self.node.child.schema.names), list(self.node.partition_by)
        came = delta.table.select(names)
        changing = came if not gone.num_rows else concat([came, gone.select(names)])
        groups = group_rows(changing, by)
        stored_of, stored = self._stored(take(changing, groups.first, by), clock)
        rows = changing if not stored.num_rows else concat([changing, stored.select(names)])
        partition = np.concatenate([groups.codes, stored_of])
        events = _Events.of(delta, gone, stored, clock)
        return _Versions.of(rows, partition, events if self.every_instant else events.at(clock))

    def _stored(self, keys: pa.Table, clock: int) -> tuple[Positions, pa.Table]:
        """The rows that are in some partitions before the span and after it, each with its partition."""
        if not keys.num_columns:
            found = self.rows.live(clock)
            return np.zeros(found.num_rows, np.int64), found
        which, found = self.rows.probe(keys)
        alive = where(int64(found, EXP) > clock)
        return which[alive], take(found, alive)

    def _remember(self, delta: Delta, clock: int) -> None:
        table = without(delta.table, TS, UNTIL)
        if self.edge.is_weighted and not delta.is_weighted:
            table = with_column(table, WEIGHT, delta.weight)
        self.rows.insert(take(table, where(delta.exp > clock)))

    def _finished(self, rows: pa.Table) -> pa.Table:
        return rows.append_column(UNTIL, rows.column(EXP)) if self.has_until else rows


@dataclass(frozen=True)
class _Events:
    """Rows that come and go, by number: those of the delta, those that leave in the span, those that stay."""

    row: Positions
    instant: Instants
    """FOREVER of a row that was there before the span."""
    change: Ints

    @classmethod
    def of(cls, delta: Delta, gone: pa.Table, stored: pa.Table, clock: int) -> _Events:
        weight = np.concatenate([delta.weight, _weights(gone), _weights(stored)])
        comes = np.concatenate([delta.ts, np.full(len(weight) - delta.rows, FOREVER)])
        ends = np.concatenate([delta.exp, int64(gone, EXP)])
        leaves = where(ends <= clock)
        return cls(
            np.concatenate([np.arange(len(weight)), leaves]),
            np.concatenate([comes, ends[leaves]]),
            np.concatenate([weight, -weight[leaves]]),
        )

    def at(self, clock: int) -> _Events:
        """The same, as if all happened at the clock."""
        return _Events(self.row, np.where(self.instant < FOREVER, clock, FOREVER), self.change)


def _weights(table: pa.Table) -> Ints:
    if WEIGHT in table.column_names:
        return int64(table, WEIGHT)
    return np.ones(table.num_rows, np.int64)


@dataclass(frozen=True)
class _Versions:
    """The contents of partitions, version by version: before the span, and after each instant of a change.

    The versions of a partition follow each other. Value `value[i]` is in the versions from `first[i]` to before
    `after[i]`, `copies[i]` times.
    """

    values: pa.Table
    """The distinct rows."""
    value: Positions
    first: Positions
    after: Positions
    copies: Ints
    begins: Instants
    """When each version begins; FOREVER of the one before the span."""
    ends: Instants
    """When each version ends; FOREVER of the last one of a partition."""

    @classmethod
    def of(cls, rows: pa.Table, partition: Positions, events: _Events) -> _Versions:
        own = partition[events.row]
        is_before = events.instant == FOREVER
        # The version before the span comes first, whether or not anything was there.
        partitions = int(partition.max()) + 1
        at = np.concatenate(
            [np.where(is_before, np.iinfo(np.int64).min, events.instant), _lowest(partitions)]
        )
        own = np.concatenate([own, np.arange(partitions)])
        order = np.lexsort((at, own))
        starts = starts_of(own[order], at[order])
        version = np.empty(len(order), np.int64)
        version[order] = np.cumsum(_marks(starts, len(order))) - 1
        begins, belongs = at[order][starts], own[order][starts]
        is_first = np.append(True, belongs[1:] != belongs[:-1])
        ends = np.append(np.where(is_first[1:], FOREVER, begins[1:]), FOREVER)
        last = np.append(where(is_first)[1:], len(begins))  # the version after the last of each partition
        groups = group_rows(rows, rows.column_names)
        value, first, copies = _added_up(groups.codes[events.row], version[: len(events.row)], events.change)
        after = last[partition[groups.first]][value]
        again = where(value[1:] == value[:-1])
        after[again] = first[again + 1]
        kept = where(copies > 0)
        return cls(
            take(rows, groups.first),
            value[kept],
            first[kept],
            after[kept],
            copies[kept],
            np.where(is_first, FOREVER, begins),
            ends,
        )

    def blocks(self) -> Iterator[tuple[Positions, Positions]]:
        """The rows of some versions at a time: the value and the version of each."""
        sizes = np.zeros(len(self.begins) + 1, np.int64)
        np.add.at(sizes, self.first, self.copies)
        np.add.at(sizes, self.after, -self.copies)
        block = np.cumsum(np.cumsum(sizes)[:-1]) // _ROWS_AT_ONCE
        cuts = [0, *(where(block[1:] != block[:-1]) + 1), len(block)]
        for begin, end in pairwise(cuts):
            first, after = np.maximum(self.first, begin), np.minimum(self.after, end)
            here = where(first < after)
            lengths = (after - first)[here]
            within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
            copies = np.repeat(self.copies[here], lengths)
            yield (
                np.repeat(np.repeat(self.value[here], lengths), copies),
                np.repeat(np.repeat(first[here], lengths) + within, copies),
            )


def _lowest(count: int) -> Instants:
    return np.full(count, np.iinfo(np.int64).min)


def _marks(places: Positions, count: int) -> Ints:
    marks = np.zeros(count, np.int64)
    marks[places] = 1
    return marks


def _added_up(value: Positions, version: Positions, change: Ints) -> tuple[Positions, Positions, Ints]:
    """How often each value is there from each version on at which that changes."""
    order = np.lexsort((version, value))
    value, version = value[order], version[order]
    running = cumsum_within(change[order], starts_of(value))
    last = np.append(starts_of(value, version)[1:], len(value)) - 1
    return value[last], version[last], running[last]


class _Ordered:
    """The values of partitions in the order of OVER, and the functions over them."""

    def __init__(self, node: nodes.Over, values: pa.Table) -> None:
        self._node = node
        self._values = values
        keys = [key.column for key in node.order]
        order = node.order
        if any(function.tells_peers_apart for function in node.functions):
            order = total_order(node.order, values.column_names)
        self._place, self._rank = np.zeros((2, values.num_rows), np.int64)
        if order:
            places = places_in_order(values, order).to_numpy().astype(np.int64)
            self._place[places] = np.arange(len(places))
            same = equal_rows(values, places[1:], keys, values, places[:-1], keys, nulls_equal=True)
            self._rank[places] = np.cumsum(np.append(False, ~same)[: len(places)])
        has_distance = any(function.frame and function.frame.has_distance for function in node.functions)
        self._keys = _whole_numbers(values, node.order[0]) if has_distance else None
        self._arguments = {
            function.name: _array(evaluate(function.arg, values))
            for function in node.functions
            if function.arg is not None
        }

    def changes(self, versions: _Versions, value: Positions, version: Positions) -> pa.Table:
        """What the rows of some versions say: they come when the version begins, and go when it ends."""
        order = np.lexsort((self._place[value], version))
        value, version = value[order], version[order]
        at = pa.array(value)
        keys = None if self._keys is None else self._keys.take(at)
        over = OverRows.of(version, self._rank[value], keys)
        columns = {_VALUE: at}
        for function in self._node.functions:
            argument = self._arguments.get(function.name)
            columns[function.name] = over.result(function, None if argument is None else argument.take(at))
        rows = pl.DataFrame(pa.table(columns))
        parts = [
            rows.with_columns(pl.Series(TS, instants[version]), pl.lit(weight, pl.Int64).alias(WEIGHT))
            for instants, weight in ((versions.begins, 1), (versions.ends, -1))
        ]
        told = pl.concat(parts).filter(pl.col(TS) < FOREVER)
        told = told.group_by(pl.exclude(WEIGHT), maintain_order=True).agg(pl.col(WEIGHT).sum())
        return self._rows(told.filter(pl.col(WEIGHT) != 0).to_arrow())

    def _rows(self, told: pa.Table) -> pa.Table:
        table = take(self._values, told.column(_VALUE).to_numpy())
        for function in self._node.functions:
            table = table.append_column(function.name, told.column(function.name).cast(function.type.arrow))
        table = table.append_column(TS, told.column(TS))
        table = table.append_column(EXP, pa.array(np.full(table.num_rows, FOREVER)))
        return table.append_column(WEIGHT, told.column(WEIGHT))


def _array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _whole_numbers(values: pa.Table, key: SortKey) -> pa.Array:
    """The values of a sort key as integers that grow in its order."""
    numbers = _array(values.column(key.column)).cast(pa.int64())
    # The complement turns the order around and keeps distances, for all integers.
    return pc.bit_wise_not(numbers) if key.descending else numbers
