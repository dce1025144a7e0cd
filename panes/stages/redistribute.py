"""Redistributing the state of a stage: what a shard of a new number of shards takes over from the old ones.

A row goes to the shard to which rows of its key are routed from now on (`placement.py` says what tells its key).
As shards have ranges of buckets, a new shard reads only the old ones that overlap with it. Where rows may lie on
any shard, an old shard moves as a whole, so that all that was made from one row stays together.

Answers need no key: readers add up what all shards have, so a row and its retraction may lie apart. Where the key
is not in the answer, shards keep both: at most a row for each value of the answer that was moved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from panes.delta.hashing import hash_rows
from panes.delta.rows import where
from panes.stages.physical_plan import PhysicalStage
from panes.stages.placement import Anywhere, ByColumns, ByHash, Everywhere, Place, Placement
from panes.stages.routing import overlapping, shards_of
from panes.stages.store_kinds import store_kind
from panes.state.buffers.chunk import Chunk
from panes.state.storage.manifest import ANSWER

States = Mapping[int, Mapping[str, Sequence[Chunk]]]
"""The chunks of some shards, by the number of the shard and the name of the buffer."""


@dataclass(frozen=True)
class Redistribution:
    """The way from `old` shards of a stage to `new` ones."""

    stage: PhysicalStage
    old: int
    new: int

    def sources(self, shard: int) -> list[int]:
        """The old shards that have rows for a new one."""
        found: set[int] = set()
        for place in self._places.values():
            if isinstance(place, (Anywhere, Everywhere)):
                found.update(range(shard, self.old, self.new))
            if not isinstance(place, Anywhere):
                found.update(overlapping(shard, self.new, self.old))
        return sorted(found)

    def chunks(self, shard: int, states: States) -> dict[str, list[Chunk]]:
        """What a new shard begins with, by buffer, from the chunks of its sources.

        Those of one old shard stay in their order.
        """
        kind = store_kind(self.stage.plan)
        whole: dict[str, list[Chunk]] = {}
        if kind is not None and kind.gathered is not None:
            whole = kind.gathered([states[old] for old in range(shard, self.old, self.new)])
        others = {name: place for name, place in self._places.items() if name not in whole}
        return whole | {name: self._moved(name, place, shard, states) for name, place in others.items()}

    @cached_property
    def _places(self) -> Mapping[str, Place]:
        kind = store_kind(self.stage.plan)
        if kind is not None:
            return kind.places(self.stage.plan)
        placement = Placement(self.stage)
        return {**dict(placement.buffers()), ANSWER: placement.answer}

    def _moved(self, name: str, place: Place, shard: int, states: States) -> list[Chunk]:
        if isinstance(place, Anywhere):
            return [c for old in range(shard, self.old, self.new) for c in states[old].get(name, ())]
        if isinstance(place, Everywhere):
            return list(next((chunks for state in states.values() if (chunks := state.get(name))), ()))
        sources = overlapping(shard, self.new, self.old)
        chunks_of = (chunk for old in sources for chunk in states[old].get(name, ()))
        parts = (self._part(chunk, place, shard) for chunk in chunks_of)
        return [part for part in parts if part is not None]

    def _part(self, chunk: Chunk, place: ByColumns | ByHash, shard: int) -> Chunk | None:
        """The rows of a chunk that go to a new shard."""
        if isinstance(place, ByColumns):
            hashes = hash_rows(chunk.table, place.columns)
        else:
            hashes = chunk.table.column(place.column).to_numpy()
        return chunk.part(where(shards_of(hashes, self.new) == np.uint16(shard)))
