"""The answer of one query on one shard, indexed by key: in cells by the times of rows, or in a log without these.

Every chunk lies in the order of the key, so a reader finds a key in it by bisection. The log of the answer is
partitioned:

* *young* rows came in the pane that the clock is in. They are merged by size, so that an epoch which is short
  against a pane costs what it brings.
* Once a pane is over, the index is *updated*: its rows go to their cells (`index_cells.py`). With `rebuild` a cell
  that rows come to, or in which rows of the panes that are over have left, becomes one new chunk. Without it the
  rows that come to a cell are one more chunk, a run, and runs are dropped when all of their rows are dead: no
  update reads what is there.
* Rows whose end is unknown or never comes are merged by size and never updated. Those of a STRICT answer are all
  of this kind: what takes one back comes as a row of negative weight, and both go when they are merged.

The length of a pane follows from the longest lifetime that was seen. It doubles when rows come that live longer;
the rows of all cells are then divided anew, which happens a logarithmic number of times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import polars as pl
import pyarrow as pa

from panes.answers.answer_index import AnswerIndex
from panes.answers.answer_store import AnswerStore, rows_at
from panes.delta.delta import ALWAYS, EXP, FOREVER, TS, WEIGHT, Delta
from panes.delta.rows import int64, take, where
from panes.state.buffers.chunk import Chunk

CELL = "cell"
"""The label of a chunk that lies in the order of a key; the others lie in the order of expiry."""
_YOUNG, _ENDLESS = -1, -2
"""What is no cell: the rows of the current pane, and those whose end nobody knows."""
_PANE, _FIRST = "pane", "first"
"""Labels: the length of a pane when the chunk was made, and the least time of coming of its rows."""


class IndexedAnswer(AnswerStore):
    """What the deltas of a query add up to, in chunks that lie in the order of the columns of an index."""

    def __init__(self, index: AnswerIndex, chunks: Sequence[Chunk] = ()) -> None:
        super().__init__(chunks)
        self._index = index
        self._pane = max((chunk.labels[_PANE] for chunk in chunks), default=0)
        self.touched_cells = 0
        """The cells that the last update has written."""

    def apply(self, delta: Delta) -> None:
        self._log.drop_through(delta.clock)
        self._begin_with(rows_at(delta.table, delta.clock), delta.clock)

    def _begin_with(self, rows: pa.Table, clock: int) -> None:
        self.touched_cells = 0
        if WEIGHT in rows.column_names:
            self._append(rows, _ENDLESS, clock)
            return
        is_endless = (int64(rows, EXP) == FOREVER) | (int64(rows, TS) <= ALWAYS)
        self._append(take(rows, where(is_endless)), _ENDLESS, clock)
        mortal = take(rows, where(~is_endless)) if is_endless.any() else rows
        if mortal.num_rows:
            self._lengthen(mortal)
        self._append(mortal, _YOUNG, clock)
        if self._pane:
            self._update(clock // self._pane * self._pane, clock)

    def _append(self, rows: pa.Table, partition: int, clock: int) -> None:
        def combined(chunks: Sequence[Chunk]) -> Chunk | None:
            return self._chunk(self._read(chunks, clock), partition)

        chunk = self._chunk(rows, partition)
        if chunk is not None:
            self._log.append(chunk, combined, partial(_is_of, partition))

    def _lengthen(self, rows: pa.Table) -> None:
        """Makes panes long enough for some rows; then all rows that lie in cells are divided anew."""
        pane = self._index.cells.pane_for(int((int64(rows, EXP) - int64(rows, TS)).max()))
        if pane <= self._pane:
            return
        divided = [chunk for chunk in self._log.parts if chunk.labels[CELL] >= 0]
        self._log.parts = [chunk for chunk in self._log.parts if chunk.labels[CELL] < 0]
        self._pane = pane
        self._log.parts += [chunk.labeled(**{CELL: _YOUNG}) for chunk in divided]

    def _update(self, begun: int, clock: int) -> None:
        """Takes the panes that ended before `begun` into the index."""
        young = [chunk for chunk in self._log.parts if _is_of(_YOUNG, chunk)]
        cells = {}
        if any(chunk.labels[_FIRST] < begun for chunk in young):
            self._log.parts = [chunk for chunk in self._log.parts if not _is_of(_YOUNG, chunk)]
            rows = self._read(young, clock)
            is_over = int64(rows, TS) < begun
            cells = dict(self._by_cell(take(rows, where(is_over))))
            rest = self._chunk(take(rows, where(~is_over)), _YOUNG)
            self._log.parts += [] if rest is None else [rest]
        if self._index.rebuild:
            self._rebuild(cells, begun, clock)
        else:
            self.touched_cells = len(cells)
            runs = (self._chunk(rows, cell) for cell, rows in cells.items())
            self._log.parts += [run for run in runs if run is not None]

    def _rebuild(self, cells: dict[int, pa.Table], begun: int, clock: int) -> None:
        """Rewrites the cells that rows come to, and those in which rows left before `begun`."""
        expiring = {chunk.labels[CELL] for chunk in self._log.parts if chunk.low < begun}
        touched = {cell for cell in expiring if cell >= 0} | cells.keys()
        self.touched_cells = len(touched)
        old: dict[int, list[Chunk]] = {cell: [] for cell in touched}
        for chunk in self._log.parts:
            if chunk.labels[CELL] in touched:
                old[chunk.labels[CELL]].append(chunk)
        self._log.parts = [chunk for chunk in self._log.parts if chunk.labels[CELL] not in touched]
        for cell in sorted(touched):
            found = [self._read(old[cell], clock)] if old[cell] else []
            found += [cells[cell]] if cell in cells else []
            rebuilt = self._chunk(pa.concat_tables(found), cell)
            self._log.parts += [] if rebuilt is None else [rebuilt]

    def _by_cell(self, rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        number = self._index.cells.cell_of(int64(rows, TS), int64(rows, EXP), self._pane)
        # The sort is stable, so rows that lie in the order of the key stay in it.
        order = np.argsort(number.astype(np.uint16), kind="stable")
        begin = 0
        for cell, count in enumerate(np.bincount(number)):
            if count:
                yield cell, take(rows, order[begin : begin + count])
                begin += int(count)

    def _read(self, chunks: Sequence[Chunk], clock: int) -> pa.Table:
        """The rows of chunks that are still alive, and of weighted ones their sums."""
        names = chunks[0].table.column_names
        rows = pa.concat_tables([chunk.table.select(names) for chunk in chunks])
        self.touched += rows.num_rows
        return rows_at(rows, clock)

    def _chunk(self, rows: pa.Table, cell: int) -> Chunk | None:
        if not rows.num_rows:
            return None
        first = int(int64(rows, TS).min())
        labels = {CELL: cell, _PANE: self._pane, _FIRST: first}
        return Chunk.of(clustered(rows, self._index.columns), EXP, **labels)


def _is_of(partition: int, chunk: Chunk) -> bool:
    return chunk.labels[CELL] == partition


def clustered(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """The rows in the order of some columns, NULL last."""
    if rows.num_rows < 2:
        return rows
    order = pl.DataFrame(rows.select(list(columns))).select(pl.arg_sort_by(columns, nulls_last=True))
    return take(rows, order.to_series().to_numpy().astype(np.int64))


def answer_store(index: AnswerIndex | None, chunks: Sequence[Chunk] = ()) -> AnswerStore:
    """The answer that some chunks say, with its index if it has one."""
    return AnswerStore(chunks) if index is None else IndexedAnswer(index, chunks)
