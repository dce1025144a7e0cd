"""What an epoch takes in: the rows of streams, the changes of tables, and where its tasks write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from panes.delta.delta import BEGINNING
from panes.history.history_file import HistoryFile
from panes.ingest.arrived_file import ArrivedFile
from panes.ingest.bad_files import BadFile
from panes.plan.schema import Schema
from panes.plan.stream import Stream
from panes.state.storage.locations import Location
from panes.state.storage.segments import SegmentEntry


@dataclass(frozen=True)
class Folders:
    """Where the tasks of an epoch write what is not state."""

    exchange: Path | None
    """None when tables go through Spark's shuffle."""
    aside: Location
    history: Location
    tables: Location


@dataclass(frozen=True)
class TableArrivals:
    """The versions of a table that an epoch may need."""

    columns: Schema
    versions: tuple[SegmentEntry, ...]
    """All of them, for queries that begin in this epoch."""
    new: SegmentEntry | None
    """What changes in this epoch."""


@dataclass(frozen=True)
class Arrivals:
    """The rows of an epoch, by stream: in files that tasks read, or in the batch that Spark has read."""

    streams: Sequence[Stream]
    files: Mapping[int, Sequence[ArrivedFile]] = field(default_factory=dict)
    """By the numbers of the streams whose files are read into Arrow."""
    arrival_us: int = BEGINNING
    """When these rows came, where they have no time of their own."""
    batches: Sequence[Any] = ()
    """The rows of the other streams, in the form of the engine that read them: DataFrames on Spark."""
    history: Mapping[int, Sequence[HistoryFile]] = field(default_factory=dict)
    """Of every stream, for the queries whose first epoch this is."""
    are_history: frozenset[int] = frozenset()
    """The numbers of the streams that keep these files as their history: tasks need not write one."""
    bad_files: Sequence[BadFile] = ()
    """Those that the driver could not read."""
    tables: Mapping[str, TableArrivals] = field(default_factory=dict)
    """By name."""

    @property
    def may_come(self) -> frozenset[int]:
        """The numbers of the streams from which rows may come."""
        return frozenset(
            stream.number for stream in self.streams if (self.files.get(stream.number, self.batches))
        )
