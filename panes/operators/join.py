"""The join of two windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import thread_time_ns

import numpy as np
import pyarrow as pa

from panes.delta.delta import EXP, TS, UNTIL, WEIGHT, Delta, Instants
from panes.delta.evaluate import mask_of
from panes.delta.keys import has_null
from panes.delta.rows import Positions, array_of, concat, int64, take, where, with_column, without
from panes.operators.base import Operator
from panes.operators.tools.band_search import BandSearch
from panes.operators.tools.edge import Edge, harder
from panes.operators.tools.split_span import cuts_of, split_span
from panes.plan.band import Band, band_of
from panes.plan.expressions import Expression
from panes.state.buffers.base import State
from panes.state.buffers.chunked import ChunkedBuffer, Match, cluster, gathered, matching, sum_weights


@dataclass
class Join(Operator):
    """All pairs of rows with equal keys that pass the residual predicate.

    Output: a pair lives while both of its rows do: `ts` is the later, `exp` the earlier of the two, weights
        multiply. Rows that expired within the span still meet what lived at the same time. WEAK over inputs
        without negative tuples, else STRICT; a negative tuple makes one for each pair it was part of.
    State: both inputs, each as its pattern wants it. Rows whose key is NULL are not kept. What is stored has
        no `_ts`: rows to come begin later than all that is here.
    Cost: a sort of the two deltas by key hash and a binary search per chunk of the other side, then the
        pairs. It grows with the logarithm of the windows. Without keys, where the residual compares a value of one
        side with a value of the other, chunks are searched by that value; else all pairs are looked at.

    Joins of more than two inputs are trees of these, or one `MultiJoin`. Evaluation is eager: with SLIDE the
    windows below give lifetimes that begin and end at slides, and the lazy join without restore semantics is the
    same rows. For restore semantics the windows keep their true lifetimes, the join gives every pair that ever
    lived, and the output operator brings those between two slides to the next one.
    """

    left: Edge
    right: Edge
    left_keys: Sequence[str]
    right_keys: Sequence[str]
    residual: Expression | None = None
    nulls_equal: bool = False
    """Whether a key that is NULL equals another (within set operations)."""
    left_state: ChunkedBuffer = field(init=False)
    right_state: ChunkedBuffer = field(init=False)
    output: Edge = field(init=False)
    """The edge that leaves this operator."""
    _columns: pa.Schema = field(init=False)
    _band: Band | None = field(init=False)
    """Where pairs lie, of a join without keys."""

    def __post_init__(self) -> None:
        self.output = self.left.derived(
            self.left.schema + self.right.schema,
            harder(self.left.pattern, self.right.pattern),
            leaves_early=any(e.leaves_early for e in (self.left, self.right) if e.is_weighted),
            has_until=self.left.has_until or self.right.has_until,
        )
        self._columns = self.output.columns
        self._band = None
        if not self.left_keys:
            left, right = (frozenset(edge.schema.names) for edge in (self.left, self.right))
            self._band = band_of(self.residual, left, right)
        self.left_state = self.left.buffer(self.left_keys, nulls_equal=self.nulls_equal)
        self.right_state = self.right.buffer(self.right_keys, nulls_equal=self.nulls_equal)

    @property
    def buffers(self) -> Mapping[str, State]:
        return {"left": self.left_state, "right": self.right_state}

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        cuts = cuts_of(inputs)
        if not cuts:
            return self._process(inputs, since, clock)
        ends = [*cuts, clock]
        pieces = [split_span(delta, ends) for delta in inputs]
        begins = [since, *cuts]
        tables = [
            self._process(deltas, begin, end).table
            for deltas, begin, end in zip(zip(*pieces, strict=True), begins, ends, strict=True)
        ]
        return Delta(concat(tables), clock)

    def _process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        began = thread_time_ns()
        left, right = inputs
        new_left = self._clustered(left, self.left, self.left_keys)
        new_right = self._clustered(right, self.right, self.right_keys)
        of_left: list[Match] = []
        of_right: list[Match] = []
        if new_left.num_rows:
            of_left += self._partners(new_left, self.left_keys, self.right_state, self._band)
        if new_right.num_rows:
            flipped = None if self._band is None else self._band.flipped()
            of_right += self._partners(new_right, self.right_keys, self.left_state, flipped)
        if new_left.num_rows and new_right.num_rows:
            of_left.append(self._match(new_left, new_right))
        probed = thread_time_ns()
        parts = [
            *self._pairs(new_left, of_left, new_is_left=True),
            *self._pairs(new_right, of_right, new_is_left=False),
        ]
        visited = thread_time_ns()
        result = self._result(parts)
        weighed = thread_time_ns()
        rows_left = self.left_state.forget(clock, since)
        rows_right = self.right_state.forget(clock, since)
        expired = thread_time_ns()
        rows_left += self._remember(new_left, self.left_state, clock)
        rows_right += self._remember(new_right, self.right_state, clock)
        self.note(
            visits=sum(len(at) for at, _, _ in (*of_left, *of_right)),
            probe_us=(probed - began) / 1000,
            visit_us=(visited - probed) / 1000,
            expire_us=(expired - weighed) / 1000,
            insert_us=(thread_time_ns() - expired) / 1000,
        )
        if self.output.is_weighted:
            self.note(given=float(np.abs(int64(result, WEIGHT)).sum()), weigh_us=(weighed - visited) / 1000)
        else:
            self.note(visit_us=(weighed - visited) / 1000)
        self.noted["left_rows"] = self.left_state.net_rows if self.left.is_weighted else rows_left
        self.noted["right_rows"] = self.right_state.net_rows if self.right.is_weighted else rows_right
        return Delta(result, clock)

    def _clustered(self, delta: Delta, edge: Edge, keys: Sequence[str]) -> pa.Table:
        table = delta.table
        if edge.is_weighted and not delta.is_weighted:
            table = with_column(table, WEIGHT, delta.weight)
        if edge.has_until and UNTIL not in table.column_names:
            table = with_column(table, UNTIL, delta.exp)
        if not self.nulls_equal:
            nulls = has_null(table, keys)
            if nulls.any():
                table = take(table, where(~nulls))
        return cluster(table, keys)

    def _partners(
        self, new: pa.Table, keys: Sequence[str], state: ChunkedBuffer, band: Band | None
    ) -> Iterator[Match]:
        """The pairs of new rows and rows of the other side that may be results."""
        if band is None:
            yield from gathered(state.matches(new, keys))
            return
        search = BandSearch(band)
        for chunk in state.chunks:
            at, stored_at = search.in_chunk(new, chunk)
            state.touched += len(at)
            if len(at):
                yield at, chunk.table, stored_at

    def _match(self, left: pa.Table, right: pa.Table) -> Match:
        if self._band is not None:
            at, stored_at = BandSearch(self._band).in_table(left, right)
            return at, right, stored_at
        return matching(left, self.left_keys, right, self.right_keys, nulls_equal=self.nulls_equal)

    def _remember(self, rows: pa.Table, state: ChunkedBuffer, clock: int) -> int:
        """Keeps the rows that still live; gives how many."""
        if rows.num_rows:
            exp = int64(rows, EXP)
            if exp.min() <= clock:
                rows = take(rows, where(exp > clock))
            state.insert(without(rows, TS))
        kept: int = rows.num_rows
        return kept

    def _pairs(self, new: pa.Table, found: Iterable[Match], *, new_is_left: bool) -> Iterator[pa.Table]:
        """The result rows for the rows of a delta and what they match on the other side."""
        ts, exp = int64(new, TS), int64(new, EXP)
        for at, stored, stored_at in found:
            begin, end = ts[at], np.minimum(exp[at], int64(stored, EXP)[stored_at])
            if TS in stored.column_names:
                begin = np.maximum(begin, int64(stored, TS)[stored_at])
            both_live = begin < end
            if not both_live.all():
                alive = where(both_live)
                at, stored_at, begin, end = at[alive], stored_at[alive], begin[alive], end[alive]
            if len(at):
                left, right = (new, at), (stored, stored_at)
                if not new_is_left:
                    left, right = right, left
                yield self._result_rows([(self.left, *left), (self.right, *right)], begin, end)

    def _result_rows(
        self, sides: Sequence[tuple[Edge, pa.Table, Positions]], begin: Instants, end: Instants
    ) -> pa.Table:
        values = [take(table, at, edge.schema.names) for edge, table, at in sides]
        arrays = [array_of(table, name) for table in values for name in table.column_names]
        hidden: list[Instants] = [begin, end]
        if self.output.is_weighted:
            weight = np.ones(len(begin), dtype=np.int64)
            for edge, table, at in sides:
                if edge.is_weighted:
                    weight = weight * int64(table, WEIGHT)[at]
            hidden.append(weight)
        if self.output.has_until:
            (a, left, left_at), (b, right, right_at) = sides
            until = [int64(left, UNTIL if a.has_until else EXP)[left_at]]
            until.append(int64(right, UNTIL if b.has_until else EXP)[right_at])
            hidden.append(np.minimum(until[0], until[1]))
        rows = pa.Table.from_arrays(arrays + [pa.array(h) for h in hidden], schema=self._columns)
        return rows if self.residual is None else rows.filter(mask_of(self.residual, rows))

    def _result(self, parts: Sequence[pa.Table]) -> pa.Table:
        if not parts:
            return self._columns.empty_table()
        rows = concat(parts)
        if self.output.is_weighted and (int64(rows, WEIGHT) < 0).any():
            # State may hold a row and its negative tuple side by side: pairs with both say nothing.
            rows = sum_weights(rows)
        return rows
