"""A chunk: an immutable piece of state, in memory or in a segment file that is opened when first read.

Buffers are made of chunks, and change by adding and dropping whole chunks. So the store of segments writes
the chunks that are new, forgets those that are gone, and never rewrites one that stayed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panes.delta.delta import EXP
from panes.delta.rows import Positions, array_of, fixed_width, take

Labels = Mapping[str, int]


class Chunk:
    """Some rows, the range of their sort key, and labels that its store gave it.

    `sort_key` is the column by which the rows of a store leave or are looked for: mostly `_exp`; in a table of
    accumulators the hash of the key, in the store of selections the event time and the query. `low` and `high`
    are its least and its greatest value: by them a reader knows whether the chunk has to be opened at all.

    `segment` is the name of the file that holds the chunk, once one does.
    """

    def __init__(
        self,
        load: Callable[[], pa.Table],
        *,
        rows: int,
        sort_key: str,
        low: int,
        high: int,
        labels: Labels,
        segment: str | None = None,
    ) -> None:
        self._load = load
        self._table: pa.Table | None = None
        self._numbers: dict[str, npt.NDArray[Any]] = {}
        self.rows = rows
        self.sort_key = sort_key
        self.low = low
        self.high = high
        self.labels = MappingProxyType(dict(labels))
        self.segment = segment

    @classmethod
    def of(cls, table: pa.Table, sort_key: str = EXP, **labels: int) -> Chunk:
        """A new chunk over a table with at least one row."""
        values = table.column(sort_key).to_numpy()
        return cls._of(table, sort_key, np.min(values), np.max(values), labels)

    @classmethod
    def of_sorted(cls, table: pa.Table, sort_key: str = EXP, **labels: int) -> Chunk:
        """`of`, for a table that is sorted by the sort key."""
        values = table.column(sort_key)
        return cls._of(table, sort_key, values[0].as_py(), values[-1].as_py(), labels)

    @classmethod
    def _of(cls, table: pa.Table, sort_key: str, low: int, high: int, labels: Labels) -> Chunk:
        return cls(
            lambda: table,
            rows=table.num_rows,
            sort_key=sort_key,
            low=int(low),
            high=int(high),
            labels=labels,
        )

    def part(self, rows: Positions) -> Chunk | None:
        """A new chunk with some of the rows, in their order; None when there are none."""
        if not len(rows):
            return None
        chosen = take(self.table, rows)
        return Chunk.of(chosen, self.sort_key, **self.labels)

    def labeled(self, **labels: int) -> Chunk:
        """A new chunk with the same rows and other values of some labels."""
        return Chunk(
            lambda: self.table,
            rows=self.rows,
            sort_key=self.sort_key,
            low=self.low,
            high=self.high,
            labels={**self.labels, **labels},
        )

    def next_after(self, instant: int) -> int | None:
        """The least sort key that is greater than a value; None when all are at most that. The rows are read only
        where some are, and others are not."""
        if self.low > instant or self.high <= instant:
            return self.low if self.low > instant else None
        values = self.numbers(self.sort_key)
        return int(np.min(values[values > instant]))

    def open(self) -> None:
        """Has the rows ready for whoever asks for them."""
        if self._table is None:
            self._table = self._load()

    @property
    def table(self) -> pa.Table:
        self.open()
        assert self._table is not None
        return self._table

    def numbers(self, name: str) -> npt.NDArray[Any]:
        """A column of fixed width without NULL, as numpy: a chunk never changes, and is asked in every span."""
        numbers = self._numbers.get(name)
        if numbers is None:
            found = fixed_width(array_of(self.table, name))
            assert found is not None
            numbers = self._numbers[name] = found
        return numbers

    def __repr__(self) -> str:
        return f"Chunk({self.segment or 'new'}, rows={self.rows}, {self.sort_key}={self.low}..{self.high})"
