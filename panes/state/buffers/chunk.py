"""A chunk: an immutable piece of state, in memory or in a segment file that is opened when first read.

Buffers are made of chunks, and change by adding and dropping whole chunks. So the store of segments writes
the chunks that are new, forgets those that are gone, and never rewrites one that stayed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from panes.delta.delta import EXP

Labels = Mapping[str, int]


class Chunk:
    """Some rows, the range of their `exp`, and labels that its buffer gave it (a partition number, a level).

    `segment` is the name of the file that holds the chunk, once one does.
    """

    def __init__(
        self,
        load: Callable[[], pa.Table],
        *,
        rows: int,
        min_exp: int,
        max_exp: int,
        labels: Labels,
        segment: str | None = None,
    ) -> None:
        self._load = load
        self._table: pa.Table | None = None
        self.rows = rows
        self.min_exp = min_exp
        self.max_exp = max_exp
        self.labels = MappingProxyType(dict(labels))
        self.segment = segment

    @classmethod
    def of(cls, table: pa.Table, **labels: int) -> Chunk:
        """A new chunk over a table with an `_exp` column and at least one row."""
        exp = table.column(EXP).to_numpy()
        return cls(
            lambda: table,
            rows=table.num_rows,
            min_exp=int(np.min(exp)),
            max_exp=int(np.max(exp)),
            labels=labels,
        )

    @property
    def table(self) -> pa.Table:
        if self._table is None:
            self._table = self._load()
        return self._table

    def __repr__(self) -> str:
        return f"Chunk({self.segment or 'new'}, rows={self.rows}, exp={self.min_exp}..{self.max_exp})"
