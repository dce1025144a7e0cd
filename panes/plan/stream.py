"""A base stream: its columns, its event time, and where its tuples come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from panes.plan.durations import MICROSECONDS_IN
from panes.plan.schema import Schema

OptionValue = bool | int | float | str
TimeUnit = Literal["SECONDS", "MILLISECONDS", "MICROSECONDS", "TIMESTAMP"]
SourceKind = Literal["FILES", "RATE", "KAFKA", "PUSH"]

DEFAULT_AHEAD_US = MICROSECONDS_IN["DAY"]


@dataclass(frozen=True)
class TimestampBy:
    """The column that holds event time, and how to read it."""

    column: str
    unit: TimeUnit


@dataclass(frozen=True)
class Source:
    """Where the tuples of a stream come from."""

    kind: SourceKind = "PUSH"
    location: str | None = None
    options: Mapping[str, OptionValue] = field(default_factory=dict)


@dataclass(frozen=True)
class Stream:
    """A base stream as the catalog knows it."""

    name: str
    columns: Schema
    timestamp: TimestampBy | None = None
    slack_us: int = 0
    retain_us: int | None = None
    source: Source = field(default_factory=Source)
    ahead_us: int = DEFAULT_AHEAD_US
    """How far event times may lie ahead of the wall clock; rows beyond that are rejected."""
    idle_advance: bool = False
    """Whether its clock goes on with wall time while it is silent. Tuples that come after that may come late."""
    expires: TimestampBy | None = None
    """The column that says when a tuple leaves, if tuples bring that."""
    created_with: int | None = None
    """How many columns it was created with, when others were added later: files from before lack those. None: with
    all of them."""
    number: int = 0
    """Given by the catalog and never used again. Files and records of a stream go by it: a name can hold anything,
    and a stream that is dropped and created again is another one. 0: not in a catalog."""

    @property
    def added_columns(self) -> tuple[str, ...]:
        """The columns that were added after rows may have come."""
        return () if self.created_with is None else self.columns.names[self.created_with :]
