"""The pipelined join of many windows (thesis, 5.2: Algorithms 2 to 5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from time import thread_time_ns

import numpy as np
import pyarrow as pa

from panes.delta.delta import EXP, TS, UNTIL, WEIGHT, Delta, Instants
from panes.delta.evaluate import mask_of
from panes.delta.hashing import HASH
from panes.delta.keys import group_rows, has_null
from panes.delta.rows import Positions, array_of, concat, int64, take, where, with_column, without
from panes.operators.base import Operator
from panes.operators.tools.edge import Edge, harder
from panes.operators.tools.split_span import cuts_of, split_span
from panes.plan.expressions import Expression, columns_of, conjunction, conjuncts
from panes.state.buffers.base import State
from panes.state.buffers.chunked import ChunkedBuffer, Match, cluster, matching, sum_weights
from panes.state.buffers.hash_search import expanded, hashes_of


@dataclass
class MultiJoin(Operator):
    """All combinations of a row of each input with equal keys that pass the residual.

    The new rows of a span are joined input by input. Each key that they have is looked up once in the other
    inputs, in the order of these; a key that one of them does not have is not looked up further. Then the rows of
    each key are combined, and combinations are tested as soon as a condition can be decided. A combination of
    several new rows is found with the last of their inputs.

    Output: a combination lives while all of its rows do: `ts` is the latest, `exp` the earliest of theirs, weights
        multiply. Rows that expired within the span still meet what lived at the same time. WEAK over inputs
        without negative tuples, else STRICT; a negative tuple makes one for each combination it was part of.
    State: the inputs, each as its pattern wants it, and nothing else: no intermediate results. Rows whose key is
        NULL are not kept, nor are rows that leave before any other input can change: at its next slide.
    Cost: for each input with new rows, a search for their different keys in the chunks of the other inputs, and
        the rows found there; then the combinations of two, three, … rows.
    """

    inputs: Sequence[Edge]
    keys: Sequence[Sequence[str]]
    residual: Expression | None = None
    slides: Sequence[Sequence[int]] = ()
    """Of each input the slides at which alone it changes; none where it also changes between."""
    states: Sequence[ChunkedBuffer] = field(init=False)
    output: Edge = field(init=False)
    """The edge that leaves this operator."""
    _columns: pa.Schema = field(init=False)
    _tests: Sequence[Sequence[Expression | None]] = field(init=False)
    """For each origin and each step of its pipeline, the conditions that can be decided from there on."""

    def __post_init__(self) -> None:
        first = self.inputs[0]
        self.output = first.derived(
            sum((edge.schema for edge in self.inputs[1:]), first.schema),
            reduce(harder, (edge.pattern for edge in self.inputs)),
            leaves_early=any(edge.leaves_early for edge in self.inputs if edge.is_weighted),
            has_until=any(edge.has_until for edge in self.inputs),
        )
        self._columns = self.output.columns
        self.states = [edge.buffer(own) for edge, own in zip(self.inputs, self.keys, strict=True)]
        self._tests = [self._tests_of(origin) for origin in range(len(self.inputs))]

    @property
    def buffers(self) -> Mapping[str, State]:
        return {f"input_{number}": state for number, state in enumerate(self.states)}

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:  # noqa: ARG002
        cuts = cuts_of(inputs)
        if not cuts:
            return self._process(inputs, clock)
        ends = [*cuts, clock]
        pieces = [split_span(delta, ends) for delta in inputs]
        tables = [self._process(deltas, deltas[0].clock).table for deltas in zip(*pieces, strict=True)]
        return Delta(concat(tables), clock)

    def _process(self, inputs: Sequence[Delta], clock: int) -> Delta:
        began = thread_time_ns()
        new = [self._clustered(number, delta) for number, delta in enumerate(inputs)]
        probes = [(origin, self._probed(origin, new)) for origin, rows in enumerate(new) if rows.num_rows]
        probed = thread_time_ns()
        parts = [
            part for origin, probe in probes if probe is not None for part in self._combined(origin, probe)
        ]
        visited = thread_time_ns()
        result = self._result(parts)
        weighed = thread_time_ns()
        due = [self._due(number, clock) for number in range(len(new))]
        for state, instant in zip(self.states, due, strict=True):
            state.forget(instant)
        expired = thread_time_ns()
        for rows, state, instant in zip(new, self.states, due, strict=True):
            _remember(rows, state, instant)
        self.note(
            probe_us=(probed - began) / 1000,
            visit_us=(visited - probed) / 1000,
            expire_us=(expired - weighed) / 1000,
            insert_us=(thread_time_ns() - expired) / 1000,
        )
        if self.output.is_weighted:
            self.note(given=float(np.abs(int64(result, WEIGHT)).sum()), weigh_us=(weighed - visited) / 1000)
        else:
            self.note(visit_us=(weighed - visited) / 1000)
        return Delta(result, clock)

    def _others(self, origin: int) -> Iterator[int]:
        """The inputs that new rows of one meet, in the global order."""
        return (number for number in range(len(self.inputs)) if number != origin)

    def _tests_of(self, origin: int) -> list[Expression | None]:
        known = set(self.inputs[origin].schema.names)
        waiting = list(conjuncts(self.residual))
        found: list[Expression | None] = []
        for other in self._others(origin):
            known.update(self.inputs[other].schema.names)
            decided = [condition for condition in waiting if columns_of(condition) <= known]
            waiting = [condition for condition in waiting if condition not in decided]
            found.append(conjunction(tuple(decided)))
        return found

    def _due(self, number: int, clock: int) -> int:
        """The first instant after the clock at which another input can change: what leaves an input until then
        meets nothing any more (Algorithm 4, line 8)."""
        return min(_next_change(self.slides[other], clock) for other in self._others(number))

    def _clustered(self, number: int, delta: Delta) -> pa.Table:
        edge, keys, table = self.inputs[number], self.keys[number], delta.table
        if edge.is_weighted and not delta.is_weighted:
            table = with_column(table, WEIGHT, delta.weight)
        if edge.has_until and UNTIL not in table.column_names:
            table = with_column(table, UNTIL, delta.exp)
        nulls = has_null(table, keys)
        if nulls.any():
            table = take(table, where(~nulls))
        return cluster(table, keys)

    def _probed(self, origin: int, new: Sequence[pa.Table]) -> _Probed | None:
        """The new rows of an input by key, with the rows of all others that have these keys; None when some input
        has none of them."""
        rows, keys = new[origin], self.keys[origin]
        groups = group_rows(rows, keys, hashes_of(rows))
        # In the order of the rows, which are sorted by hash: so are the keys, whichever share one.
        by_row = np.argsort(groups.first)
        number = np.empty(groups.count, dtype=np.int64)
        number[by_row] = np.arange(groups.count)
        needles = take(rows, groups.first[by_row], [*dict.fromkeys(keys), HASH])
        first_ts = np.minimum.reduceat(int64(rows, TS)[groups.order], groups.starts)[by_row]
        found: dict[int, _Partners] = {}
        for other in self._others(origin):
            # What comes with an input before this one in the same span is found here, and not there.
            together = new[other] if other < origin else None
            found[other] = partners = self._partners(origin, other, needles, first_ts, together)
            wanted = where(partners.counts > 0)
            if not len(wanted):
                return None
            if len(wanted) < needles.num_rows:
                needles, first_ts = take(needles, wanted), first_ts[wanted]
                number = _renumbered(number, wanted, groups.count)
                found = {input_: some.of(wanted) for input_, some in found.items()}
        return _Probed(rows, number[groups.codes], found)

    def _partners(
        self,
        origin: int,
        other: int,
        needles: pa.Table,
        first_ts: Instants,
        together: pa.Table | None,
    ) -> _Partners:
        """The rows of another input that have keys of new ones, and live when the first of these comes."""
        keys = self.keys[origin]
        found: list[Match] = list(self.states[other].matches(needles, keys))
        if together is not None and together.num_rows:
            found.append(matching(needles, keys, together, self.keys[other], nulls_equal=False))
        edge = self.inputs[other]
        hidden = [EXP, *[WEIGHT] * edge.is_weighted, *[UNTIL] * edge.has_until]
        numbers, tables, begins = [], [], []
        for at, stored, stored_at in found:
            # Rows that were gone before the first new row of their key came (Algorithm 5, `mints`).
            lives = int64(stored, EXP)[stored_at] > first_ts[at]
            if not lives.all():
                at, stored_at = at[lives], stored_at[lives]
            numbers.append(at)
            tables.append(take(stored, stored_at, [*edge.schema.names, *hidden]))
            has_ts = TS in stored.column_names
            begins.append(int64(stored, TS)[stored_at] if has_ts else np.full(len(at), _BEFORE))
        if not tables:
            return _Partners.none(needles.num_rows)
        at = np.concatenate(numbers)
        order = np.argsort(at, kind="stable")
        counts = np.bincount(at, minlength=needles.num_rows)
        starts = np.cumsum(counts) - counts
        return _Partners(concat(tables), np.concatenate(begins), order, starts, counts)

    def _combined(self, origin: int, probed: _Probed) -> Iterator[pa.Table]:
        """The results of the new rows of an input: at most one table."""
        at = where(probed.key >= 0)
        key = probed.key[at]
        begin, end = int64(probed.rows, TS)[at], int64(probed.rows, EXP)[at]
        chosen: dict[int, tuple[pa.Table, Positions]] = {origin: (probed.rows, at)}
        for other, test in zip(self._others(origin), self._tests[origin], strict=True):
            partners = probed.partners[other]
            hit, place = expanded(np.arange(len(key)), partners.starts[key], partners.counts[key])
            row = partners.order[place]
            self.note(visits=len(row))
            begin = np.maximum(begin[hit], partners.begin[row])
            end = np.minimum(end[hit], partners.end[row])
            key = key[hit]
            chosen = {number: (table, places[hit]) for number, (table, places) in chosen.items()}
            chosen[other] = (partners.table, row)
            passes = begin < end
            if not passes.all():
                key, begin, end, chosen = _kept(where(passes), key, begin, end, chosen)
            if test is not None and len(key):
                mask = self._mask(test, chosen)
                if not mask.all():
                    key, begin, end, chosen = _kept(where(mask), key, begin, end, chosen)
            if not len(key):
                return
        yield self._result_rows(chosen, begin, end)

    def _mask(self, test: Expression, chosen: _Chosen) -> pa.Array:
        names = columns_of(test)
        columns = {
            name: array_of(take(table, at, [name]), name)
            for number, (table, at) in chosen.items()
            for name in self.inputs[number].schema.names
            if name in names
        }
        return mask_of(test, pa.table(columns)).to_numpy(zero_copy_only=False)

    def _result_rows(self, chosen: _Chosen, begin: Instants, end: Instants) -> pa.Table:
        arrays = []
        hidden: list[Instants] = [begin, end]
        weight = np.ones(len(begin), dtype=np.int64)
        until: Instants | None = None
        for number, edge in enumerate(self.inputs):
            table, at = chosen[number]
            values = take(table, at, edge.schema.names)
            arrays += [array_of(values, name) for name in edge.schema.names]
            if edge.is_weighted:
                weight = weight * int64(table, WEIGHT)[at]
            if self.output.has_until:
                own = int64(table, UNTIL if edge.has_until else EXP)[at]
                until = own if until is None else np.minimum(until, own)
        if self.output.is_weighted:
            hidden.append(weight)
        if until is not None:
            hidden.append(until)
        return pa.Table.from_arrays(arrays + [pa.array(h) for h in hidden], schema=self._columns)

    def _result(self, parts: Sequence[pa.Table]) -> pa.Table:
        if not parts:
            return self._columns.empty_table()
        rows = concat(parts)
        if self.output.is_weighted and (int64(rows, WEIGHT) < 0).any():
            # State may hold a row and its negative tuple side by side: combinations with both say nothing.
            rows = sum_weights(rows)
        return rows


_Chosen = Mapping[int, tuple[pa.Table, Positions]]
"""Combinations of rows: by input a table, and for each combination the place of its row."""
_BEFORE = np.iinfo(np.int64).min
"""The `ts` of rows that are stored: all new rows come later."""


@dataclass(frozen=True)
class _Partners:
    """Rows of an input by the number of the key that they have."""

    table: pa.Table
    begin: Instants
    order: Positions
    """The places of the rows of the first key, then of the second, …"""
    starts: Positions
    """Where in `order` those of each key begin."""
    counts: Positions

    @classmethod
    def none(cls, keys: int) -> _Partners:
        nothing = np.zeros(0, dtype=np.int64)
        zeros = np.zeros(keys, dtype=np.int64)
        return cls(pa.table({EXP: pa.array([], pa.int64())}), nothing, nothing, zeros, zeros)

    @property
    def end(self) -> Instants:
        return int64(self.table, EXP)

    def of(self, keys: Positions) -> _Partners:
        """The same for some of the keys, under new numbers."""
        return _Partners(self.table, self.begin, self.order, self.starts[keys], self.counts[keys])


@dataclass(frozen=True)
class _Probed:
    """The new rows of an input, and the rows of the others that have their keys."""

    rows: pa.Table
    key: Positions
    """The number of the key of each row; -1 where some other input does not have it."""
    partners: Mapping[int, _Partners]


def _renumbered(number: Positions, kept: Positions, count: int) -> Positions:
    """The numbers of keys when only some are kept: -1 for the others, and for those that were -1 before."""
    new = np.full(count + 1, -1, dtype=np.int64)
    new[kept] = np.arange(len(kept))
    return new[number]


def _kept(
    at: Positions, key: Positions, begin: Instants, end: Instants, chosen: _Chosen
) -> tuple[Positions, Instants, Instants, dict[int, tuple[pa.Table, Positions]]]:
    """Some of the combinations."""
    some = {number: (table, places[at]) for number, (table, places) in chosen.items()}
    return key[at], begin[at], end[at], some


def _next_change(slides: Sequence[int], clock: int) -> int:
    """The first instant after the clock at which an input with these slides can change."""
    return min((clock - clock % slide + slide for slide in slides), default=clock + 1)


def _remember(rows: pa.Table, state: ChunkedBuffer, due: int) -> None:
    """Keeps the rows that can still meet others."""
    if rows.num_rows:
        exp = int64(rows, EXP)
        if exp.min() <= due:
            rows = take(rows, where(exp > due))
        state.insert(without(rows, TS))
