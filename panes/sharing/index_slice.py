"""The queries of one group in the index of a stream: their slice of each row of bits."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice

import numpy as np
import pyarrow as pa

from panes.plan.expressions import Column
from panes.plan.nodes import Matched, Signed, StreamScan
from panes.plan.walk import streams_of
from panes.sharing.bits import Ints
from panes.sharing.common_cells import CommonCells
from panes.sharing.group_matcher import GroupMatcher
from panes.sharing.matched_batch import MatchedBatch
from panes.sharing.matches import Matches, columns_of
from panes.sharing.member_block import MOST, MemberBlock
from panes.sharing.named_rows import named_rows
from panes.sharing.predicates import Predicate, predicate_of
from panes.sharing.tuple_batch import TupleBatch
from panes.sharing.windowed_stream import under_its_own_name
from panes.synopses.definition import EVERY, NEVER


@dataclass(frozen=True)
class IndexSlice:
    """The predicates of the queries of a group on one stream of its plan, in blocks of queries.

    Whatever a query calls the stream, here its columns are qualified by the name of the stream, so that all groups
    ask for the same attributes.

    It does not change: `with_members` and `without` give another slice that shares the blocks it can. What they
    cost depends on the queries that come or go, not on how many there are: small blocks are made anew together
    when they have grown to the same size, full ones never; a query that goes leaves a hole.
    """

    node: Matched | Signed
    """The node that stands for the matching; its child says what the columns of tuples are called."""
    blocks: tuple[MemberBlock, ...] = ()
    members: Mapping[int, Predicate] = field(default_factory=dict, repr=False)
    """The queries, and what each asks."""
    is_kept: bool = False
    """Whether the bits of tuples are kept with them: then tuples are matched when they are written."""

    @classmethod
    def of(cls, node: Matched | Signed, members: Mapping[int, Predicate]) -> IndexSlice:
        """A slice of queries by number."""
        return cls(node).with_members(members)

    @classmethod
    def of_signed(cls, node: Signed) -> IndexSlice:
        """A slice of the selections of a synopsis: they go by their numbers, as queries do elsewhere."""
        asked = {
            number: predicate_of(None if predicate == EVERY else predicate)
            for number, predicate in enumerate(node.predicates)
            if predicate != NEVER
        }
        return cls.of(node, asked)

    @property
    def stream(self) -> str | None:
        """The stream whose tuples are matched; None when they are pairs."""
        scan = self.node.child
        return scan.stream if isinstance(scan, StreamScan) else None

    @property
    def source(self) -> str:
        """What the index is called that it is a part of: the stream, or the join that gives the pairs."""
        if self.stream is not None:
            return self.stream
        digest = hashlib.sha256(repr(self.node.child).encode()).hexdigest()[:16]
        return f"{' ⋈ '.join(streams_of(self.node.child))} ({digest})"

    @cached_property
    def queries(self) -> Ints:
        """The query of each column of bits; -1 where there is none."""
        parts = [columns_of(np.where(b.is_alive, b.queries, -1), b.words) for b in self.blocks]
        return np.concatenate([np.zeros(0, np.int64), *parts])

    @cached_property
    def cells(self) -> CommonCells:
        """The cells of the attributes that its queries ask for, where it is matched by itself."""
        return CommonCells(self.blocks)

    def with_members(self, members: Mapping[int, Predicate]) -> IndexSlice:
        """The slice with more queries."""
        names = self._names
        return self._with({query: asked.renamed(names) for query, asked in members.items()})

    def _with(self, members: Mapping[int, Predicate]) -> IndexSlice:
        whole = {**self.members, **members}
        blocks = list(self.blocks)
        for part in _parts_of(members):
            blocks.append(MemberBlock.of(part))
            while len(blocks) > 1 and _belong_together(blocks[-2], blocks[-1]):
                younger, older = blocks.pop(), blocks.pop()
                blocks.append(MemberBlock.of(_of(older, whole) | _of(younger, whole)))
        return replace(self, blocks=tuple(blocks), members=whole)

    def without(self, queries: Iterable[int]) -> IndexSlice:
        """The slice without some queries. A block most of which is gone is made anew."""
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
        return replace(self, blocks=tuple(blocks), members=whole)

    def only(self, queries: Set[int]) -> IndexSlice:
        """A slice of some of the queries; itself when they are all."""
        if queries >= self.members.keys():
            return self
        mine = {query: self.members[query] for query in queries if query in self.members}
        return replace(self, blocks=(), members={})._with(mine)

    def to_ship(self) -> IndexSlice:
        """The slice without the predicates that it was made of: smaller, and it matches as well, but no queries
        can be added to it or taken from it."""
        return replace(self, members={})

    def match(self, rows: pa.Table) -> Matches:
        """Which tuples are for which queries. NULL is not true: such a tuple is for none."""
        return self._matched(TupleBatch(rows, self.stream, self.cells)).matches()

    def over_rows(self, rows: pa.Table) -> GroupMatcher:
        """The queries at work on tuples that no other group is matched with."""
        return self.over_batch(TupleBatch(rows, self.stream, self.cells))

    def over_batch(self, batch: TupleBatch) -> GroupMatcher:
        """The queries at work on tuples whose values are looked up once for all groups."""
        return GroupMatcher(self.node, self._matched(batch))

    def _matched(self, batch: TupleBatch) -> MatchedBatch:
        return MatchedBatch(self.blocks, self.queries, batch)

    def over(self, columns: Set[str]) -> IndexSlice:
        """A slice that asks only what concerns these columns: what it does not let pass, the whole does not."""
        return replace(self, blocks=tuple(block.over(columns) for block in self.blocks))

    def named(self, rows: pa.Table) -> pa.Table:
        """Tuples of a stream with its columns as the plan calls them, `_ts` and, where there is one, `_came`.
        Pairs of tuples are named already."""
        node = self.node.child
        return named_rows(node, rows) if isinstance(node, StreamScan) else rows

    @property
    def _names(self) -> dict[str, Column]:
        """The columns of the stream under its own name, by what the plan calls them."""
        scan = self.node.child
        if not isinstance(scan, StreamScan) or scan.alias == scan.stream:
            return {}
        own = under_its_own_name(scan).schema
        pairs = zip(scan.schema.names, own, strict=True)
        return {name: Column(field.type, field.name) for name, field in pairs}


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
