"""The join of rows with a non-retroactive table, which each of them meets as it was at its own time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import pyarrow as pa

from panes.delta.delta import BEGINNING, EXP, TS, UNTIL, WEIGHT, Delta, Instants
from panes.delta.evaluate import mask_of
from panes.delta.grouped import Numbers
from panes.delta.keys import Mask, group_rows, has_null
from panes.delta.rows import (
    Positions,
    array_of,
    concat,
    int64,
    take,
    take_column,
    where,
    with_column,
    without,
)
from panes.delta.zeros import with_unsigned_zeros
from panes.operators.base import Operator
from panes.operators.tools.edge import Edge
from panes.plan.expressions import Expression, columns_of
from panes.state.buffers.base import State
from panes.state.buffers.choose import choose_for_versions
from panes.state.buffers.keyed_versions import KeyedVersions

_ROW = "_row"
_PAIRS = 1_000_000
"""About how many pairs are looked at together where no key says which rows of the table a row may meet."""


Kind = Literal["inner", "left", "semi", "anti"]


@dataclass(frozen=True)
class _Pairs:
    """Rows of the left, by position, with rows of one table of versions, and how often the table held each."""

    at: Positions
    stored: pa.Table
    stored_at: Positions
    weight: Numbers

    def part(self, chosen: Positions) -> _Pairs:
        return _Pairs(self.at[chosen], self.stored, self.stored_at[chosen], self.weight[chosen])


@dataclass
class Lookup(Operator):
    """Joins each row with the table as it was at the time of the row (`time`), with NULL where it has no match
    (`left`), or keeps the rows that have a match (`semi`) or none (`anti`). What happens to the table later
    changes nothing that was given.

    `null_aware` is NOT IN, an `anti` lookup: a row whose key is NULL, and every row while the table holds a NULL
    key, is left out, unless the table is empty. Its residual reads the table alone, and rows that do not pass it
    are not there.

    A change of the table must come before rows of its instant do, and need not wait for its time. Rows whose time
    lies `keep_us` or more before the clock of the span before meet the table as it was then.

    Output: for each row of the left its matches, with its lifetime and weight, so the pattern of the left stays.
        A negative tuple finds what the row that it takes back has found.
    State: the versions of the table that rows to come may meet. Nothing of the left.
    Cost: a probe of each chunk of the versions by the hash of the key. The left is not sorted. A change of the
        table is appended.
    """

    left: Edge
    right: Edge
    left_keys: Sequence[str]
    right_keys: Sequence[str]
    residual: Expression | None
    time: str
    keep_us: int
    kind: Kind = "inner"
    null_aware: bool = False
    output: Edge = field(init=False)
    """The edge that leaves this operator."""
    _versions: KeyedVersions = field(init=False)
    _null_keys: KeyedVersions = field(init=False)
    """Of a null-aware lookup: the versions whose key is NULL."""

    def __post_init__(self) -> None:
        schema = self.left.schema + self.right.schema if self._is_join else self.left.schema
        self.output = replace(self.left, schema=schema)
        reason = "rows meet the version of their time"
        self._versions = choose_for_versions(self.right_keys, reason)
        self._null_keys = choose_for_versions(self.right_keys, reason)

    @property
    def _is_join(self) -> bool:
        """Whether results have the columns of the table."""
        return self.kind in ("inner", "left")

    @property
    def buffers(self) -> Mapping[str, State]:
        buffers: dict[str, State] = {"versions": self._versions}
        return buffers | {"null_keys": self._null_keys} if self.null_aware else buffers

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        left, right = inputs
        if right.rows:
            self._remember(right)
        rows = self._with_hidden(left)
        if rows.num_rows:
            times = np.maximum(int64(rows, self.time), max(BEGINNING, since + 1 - self.keep_us))
            rows = concat([self._met(part, at) for part, at in self._parts(rows, times)])
        elif self._is_join:
            rows = self.output.columns.empty_table()
        for state in (self._versions, self._null_keys):
            state.forget(max(BEGINNING, clock + 1 - self.keep_us))
        self.noted["right_rows"] = self._versions.rows
        return Delta(rows, clock)

    def _with_hidden(self, left: Delta) -> pa.Table:
        """The rows of the left with all columns that its edge says they have."""
        table = left.table
        if self.left.is_weighted and not left.is_weighted:
            table = with_column(table, WEIGHT, left.weight)
        if self.left.has_until and UNTIL not in table.column_names:
            table = with_column(table, UNTIL, left.exp)
        return table

    def _remember(self, changes: Delta) -> None:
        rows = with_unsigned_zeros(changes.table)
        if self.null_aware and self.residual is not None:
            rows = rows.filter(mask_of(self.residual, rows))
        nulls = has_null(rows, self.right_keys)
        if nulls.any():
            if self.null_aware:
                self._null_keys.insert(take(rows, where(nulls)))
            rows = take(rows, where(~nulls))
        self._versions.insert(rows)

    def _parts(self, rows: pa.Table, times: Instants) -> Iterator[tuple[pa.Table, Instants]]:
        """The rows of the left with their times, as many at once as there is room for their pairs."""
        step = rows.num_rows if self.left_keys else max(1, _PAIRS // max(1, self._versions.rows))
        for start in range(0, rows.num_rows, step):
            yield rows.slice(start, step), times[start : start + step]

    def _met(self, rows: pa.Table, times: Instants) -> pa.Table:
        """What the lookup gives for rows of the left."""
        found = list(self._pairs(rows, times))
        if self._is_join:
            tables = [self._result(rows, pairs) for pairs in _netted(found, rows.num_rows)]
            if self.kind == "left":
                tables.append(self._alone(take(rows, where(self._counts(found, rows.num_rows) == 0))))
            return concat(tables) if tables else self.output.columns.empty_table()
        is_met = self._counts(found, rows.num_rows)
        kept = is_met > 0 if self.kind == "semi" else is_met == 0
        if self.null_aware:
            kept &= ~self._is_unknown(rows, times)
        return rows if kept.all() else take(rows, where(kept))

    def _alone(self, rows: pa.Table) -> pa.Table:
        """Rows of the left that have no match."""
        columns = [
            rows.column(f.name) if f.name in rows.column_names else pa.nulls(rows.num_rows, f.type)
            for f in self.output.columns
        ]
        return pa.Table.from_arrays(columns, schema=self.output.columns)

    @staticmethod
    def _counts(found: Sequence[_Pairs], rows: int) -> Numbers:
        """How many rows of the table each row of the left meets."""
        counts = np.zeros(rows, np.int64)
        for pairs in found:
            counts += np.bincount(pairs.at, pairs.weight, rows).astype(np.int64)
        return counts

    def _pairs(self, rows: pa.Table, times: Instants) -> Iterator[_Pairs]:
        """The rows of the left with the versions of their time that they match."""
        for at, stored, stored_at in self._versions.versions(rows, self.left_keys):
            time = times[at]
            is_there = (int64(stored, TS)[stored_at] <= time) & (time < int64(stored, EXP)[stored_at])
            pairs = _Pairs(at, stored, stored_at, int64(stored, WEIGHT)[stored_at])
            if not is_there.all():
                pairs = pairs.part(where(is_there))
            if self.residual is not None and not self.null_aware:
                pairs = pairs.part(where(self._passes(self.residual, rows, pairs)))
            if len(pairs.at):
                yield pairs

    def _passes(self, residual: Expression, rows: pa.Table, pairs: _Pairs) -> Mask:
        read = columns_of(residual)
        left = [name for name in self.left.schema.names if name in read]
        right = [name for name in self.right.schema.names if name in read and name not in left]
        columns = {name: take_column(array_of(rows, name), pairs.at) for name in left}
        columns |= {name: take_column(array_of(pairs.stored, name), pairs.stored_at) for name in right}
        # A condition without columns is the same for all pairs; they are as many as this column has rows.
        table = pa.table({**columns, _ROW: pa.array(pairs.at)})
        passes: Mask = mask_of(residual, table).fill_null(False).to_numpy(zero_copy_only=False)
        return passes

    def _is_unknown(self, rows: pa.Table, times: Instants) -> Mask:
        """Of which rows NOT IN cannot be told: NULL is compared with something."""
        unknown: Mask = np.zeros(rows.num_rows, np.bool_)
        if self._null_keys.rows:
            unknown |= self._null_keys.counts_at(times) > 0
        nulls = where(has_null(rows, self.left_keys))
        if len(nulls):
            unknown[nulls] |= self._versions.counts_at(times[nulls]) > 0
        return unknown

    def _result(self, rows: pa.Table, pairs: _Pairs) -> pa.Table:
        at, stored_at = pairs.at, pairs.stored_at
        hidden = [f for f in self.output.columns if f.name not in self.output.schema]
        if not self.left.is_weighted and (pairs.weight != 1).any():
            at, stored_at = np.repeat(at, pairs.weight), np.repeat(stored_at, pairs.weight)
        left = _taken(rows, at, [*self.left.schema.names, *(f.name for f in hidden)])
        right = take(pairs.stored, stored_at, self.right.schema.names)
        arrays = {name: left.column(name) for name in left.column_names}
        arrays |= {name: right.column(name) for name in right.column_names}
        if self.left.is_weighted and (pairs.weight != 1).any():
            arrays[WEIGHT] = pa.array(int64(left, WEIGHT) * pairs.weight)
        columns = self.output.columns
        return pa.Table.from_arrays([arrays[name] for name in columns.names], schema=columns)


def _taken(rows: pa.Table, at: Positions, names: Sequence[str]) -> pa.Table:
    """The rows at the positions; as they are where that is all of them in their order."""
    is_all = len(at) == rows.num_rows and bool((at == np.arange(len(at))).all())
    return rows.select(names) if is_all else take(rows, at, names)


def _netted(found: Sequence[_Pairs], rows: int) -> Iterator[_Pairs]:
    """The pairs without those that say nothing together: of a version in one chunk that another takes back."""
    negative = [pairs.at[pairs.weight < 0] for pairs in found]
    if not any(map(len, negative)):
        yield from (_in_order(pairs, rows) for pairs in found)
        return
    is_concerned = np.zeros(rows, np.bool_)
    is_concerned[np.concatenate(negative)] = True
    some: list[pa.Table] = []
    for pairs in found:
        concerned = is_concerned[pairs.at]
        rest = pairs.part(where(~concerned))
        if len(rest.at):
            yield _in_order(rest, rows)
        chosen = pairs.part(where(concerned))
        stored = without(take(chosen.stored, chosen.stored_at), TS, EXP, WEIGHT)
        some.append(
            stored.append_column(_ROW, pa.array(chosen.at)).append_column(WEIGHT, pa.array(chosen.weight))
        )
    together = concat(some)
    groups = group_rows(together, [name for name in together.column_names if name != WEIGHT])
    total = np.add.reduceat(int64(together, WEIGHT)[groups.order], groups.starts)
    left = where(total > 0)
    first = groups.first[left]
    if len(left):
        yield _Pairs(int64(together, _ROW)[first], together, first, total[left])


def _in_order(pairs: _Pairs, rows: int) -> _Pairs:
    """The pairs in the order of the left, where each of its rows has at most one: rows are read as they lie."""
    if len(pairs.at) > rows or np.bincount(pairs.at, minlength=1).max() > 1:
        return pairs
    place = np.full(rows, -1, np.int64)
    place[pairs.at] = np.arange(len(pairs.at))
    return pairs.part(place[place >= 0])
