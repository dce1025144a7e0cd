"""A file of rows that a stream keeps, and what is known of it without opening it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from panes.delta.delta import BEGINNING
from panes.delta.delta import CAME as CAME
from panes.state.storage.locations import Location

EPOCH = "_epoch"
"""The epoch in which a tuple came."""

FileKind = Literal["raw", "written", "merged"]
"""raw: as the source had it; written: the stream's columns and `_ts`; merged: these, `_came` and `_epoch`."""


@dataclass(frozen=True)
class HistoryFile:
    """Rows of one stream in the order of their arrival, in one Parquet file."""

    path: Location
    kind: FileKind
    rows: int
    min_ts: int
    max_ts: int
    epoch: int
    """The last epoch that rows of it came in."""
    came: int = BEGINNING
    """The first instant at which any of its rows could be seen."""
    last_came: int = BEGINNING
    """The same for those that came last; it differs from `came` only where files were merged."""
    stored: dict[str, str] = field(default_factory=dict)
    """Of a raw file: under what name it has each column of the stream. One that is not here is all NULL."""

    layout: str = ""
    """Of a raw file: the types of these columns. Files of different types cannot be read as one."""

    bytes: int = 0
    crc32: int | None = None
    """Of the whole file; None of one that a source has brought and that is not kept yet."""

    @property
    def is_raw(self) -> bool:
        """Whether its rows are as the source had them: `_ts` is to be computed, some may have no time."""
        return self.kind == "raw"

    @property
    def first_seen(self) -> int:
        return max(self.min_ts, self.came)

    @property
    def last_seen(self) -> int:
        return max(self.max_ts, self.last_came)

    def as_json(self) -> dict[str, Any]:
        content = asdict(self)
        return content | {"path": self.path.name}

    @classmethod
    def from_json(cls, content: dict[str, Any], folder: Location) -> HistoryFile:
        return cls(**content | {"path": folder / content["path"]})
