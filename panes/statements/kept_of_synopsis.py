"""What the last epoch has kept of a synopsis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from panes.answers.seen_signatures import seen_signatures
from panes.plan.nodes import SIGNATURE, GroupBy
from panes.state.buffers.chunk import Chunk
from panes.state.storage.manifest import PANES
from panes.statements.context import Context


@dataclass(frozen=True)
class KeptOfSynopsis:
    """How much there is of it on all shards."""

    groups: int = 0
    signatures: int = 0
    """How many tuples have that it has seen: 1 where all queries have the same selection."""
    bytes: int = 0


def kept_of_synopsis(running: int, group_by: GroupBy, context: Context) -> KeptOfSynopsis:
    """What is kept of the synopsis with these sums, of a group that runs under a number."""
    latest = context.connection.log.latest()
    ran = None if latest is None else latest.queries.get(running)
    if ran is None:
        return KeptOfSynopsis()
    open_segments = context.connection.readers.segments
    shards = range(ran.answer.shards(ran.spread))
    chunks = [chunk for s in shards for chunk in open_segments.chunks(ran.answer, s, ran.epoch)[PANES]]
    keys = group_by.keys
    own = [key for key in keys if key != SIGNATURE]
    seen = seen_signatures(open_segments, ran)
    return KeptOfSynopsis(_different(own, chunks), len(chunks[:1]) if seen is None else seen, ran.bytes)


def _different(keys: list[str], chunks: Sequence[Chunk]) -> int:
    """How many different values columns have; without columns whether there are any rows."""
    if not chunks or not keys:
        return len(chunks[:1])
    return pl.concat(_columns(keys, chunks)).n_unique()


def _columns(keys: list[str], chunks: Sequence[Chunk]) -> Iterator[pl.DataFrame]:
    return (pl.DataFrame(chunk.table.select(keys)) for chunk in chunks)
