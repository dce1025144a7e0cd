"""The distinct values of several tables at once, and what the state knows of each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from panes.delta.delta import BEGINNING, EXP, Instants
from panes.delta.hashing import HASH, hash_rows
from panes.delta.keys import group_rows
from panes.delta.rows import Positions, concat, from_fixed_width, int64, take, where
from panes.state.buffers.chunked import ChunkedBuffer, matching


class NumberedValues:
    """Numbers the distinct values of some tables, whole rows of which are compared (NULL equals NULL).

    `codes[i]` numbers the rows of the i-th table. `order` lists the rows of all tables, one after the other, by
    these numbers; `ordered_codes` are the numbers in this order, and `starts` says where each begins. Columns are
    matched by place and go by the names given.
    """

    def __init__(self, tables: Sequence[pa.Table], names: Sequence[str]) -> None:
        self._names = list(names)
        rows = concat([table.rename_columns(self._names) for table in tables])
        hashes = hash_rows(rows, self._names)
        groups = group_rows(rows, self._names, hashes)
        self._ends = np.cumsum([0, *(table.num_rows for table in tables)])
        self._groups = groups
        self.count = groups.count
        self.order, self.ordered_codes, self.starts = groups.order, groups.ordered_codes, groups.starts
        self._rows = rows
        # Codes are given in the order of hashes, unless keys that share a hash had to be told apart.
        self._first = groups.first
        self._row_hashes = hashes
        self._hashes = hashes[self._first]
        self._is_sorted = bool((self._hashes[1:] >= self._hashes[:-1]).all())
        self._by_hash: Positions | None = None if self._is_sorted else np.argsort(self._hashes)

    @cached_property
    def codes(self) -> list[Positions]:
        """The numbers of the rows of each table."""
        return np.split(self._groups.codes, self._ends[1:-1])

    @cached_property
    def _values(self) -> pa.Table:
        """The values, by number."""
        return take(self._rows, self._first)

    def take(self, codes: Positions, *, with_hash: bool = False) -> pa.Table:
        """The values of these numbers, as rows; `with_hash`, of rising numbers, makes them ready for state."""
        # Values that something was looked up by lie in the order of their numbers, which is faster to read.
        has_values = "_values" in vars(self)
        rows = take(self._values, codes) if has_values else take(self._rows, self._first[codes])
        if with_hash and self._is_sorted:
            rows = rows.append_column(HASH, from_fixed_width(self._hashes[codes], pa.uint64()))
        return rows

    def clustered(self, number: int, rows: pa.Table) -> pa.Table:
        """Rows that stand for those of one of the tables, ready for state keyed by the whole value."""
        if not self._is_sorted:
            return rows
        begin, end = self._ends[number], self._ends[number + 1]
        order = self.order[where((self.order >= begin) & (self.order < end))]
        hashes = from_fixed_width(self._row_hashes[order], pa.uint64())
        return take(rows, order - begin).append_column(HASH, hashes)

    @cached_property
    def _needles(self) -> pa.Table:
        """The values, sorted by hash, to be looked up in states."""
        values, hashes = self._values, self._hashes
        if self._by_hash is not None:
            values, hashes = take(values, self._by_hash), hashes[self._by_hash]
        return values.append_column(HASH, from_fixed_width(hashes, pa.uint64()))

    def _numbers(self, needles: Positions) -> Positions:
        """The numbers of the values at these places of `_needles`."""
        return needles if self._by_hash is None else self._by_hash[needles]

    def stored(
        self, state: ChunkedBuffer, columns: Sequence[str], *, after: int = BEGINNING
    ) -> tuple[Positions, list[Instants]]:
        """The rows that a state keyed by the whole value holds of these values, with `_exp > after`: for each
        the number of its value, and the asked columns."""
        codes: list[Positions] = [np.zeros(0, dtype=np.int64)]
        found: list[list[Instants]] = [[np.zeros(0, dtype=np.int64)] for _ in columns]
        for at, table, stored_at in state.matches(self._needles, self._names):
            if after > BEGINNING:
                is_alive = int64(table, EXP)[stored_at] > after
                if not is_alive.all():
                    alive = where(is_alive)
                    at, stored_at = at[alive], stored_at[alive]
            codes.append(self._numbers(at))
            for column, name in zip(found, columns, strict=True):
                column.append(int64(table, name)[stored_at])
        return np.concatenate(codes), [np.concatenate(column) for column in found]

    def found_in(self, clustered: pa.Table) -> tuple[Positions, Positions]:
        """The rows of a clustered table that are among these values: their numbers, and where they are."""
        at, _, rows = matching(self._needles, self._names, clustered, self._names, nulls_equal=True)
        return self._numbers(at), rows
