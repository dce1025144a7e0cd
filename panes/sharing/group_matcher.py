"""The queries of one group at work on a batch of tuples: what operators before a shuffle ask of the index."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from panes.delta.delta import CAME, TS
from panes.delta.rows import take, with_column
from panes.plan.nodes import GroupBy, Matched, Signed
from panes.plan.windows import RangeWindow
from panes.sharing.matched_batch import MatchedBatch
from panes.sharing.matches import Matches
from panes.sharing.named_rows import named_rows
from panes.sharing.partial_sums import partial_sums
from panes.sharing.signed_rows import signed_rows

_AT_ONCE = 1 << 17
"""Tuples that get their signatures at once."""


@dataclass(frozen=True)
class GroupMatcher:
    """What is made of the tuples of a batch for the queries of a group. The rows that its methods get are these
    tuples, as the plan of the group has them."""

    node: Matched | Signed
    batch: MatchedBatch

    def exploded(self, rows: pa.Table) -> pa.Table:
        """The rows of the Matched node: every tuple once for each query that it is for, with `_ts`."""
        assert isinstance(self.node, Matched)
        named = named_rows(self.node.child, rows)
        schema = self.node.schema.arrow
        for name in (TS, CAME):
            if name in rows.column_names:
                schema = schema.append(pa.field(name, pa.int64()))
        parts = [schema.empty_table()]
        for start, stop in self.batch.stretches(0, self.batch.count):
            row, query = Matches(self.batch.match(start, stop), self.batch.queries).pairs()
            mine = with_column(take(named, row + start), self.node.query_column, query)
            parts.append(mine.select(schema.names))
        return pa.concat_tables(parts)

    def partials(self, rows: pa.Table, group_by: GroupBy, window: RangeWindow, since: int) -> pa.Table:
        """The partial rows of a group-by over a window over the Matched node, with `_ts` and `_exp`. Rows that
        came after the clock `since` are seen after it, whatever their time.

        They are what PreAggregate would give over the exploded rows, but no tuple is copied for the queries that
        it is for where counts will do.
        """
        return partial_sums(named_rows(self.node.child, rows), self.batch, group_by, window, since)

    def signed(self, rows: pa.Table) -> pa.Table:
        """The rows that pass any of the selections, with their signatures in front."""
        assert isinstance(self.node, Signed)
        count = len(self.node.predicates)
        parts = []
        for start in range(0, max(self.batch.count, 1), _AT_ONCE):
            stop = min(start + _AT_ONCE, self.batch.count)
            matches = Matches(self.batch.match(start, stop), self.batch.queries)
            parts.append(signed_rows(rows.slice(start, _AT_ONCE), matches, count))
        return pa.concat_tables(parts)
