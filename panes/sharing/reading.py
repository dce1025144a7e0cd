"""What a query asks of rows that are kept for many: a window, and columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from panes.delta.delta import Instants
from panes.delta.rows import Positions
from panes.plan.schema import Schema
from panes.sharing.stateless import Columns
from panes.sharing.tuple_block import TupleBlock


@dataclass(frozen=True)
class BlockLifetimes:
    """When rows of tuple blocks enter a window and leave it: of each block bounds of both."""

    first_enters: Instants
    last_enters: Instants
    first_leaves: Instants
    last_leaves: Instants


class Reading(Protocol):
    """A query over rows that are kept: which of them are its own is known, what is left is applied here."""

    @property
    def columns(self) -> Columns:
        """What it gives, over the kept columns."""

    @property
    def schema(self) -> Schema: ...

    @property
    def is_distinct(self) -> bool:
        """Whether equal rows of its answer, of all shards, are one."""

    @property
    def kept(self) -> Schema:
        """The columns that are kept."""

    def lifetime(self, block: TupleBlock, positions: Positions) -> tuple[Instants, Instants]:
        """The instants at which some rows of a block enter the window and leave it."""

    def lifetimes(self, blocks: Sequence[TupleBlock]) -> BlockLifetimes:
        """Bounds for all rows of some blocks."""
