"""Streams to draw: bursts, ties, gaps, NULLs, duplicates, strings and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from panes.delta.delta import TS
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, DOUBLE, STRING

COLUMNS = Schema.of([("k", BIGINT), ("v", DOUBLE), ("w", STRING)])
STREAMS = ("s", "t")

_GAPS = (0, 0, 0, 1, 1, 2, 3, 9)
_K = (0, 1, 2, None)
_V = (0.5, -1.25, 3.0, 0.5, None)
_W = ("a", "b", "", None)
_KINDS = len(STREAMS) * len(_GAPS) * len(_K) * len(_V) * len(_W)


@dataclass(frozen=True)
class Arrivals:
    """What comes on each stream, and the clocks at which it is cut into spans."""

    tables: Mapping[str, pa.Table]
    clocks: Sequence[int]

    def spans(self) -> list[tuple[Mapping[str, pa.Table], int, int]]:
        """The arrivals of each span, with its beginning and its clock."""
        spans = []
        since = 0
        for clock in self.clocks:
            came = {}
            for name, table in self.tables.items():
                ts = table.column(TS).to_numpy()
                came[name] = table.filter(pa.array((ts > since) & (ts <= clock)))
            spans.append((came, since, clock))
            since = clock
        return spans

    def with_clocks(self, clocks: Sequence[int]) -> Arrivals:
        return Arrivals(self.tables, clocks)


@st.composite
def arrivals(draw: st.DrawFn, most_rows: int = 40, most_clocks: int = 4) -> Arrivals:
    # One number per row, which is read as its place in all combinations, makes drawing and shrinking cheap.
    numbers = draw(st.lists(st.integers(0, _KINDS - 1), min_size=1, max_size=most_rows))
    rows: dict[str, list[tuple[object, ...]]] = {name: [] for name in STREAMS}
    now = 1
    for number in numbers:
        number, stream = divmod(number, len(STREAMS))
        number, gap = divmod(number, len(_GAPS))
        number, k = divmod(number, len(_K))
        w, v = divmod(number, len(_V))
        now += _GAPS[gap]
        rows[STREAMS[stream]].append((_K[k], _V[v], _W[w], now))
    tables = {}
    for name, of_stream in rows.items():
        columns = list(zip(*of_stream, strict=True)) or [(), (), (), ()]
        arrays = [pa.array(c, f.type.arrow) for c, f in zip(columns, COLUMNS, strict=False)]
        tables[name] = pa.table([*arrays, pa.array(columns[3], pa.int64())], [*COLUMNS.names, TS])
    cuts = draw(st.sets(st.integers(1, now + 12), min_size=1, max_size=most_clocks))
    return Arrivals(tables, sorted({*cuts, now + 14}))


def rows_at(ts: Sequence[int], **columns: Sequence[object]) -> pa.Table:
    """A table of arrivals written out, for tests of one case."""
    arrays = {name: pa.array(values, COLUMNS[name].type.arrow) for name, values in columns.items()}
    return pa.table(arrays | {TS: pa.array(np.array(ts, np.int64))})
