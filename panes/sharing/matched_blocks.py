"""Rows that are kept once for many queries, and for each query which of them are its own.

This is PSoup's results structure. Predicates are applied when rows come, for all queries at once; windows and
projections when a query is invoked, so each query may have its own. A query that comes later is matched with the
rows that are there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, reduce

import numpy as np
import pyarrow as pa

from panes.delta.consolidate import AT
from panes.delta.delta import FOREVER, TS, WEIGHT
from panes.delta.evaluate import evaluate
from panes.delta.rows import Positions, from_fixed_width, int64, take, take_column, where
from panes.plan.expressions import columns_of
from panes.sharing.bits import Ints
from panes.sharing.index_slice import IndexSlice
from panes.sharing.match_encoding import MOST_TUPLES
from panes.sharing.reading import Reading
from panes.sharing.tuple_block import SEEN, TupleBlock
from panes.state.buffers.chunk import Chunk
from panes.state.log import Log, MergePolicy
from panes.state.storage.manifest import MATCHES, TUPLES


class MatchedBlocks:
    """Rows with `_ts` and `_seen`, and the queries that have them, in tuple blocks.

    State: the rows, and per query and row at most one bit.
    Cost: of a new row, its bits; of a new query, a pass over the rows that are there, for its own predicate; of an
        answer, its own bitmap over the blocks that its window touches and the rows of the answer.
    """

    def __init__(self, chunks: Mapping[str, Sequence[Chunk]] | None = None) -> None:
        chunks = chunks or {}
        blocks = TupleBlock.restored(chunks.get(TUPLES, ()), chunks.get(MATCHES, ()))
        self._log = Log(MergePolicy(most=MOST_TUPLES), blocks)

    @property
    def chunks(self) -> dict[str, list[Chunk]]:
        """What to keep, by buffer."""
        return {
            TUPLES: [block.tuples for block in self._log.parts],
            MATCHES: [chunk for block in self._log.parts for chunk in block.matches],
        }

    @property
    def rows(self) -> int:
        """The rows that are kept."""
        return sum(block.rows for block in self._log.parts)

    def append(self, rows: pa.Table, index: IndexSlice, queries: Ints | None = None) -> None:
        """Takes in rows that are named as the index wants them, for all of its queries. `queries` are all that are
        there, if the index holds only some of them."""
        queries = index.queries if queries is None else queries
        rows = _in_order_of_time(rows)
        for start in range(0, rows.num_rows, MOST_TUPLES):
            block = TupleBlock.of(self._next_number(), rows.slice(start, MOST_TUPLES).combine_chunks())
            block.note(*index.match(block.tuples.table).by_query())
            self._log.append(block, partial(_as_one, queries=queries))
        for block in self._log.parts:
            block.forget_gone(queries)

    def admit(self, index: IndexSlice) -> None:
        """Matches new queries with the rows that are there; the index holds only those."""
        for _ in self.admitted(index):
            pass

    def admitted(self, index: IndexSlice) -> Iterator[pa.Table]:
        """`admit`, which gives the rows that any of the new queries has, block by block."""
        for block in self._log.parts:
            matches = index.match(block.tuples.table)
            block.note(*matches.by_query())
            yield take(block.tuples.table, where(matches.is_for_any))

    def keep(self, is_kept: Callable[[TupleBlock], bool]) -> None:
        """Forgets all other tuple blocks."""
        self._log.parts = [block for block in self._log.parts if is_kept(block)]

    def answer(self, query: int, reading: Reading, now: int) -> pa.Table:
        """What a query holds at an instant."""
        parts = []
        for block, is_inside in self._touched_by(reading, now):
            mine = block.of_query(query)
            if mine is None:
                continue
            if not is_inside:
                enters, leaves = reading.lifetime(block, mine)
                mine = mine[(enters <= now) & (now < leaves)]
            parts.append((block, mine))
        return _projected(parts, reading)

    def changes(self, query: int, reading: Reading, since: int, clock: int, *, born: int) -> pa.Table:
        """What comes into the answer and goes from it after `since` and up to `clock`: the columns, when (`_at`,
        in microseconds) and how (`_weight`, 1 or -1). Nothing was in the answer up to the instant `born`."""
        parts, instants, weights = [], [], []
        for block in self._log.parts:
            mine = block.of_query(query)
            if mine is None:
                continue
            enters, leaves = reading.lifetime(block, mine)
            enters = np.maximum(enters, born + 1)
            for at, weight in ((enters, 1), (leaves, -1)):
                some = where((since < at) & (at <= clock) & (enters < leaves) & (at < FOREVER))
                parts.append((block, mine[some]))
                instants.append(at[some])
                weights.append(np.full(len(some), weight))
        table = _projected(parts, reading)
        table = table.append_column(AT, pa.array(_joined(instants), pa.int64()))
        return table.append_column(WEIGHT, pa.array(_joined(weights), pa.int64()))

    def _touched_by(self, reading: Reading, now: int) -> Iterator[tuple[TupleBlock, bool]]:
        """The tuple blocks that may have rows in the window, and whether all of theirs are."""
        if not self._log.parts:
            return
        ends = reading.lifetimes(self._log.parts)
        may_hold = (ends.first_enters <= now) & (now < ends.last_leaves)
        holds = (ends.last_enters <= now) & (now < ends.first_leaves)
        for number in np.flatnonzero(may_hold).tolist():
            yield self._log.parts[number], bool(holds[number])

    def _next_number(self) -> int:
        return 1 + max((block.number for block in self._log.parts), default=-1)


def _as_one(blocks: Sequence[TupleBlock], queries: Ints) -> TupleBlock:
    """Tuple blocks that follow each other as one, with the entries of those queries that are still there."""
    *older, youngest = blocks
    return reduce(lambda younger, block: block.followed_by(younger, queries), reversed(older), youngest)


def _in_order_of_time(rows: pa.Table) -> pa.Table:
    ts = int64(rows, TS)
    return rows if (ts[1:] >= ts[:-1]).all() else take(rows, np.argsort(ts, kind="stable"))


def _projected(parts: Sequence[tuple[TupleBlock, Positions]], reading: Reading) -> pa.Table:
    """The columns of a query over some of its rows."""
    read = sorted(frozenset().union(*(columns_of(expression) for _, expression in reading.columns)))
    columns = {name: _gathered(parts, name, reading.kept[name].type.arrow) for name in read}
    # Where nothing is read, a table must still know its length.
    count = sum(len(positions) for _, positions in parts)
    table = pa.table(columns or {SEEN: np.zeros(count, np.int8)})
    return pa.table(
        [evaluate(expression, table) for _, expression in reading.columns], schema=reading.schema.arrow
    )


def _gathered(parts: Sequence[tuple[TupleBlock, Positions]], name: str, kind: pa.DataType) -> pa.Array:
    """A column of some tuples."""
    numbers = [block.numbers(name) for block, _ in parts]
    if not parts or any(values is None for values in numbers):
        taken = [take_column(block.column(name), positions) for block, positions in parts]
        return pa.chunked_array(taken, kind)
    pairs = zip(numbers, parts, strict=True)
    return from_fixed_width(
        np.concatenate([values[positions] for values, (_, positions) in pairs if values is not None]), kind
    )


def _joined(arrays: Sequence[Positions]) -> Positions:
    return np.concatenate([np.zeros(0, np.int64), *arrays])
