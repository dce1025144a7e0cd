"""An input of a stage, and how its rows are routed to the tasks of the next level."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panes.delta.hashing import BUCKETS, Hashes, buckets_of, hash_rows
from panes.delta.rows import take
from panes.stages.partitioning import Keys
from panes.stages.physical_plan import PhysicalInput

RouteKey = tuple[str | None, str | None, str | None, str, Keys, bool, int, int | None, int | None]


@dataclass(frozen=True)
class Route:
    """Where the rows of an input go: to the tasks of `shards` shards by key, or to each of them, or all to one
    task, `only_task`."""

    source: PhysicalInput
    shards: int
    only_task: int | None
    group: int | None = None
    """The number of the plan with whose queries rows are matched, where they are."""

    @property
    def key(self) -> RouteKey:
        """Queries whose routes have equal keys read the same input in the same way."""
        source = self.source
        return (
            source.stream,
            source.table,
            source.looked_up_by,
            source.fragment.digests[-1],
            source.keys,
            source.is_whole,
            self.shards,
            self.only_task,
            self.group,
        )

    def hashes(self, rows: pa.Table) -> Hashes:
        """The hash of the routing keys of each row."""
        return hash_rows(rows, self.source.keys)

    def split(self, rows: pa.Table, hashes: Hashes | None = None) -> Iterator[tuple[int, pa.Table]]:
        """The rows of each shard that has any; those of one shard stay in their order. `hashes` are those of the
        routing keys, if they are known already."""
        if self.only_task is not None:
            yield self.only_task, rows
        elif self.source.is_whole:
            yield from ((shard, rows) for shard in range(self.shards))
        elif self.source.keys:
            yield from _by_hash(rows, self.source.keys, self.shards, hashes)
        elif self.source.stream is None:
            # A retraction must meet what it takes back.
            yield from _by_hash(rows, self.source.fragment.output.names, self.shards)
        else:
            step = -(-rows.num_rows // self.shards)
            for shard in range(self.shards):
                yield shard, rows.slice(shard * step, step)


def shards_of(hashes: Hashes, shards: int) -> npt.NDArray[np.uint16]:
    """The shard of each hash. A shard has a range of buckets, so that one of another number of shards overlaps
    with few of them."""
    return (buckets_of(hashes) * np.uint64(shards) // np.uint64(BUCKETS)).astype(np.uint16)


def overlapping(shard: int, shards: int, others: int) -> range:
    """Which of `others` shards have buckets of a shard of `shards`."""
    first = -(-shard * BUCKETS // shards)
    last = -(-(shard + 1) * BUCKETS // shards) - 1
    return range(first * others // BUCKETS, last * others // BUCKETS + 1)


def _by_hash(
    rows: pa.Table, keys: tuple[str, ...], shards: int, hashes: Hashes | None = None
) -> Iterator[tuple[int, pa.Table]]:
    if shards == 1:
        yield 0, rows
        return
    shard = shards_of(hash_rows(rows, keys) if hashes is None else hashes, shards)
    order = np.argsort(shard, kind="stable")
    ends = np.cumsum(np.bincount(shard, minlength=shards))
    for number in range(shards):
        mine = order[0 if number == 0 else ends[number - 1] : ends[number]]
        if len(mine):
            yield number, take(rows, mine)
