"""What a stage keeps for queries whose windows are applied when somebody reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from panes.delta.delta import BEGINNING
from panes.sharing.shared_indexes import Members
from panes.state.buffers.chunk import Chunk

Chunks = Mapping[str, Sequence[Chunk]]
"""The chunks of a store, by buffer."""


@dataclass(frozen=True)
class Arrivals:
    """What comes to a store in an epoch: rows by the name of their input, and the queries that it is kept for."""

    rows: Mapping[str, pa.Table]
    members: Members
    since: int
    """The clock before the epoch."""
    clock: int
    is_first: bool = False
    """Whether the store begins with this epoch: what arrived is then of all times, and has all queries."""

    @property
    def seen_since(self) -> int:
        """The instant after which rows that came late are seen; those of the history say it themselves."""
        return BEGINNING if self.is_first else self.since


class Store(Protocol):
    """The state of one shard. Every epoch brings it up to date once, whatever the number of its queries.

    All that it knows is in `chunks`: a store that is opened over those of another goes on as that would. What an
    answer is made of is asked of the class itself, by whoever reads a query from it.
    """

    @property
    def chunks(self) -> Chunks:
        """What to keep, by buffer. The names are among `FOR_READERS`."""

    @property
    def rows(self) -> int:
        """How much is kept; nothing can change by itself while it is 0."""

    def advance(self, arrivals: Arrivals) -> None:
        """Takes in the queries and the rows of an epoch, and forgets what no query needs any more."""
