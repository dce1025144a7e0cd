"""The manifest of all tables at one epoch: which transactions are applied, and the segments of versions.

An epoch that applies transactions writes one. Its record pins it, and those of the epochs after it do until there
is another one. A manifest names the one before it, and what that had and it has not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from panes.delta.delta import BEGINNING
from panes.state.storage.files import make_folder
from panes.state.storage.heads import NO_HEAD, Head, numbered
from panes.state.storage.locations import Location
from panes.state.storage.records import damaged, read_record, write_record
from panes.state.storage.segments import SegmentEntry

PIN = "tables"
"""Under which name the record of an epoch pins the manifest."""
FOLDER = "manifests"


@dataclass(frozen=True)
class TableEntry:
    """What is kept of one table."""

    segments: tuple[SegmentEntry, ...] = ()
    """Old to young."""
    settled_to: int = BEGINNING
    """What the table was before that instant, by the clock of the furthest stream, is no longer known."""


@dataclass(frozen=True)
class TableManifest:
    head: Head = NO_HEAD
    applied: int = 0
    """The number of the last transaction that is applied."""
    tables: Mapping[int, TableEntry] = field(default_factory=dict)
    """By number."""
    effective: Mapping[int, int] = field(default_factory=dict)
    """By stream, the instant at which what was applied last takes effect, unless AT TIMESTAMP names a later
    one."""
    before: Head = NO_HEAD
    released: tuple[str, ...] = ()
    """The segments that the manifest before has, and this one has not."""

    def of(self, table: int) -> TableEntry:
        return self.tables.get(table, TableEntry())

    def written(self, folder: Location, epoch: int, writer: str) -> TableManifest:
        """Stores it as that of an attempt at an epoch; gives it with its place."""
        make_folder(folder / FOLDER)
        content = {
            "applied": self.applied,
            "tables": {
                number: [entry.settled_to, *(segment.as_json() for segment in entry.segments)]
                for number, entry in self.tables.items()
            },
            "effective": self.effective,
            "released": list(self.released),
            "after": self.before.epoch,
            "after_writer": self.before.writer,
        }
        checksum = write_record(
            path_of(folder, epoch, writer), _record_name(epoch), content, self.before.checksum
        )
        return replace(self, head=Head(epoch, checksum, writer))

    @classmethod
    def read(cls, folder: Location, head: Head) -> TableManifest:
        """The manifest that is pinned; the one of no tables when nothing is."""
        if head == NO_HEAD:
            return NO_MANIFEST
        path = path_of(folder, head.epoch, head.writer)
        record = read_record(path, _record_name(head.epoch), head.checksum)
        try:
            return _decoded(record.content, head, record.before)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise damaged(path, f"not a manifest of tables: {error}") from error


NO_MANIFEST = TableManifest()


def path_of(folder: Location, epoch: int, writer: str) -> Location:
    return folder / FOLDER / f"{numbered('epoch', epoch, writer)}.json"


def _decoded(content: dict[str, Any], head: Head, before: str) -> TableManifest:
    tables = {
        int(number): TableEntry(tuple(SegmentEntry(*segment) for segment in segments), settled_to)
        for number, (settled_to, *segments) in content["tables"].items()
    }
    return TableManifest(
        head,
        int(content["applied"]),
        tables,
        {int(stream): int(instant) for stream, instant in content["effective"].items()},
        Head(int(content["after"]), before, str(content["after_writer"])),
        tuple(content["released"]),
    )


def _record_name(epoch: int) -> str:
    return f"tables of epoch {epoch}"
