"""The one interface of all state, and of all state buffers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy.typing as npt
import pyarrow as pa

from panes.delta.delta import EXP, FOREVER
from panes.state.buffers.chunk import Chunk
from panes.state.log import Log, MergePolicy


def next_expiry(chunks: Iterable[Chunk], clock: int) -> int:
    """The least `_exp` after the clock in chunks that are kept by it; FOREVER when there is none."""
    found = (chunk.next_after(clock) for chunk in chunks if chunk.sort_key == EXP)
    return min((instant for instant in found if instant is not None), default=FOREVER)


class State(ABC):
    """Something to remember: a log of chunks.

    `kind` is what EXPLAIN calls the layout, `reason` a phrase that says why it was chosen, `keys` the columns
    by which rows are found; None where none are. `touched` counts the state rows that calls have read, moved or
    removed since the state was made: the measure by which the layouts differ.
    """

    kind: ClassVar[str]

    def __init__(self, policy: MergePolicy, reason: str, keys: Sequence[str] | None = None) -> None:
        self.reason = reason
        self.keys = None if keys is None else tuple(keys)
        self.touched = 0
        self._log: Log[Chunk] = Log(policy)

    @property
    def chunks(self) -> Sequence[Chunk]:
        """What to keep, for a restart."""
        return tuple(self._log.parts)

    def restore(self, chunks: Sequence[Chunk]) -> None:
        """Takes up the chunks of an earlier state of the same kind, in the same order."""
        self._log.parts = list(chunks)

    def compact(self) -> None:
        """Makes one chunk of all that may be one: to be called when chunks of several states were put together."""
        if self._log.parts:
            self._log.merge_all(self._merged)

    def next_expiry(self, clock: int) -> int:
        """The first instant after the clock at which a row leaves, or at which one that waits falls due; FOREVER
        when there is none."""
        return next_expiry(self._log.parts, clock)

    @abstractmethod
    def _merged(self, chunks: Sequence[Chunk]) -> Chunk | None:
        """One chunk that says what some that follow each other do; None when they say nothing."""

    @property
    def rows(self) -> int:
        return sum(chunk.rows for chunk in self._log.parts)


class Buffer(State):
    """Rows with lifetimes."""

    @abstractmethod
    def insert(self, rows: pa.Table) -> None:
        """Adds rows (value columns and `_exp`, and whatever hidden columns the operator keeps)."""

    @abstractmethod
    def probe(self, keys: pa.Table) -> tuple[npt.NDArray[Any], pa.Table]:
        """The stored rows whose key equals a row of `keys`: for each pair the index into `keys`, and the row."""

    @abstractmethod
    def expire(self, now: int) -> pa.Table:
        """Removes and returns the rows with `_exp <= now`."""

    @abstractmethod
    def remove(self, rows: pa.Table) -> pa.Table:
        """Removes one stored row for each given one that equals it, and returns those removed."""

    @abstractmethod
    def live(self, now: int) -> pa.Table:
        """The rows with `_exp > now`, in the order of insertion where the layout keeps one."""
