"""The answers of selections: the tuples of a stream once, and for each query which of them are its own."""

from __future__ import annotations

import pyarrow as pa

from panes.delta.delta import CAME, first_seen
from panes.delta.rows import with_column, without
from panes.history.retention import Retained
from panes.sharing.index_slice import IndexSlice
from panes.sharing.matched_blocks import MatchedBlocks
from panes.sharing.store import Arrivals
from panes.sharing.tuple_block import SEEN


class SelectionStore(MatchedBlocks):
    """The tuples of a stream, and the selections that have them.

    State: the tuples of the longest window, and per query and tuple at most one bit.
    """

    def advance(self, arrivals: Arrivals) -> None:
        """Takes in the queries and the tuples of an epoch, and forgets tuples that no query needs any more."""
        members = arrivals.members
        if not arrivals.is_first and members.fresh is not None:
            self.admit(members.fresh[0].value)
        for rows in arrivals.rows.values():
            self.add(rows, members.all[0].value, arrivals.seen_since)
        self.expire(arrivals.since, members.kept[0].all)

    def add(self, rows: pa.Table, index: IndexSlice, since: int) -> None:
        """Takes in the tuples of an epoch whose span begins after `since`, for all queries of the index.

        A tuple of an earlier time came late, and is seen from then on. Those of the history, which say when they
        came, are added with `since=BEGINNING`.
        """
        rows = index.named(rows)
        self.append(without(with_column(rows, SEEN, first_seen(rows, since)), CAME), index)

    def expire(self, since: int, retained: Retained) -> None:
        """Forgets tuple blocks of which no tuple is to be kept after `since`."""
        self.keep(lambda block: retained.keeps(block.low, block.high, since))
