"""The stored answers of queries that are refreshed by deadline, on one shard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from panes.delta.delta import TS
from panes.delta.rows import int64, take, where
from panes.plan.nodes import QUERY
from panes.state.buffers.chunk import Chunk
from panes.state.log import Log, MergePolicy


class RefreshedAnswers:
    """The merged partial rows of the windows that were refreshed last.

    Aggregates, HAVING and projection of a query are applied to its rows when somebody reads them, so queries that
    ask for different things can lie in one table.

    State: for each query the rows of its last refresh. Those of earlier ones stay until chunks are merged, but no
        more of them than there are rows that count.
    Cost: of a refresh, its rows, and a logarithmic number of times again as chunks are merged.
    """

    def __init__(self, chunks: Iterable[Chunk] = ()) -> None:
        self._log = Log(MergePolicy(), chunks)

    @property
    def chunks(self) -> list[Chunk]:
        return self._log.parts

    def put(self, found: Mapping[int, pa.Table], shown: Mapping[int, int]) -> None:
        """Takes in the rows of some queries. `shown` says of which slide the answer of each query is from now on;
        rows of others are of queries that are gone, or of earlier refreshes."""
        tables = [_of_query(rows, query, shown[query]) for query, rows in sorted(found.items())]
        tables = [table for table in tables if table.num_rows]
        slides = _Slides(shown)
        if tables:
            added = Chunk.of_sorted(pa.concat_tables(tables).combine_chunks(), QUERY)
            self._log.append(added, slides.combined)
        if self._is_half_dead(slides):
            self._log.merge_all(slides.combined)

    def rows(self, query: int, slide: int) -> list[pa.Table]:
        """The rows of a query as of the slide that it was refreshed for."""
        found = []
        for chunk in self._log.parts:
            if chunk.low <= query <= chunk.high:
                first, end = np.searchsorted(int64(chunk.table, QUERY), (query, query + 1))
                rows = chunk.table.slice(int(first), int(end - first))
                found.append(take(rows, where(int64(rows, TS) == slide)).drop_columns([QUERY, TS]))
        return found

    def _is_half_dead(self, slides: _Slides) -> bool:
        rows = sum(chunk.rows for chunk in self._log.parts)
        return rows > 2 * sum(len(slides.alive(chunk.table)) for chunk in self._log.parts)


class _Slides:
    """Of which slide the answer of each query is."""

    def __init__(self, shown: Mapping[int, int]) -> None:
        self._queries = np.array(sorted(shown), np.int64)
        self._slides = np.array([shown[query] for query in sorted(shown)], np.int64)

    def alive(self, rows: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The places of the rows that count."""
        if not len(self._queries):
            return np.zeros(0, np.int64)
        queries = int64(rows, QUERY)
        places = np.minimum(np.searchsorted(self._queries, queries), len(self._queries) - 1)
        counts = (self._queries[places] == queries) & (self._slides[places] == int64(rows, TS))
        return np.flatnonzero(counts)

    def combined(self, chunks: Sequence[Chunk]) -> Chunk | None:
        """One chunk of the rows that count; None when there are none."""
        tables = [take(chunk.table, self.alive(chunk.table)) for chunk in chunks]
        rows = pa.concat_tables(tables)
        if not rows.num_rows:
            return None
        return Chunk.of_sorted(take(rows, np.argsort(int64(rows, QUERY), kind="stable")), QUERY)


def _of_query(rows: pa.Table, query: int, slide: int) -> pa.Table:
    for name, value in ((QUERY, query), (TS, slide)):
        rows = rows.append_column(name, pa.array(np.full(rows.num_rows, value, np.int64)))
    return rows
