"""An input and how its rows are dealt out to the tasks of the next level."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from panes.delta.hashing import hash_rows
from panes.delta.rows import take
from panes.sharing.shared_indexes import ForTasks, Members
from panes.stages.fragment import StageInput


@dataclass(frozen=True)
class Route:
    """To the first `shards` tasks by key, or all to one, its home.

    Queries that read the same input in the same way share it.
    """

    source: StageInput
    shards: int
    home: int | None
    members: Members | None = None
    """The queries that share what is computed from it, where it holds rows that are matched with them."""

    def members_for(self, is_history: bool) -> ForTasks | None:
        """The indexes to match rows with: those of the past are for the queries that begin in this epoch."""
        if self.members is None:
            return None
        return self.members.fresh if is_history else self.members.all

    def deal(self, rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """The rows of each shard that has any; those of one shard stay in their order."""
        if self.home is not None:
            yield self.home, rows
        elif self.source.keys:
            yield from _by_hash(rows, self.source.keys, self.shards)
        elif self.source.stage is not None:
            # A retraction must meet what it takes back.
            yield from _by_hash(rows, self.source.node.schema.names, self.shards)
        else:
            step = -(-rows.num_rows // self.shards)
            for shard in range(self.shards):
                yield shard, rows.slice(shard * step, step)


def _by_hash(rows: pa.Table, keys: tuple[str, ...], shards: int) -> Iterator[tuple[int, pa.Table]]:
    if shards == 1:
        yield 0, rows
        return
    # Not the low bits: within a shard, states are sorted and searched by the same hash.
    shard = ((hash_rows(rows, keys) >> np.uint64(20)) % np.uint64(shards)).astype(np.uint16)
    order = np.argsort(shard, kind="stable")
    ends = np.cumsum(np.bincount(shard, minlength=shards))
    for number in range(shards):
        mine = order[0 if number == 0 else ends[number - 1] : ends[number]]
        if len(mine):
            yield number, take(rows, mine)
