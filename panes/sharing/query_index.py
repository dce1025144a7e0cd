"""The index of standing queries: a batch of tuples is matched with all of them at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice

import numpy as np
import pyarrow as pa

from panes.delta.delta import CAME, TS
from panes.delta.rows import take, with_column
from panes.plan.nodes import GroupBy, Matched, StreamScan
from panes.plan.windows import RangeWindow
from panes.sharing.bits import Ints
from panes.sharing.matches import Matches, columns_of
from panes.sharing.member_block import MOST, MemberBlock
from panes.sharing.named_rows import named_rows
from panes.sharing.partial_sums import partial_sums
from panes.sharing.predicates import Predicate
from panes.sharing.tuple_batch import TupleBatch

_AT_ONCE = 1 << 17
"""Tuples that are looked up at once."""


@dataclass(frozen=True)
class QueryIndex:
    """The predicates of the queries of a group on one stream of its plan, in blocks of queries.

    It does not change: `with_members` and `without` give another index that shares the blocks it can. What they
    cost depends on the queries that come or go, not on how many there are: small blocks are made anew together
    when they have grown to the same size, full ones never; a query that goes leaves a hole.
    """

    matched: Matched
    """The node that stands for the matching; its child says what the columns of tuples are called."""
    blocks: tuple[MemberBlock, ...] = ()
    members: Mapping[int, Predicate] = field(default_factory=dict, repr=False)
    """The queries, and what each asks."""

    @classmethod
    def of(cls, matched: Matched, members: Mapping[int, Predicate]) -> QueryIndex:
        """An index of queries by number."""
        return cls(matched).with_members(members)

    @cached_property
    def queries(self) -> Ints:
        """The query of each column of bits; -1 where there is none."""
        parts = [columns_of(np.where(b.is_alive, b.queries, -1), b.words) for b in self.blocks]
        return np.concatenate([np.zeros(0, np.int64), *parts])

    def with_members(self, members: Mapping[int, Predicate]) -> QueryIndex:
        """The index with more queries."""
        whole = {**self.members, **members}
        blocks = list(self.blocks)
        for part in _parts_of(members):
            blocks.append(MemberBlock.of(part))
            while len(blocks) > 1 and _belong_together(blocks[-2], blocks[-1]):
                younger, older = blocks.pop(), blocks.pop()
                blocks.append(MemberBlock.of(_of(older, whole) | _of(younger, whole)))
        return QueryIndex(self.matched, tuple(blocks), whole)

    def without(self, queries: Iterable[int]) -> QueryIndex:
        """The index without some queries. A block most of which is gone is made anew."""
        gone = np.array(sorted(queries), np.int64)
        whole = dict(self.members)
        for query in gone.tolist():
            whole.pop(query, None)
        blocks = []
        for block in self.blocks:
            left = block.without(gone)
            if left is not block:
                count = np.count_nonzero(left.is_alive)
                if not count:
                    continue
                if 2 * count < len(left.queries):
                    left = MemberBlock.of(_of(left, whole))
            blocks.append(left)
        return QueryIndex(self.matched, tuple(blocks), whole)

    def only(self, queries: Iterable[int]) -> QueryIndex:
        """An index of some of the queries."""
        return QueryIndex.of(self.matched, {q: self.members[q] for q in queries if q in self.members})

    def to_ship(self) -> QueryIndex:
        """The index without the predicates that it was made of: smaller, and it matches as well, but no queries
        can be added to it or taken from it."""
        return replace(self, members={})

    def match(self, rows: pa.Table) -> Matches:
        """Which tuples are for which queries. NULL is not true: such a tuple is for none."""
        return Matches(TupleBatch(self.named(rows), self.blocks).match(0, rows.num_rows), self.queries)

    def exploded(self, rows: pa.Table) -> pa.Table:
        """The rows of the Matched node: every tuple once for each query that it is for, with `_ts`."""
        schema = self.matched.schema.arrow
        for name in _hidden(rows):
            schema = schema.append(pa.field(name, pa.int64()))
        parts = [schema.empty_table()]
        for some in self._in_parts(rows):
            batch = TupleBatch(some, self.blocks)
            for start, stop in batch.stretches(0, some.num_rows):
                row, query = Matches(batch.match(start, stop), self.queries).pairs()
                mine = with_column(take(some, row + start), self.matched.query_column, query)
                parts.append(mine.select(schema.names))
        return pa.concat_tables(parts)

    def partials(self, rows: pa.Table, group_by: GroupBy, window: RangeWindow, since: int) -> pa.Table:
        """The partial rows of a group-by over a window over the Matched node, with `_ts` and `_exp`. Rows that
        came after the clock `since` are seen after it, whatever their time.

        They are what PreAggregate would give over the exploded rows, but no tuple is copied for the queries that
        it is for where counts will do.
        """
        parts = [
            partial_sums(some, self.blocks, self.queries, group_by, window, since)
            for some in self._in_parts(rows)
        ]
        return pa.concat_tables(parts)

    def _in_parts(self, rows: pa.Table) -> Iterator[pa.Table]:
        """The tuples in parts, so that the cells of all attributes and blocks take little memory."""
        named = self.named(rows)
        for start in range(0, max(rows.num_rows, 1), _AT_ONCE):
            yield named.slice(start, _AT_ONCE)

    def over(self, columns: Set[str]) -> QueryIndex:
        """An index that asks only what concerns these columns: what it does not let pass, the whole does not."""
        return replace(self, blocks=tuple(block.over(columns) for block in self.blocks))

    def named(self, rows: pa.Table) -> pa.Table:
        """Tuples of a stream with its columns as the plan calls them, `_ts` and, where there is one, `_came`.
        Pairs of tuples are named already."""
        node = self.matched.child
        return named_rows(node, rows) if isinstance(node, StreamScan) else rows


def _hidden(rows: pa.Table) -> list[str]:
    return [name for name in (TS, CAME) if name in rows.column_names]


def _parts_of(members: Mapping[int, Predicate]) -> Iterator[dict[int, Predicate]]:
    rest = iter(members.items())
    while part := dict(islice(rest, MOST)):
        yield part


def _of(block: MemberBlock, members: Mapping[int, Predicate]) -> dict[int, Predicate]:
    """The queries of a block that are still there."""
    return {query: members[query] for query in block.queries[block.is_alive].tolist()}


def _belong_together(block: MemberBlock, younger: MemberBlock) -> bool:
    """Whether two blocks become one. Each query is then moved to a block at least twice as large, so it is moved
    no more than a few times until its block is full."""
    return len(block.queries) <= len(younger.queries) and len(block.queries) + len(younger.queries) <= MOST
