"""Versions of a table: rows with the epoch that applied them, as segments that have all it takes to read them.

A segment has the columns of the table, `_weight` (positive: inserted, negative: deleted), `_epoch` and `_at`. With
the rows it has the clocks of streams before these epochs, from which follows when each takes effect.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from panes.delta.delta import TS, WEIGHT
from panes.delta.rows import concat, int64, with_column, without
from panes.plan.schema import Schema
from panes.state.buffers.chunk import Chunk
from panes.state.storage.files import make_folder
from panes.state.storage.locations import Location, parent_of
from panes.state.storage.object_cache import write_object
from panes.state.storage.segments import SegmentEntry, encode_segment, entry_of, open_segment
from panes.tables.version_clocks import AT, EPOCH, VersionClocks

_CLOCKS = b"clocks"
"""Under which name the metadata of a segment has the clocks."""


@dataclass(frozen=True)
class Versions:
    """Some versions of one table."""

    rows: pa.Table
    """The columns of the table, `_weight`, `_epoch` and `_at`."""
    clocks: VersionClocks

    def effective(self, streams: Set[int]) -> pa.Table:
        """The rows with the instant at which each takes effect for a query over some streams: the columns,
        `_weight` and `_ts`."""
        instants = self.clocks.instants(self.rows, streams)
        return with_column(without(self.rows, EPOCH, AT), TS, instants)

    def write(self, folder: Location, name: str) -> SegmentEntry:
        """Writes them as a segment, a file of its own; there is at least one row."""
        clocks = self.clocks.of_epochs(set(np.unique(int64(self.rows, EPOCH)).tolist()))
        table = self.rows.replace_schema_metadata({_CLOCKS: clocks.encoded()})
        chunk = Chunk.of(table, EPOCH)
        content = encode_segment(chunk)
        make_folder(parent_of(folder / name))
        write_object(folder / name, content)
        return entry_of(chunk, content, name, 0)


def versions_of(change: pa.Table, epoch: int, at: int | None) -> pa.Table:
    """A change that an epoch applies, as rows of versions."""
    count = change.num_rows
    rows = with_column(change, EPOCH, np.full(count, epoch))
    return rows.append_column(AT, pa.array([at] * count, pa.int64()) if at is None else pa.repeat(at, count))


def read_versions(
    folder: Location, entries: Sequence[SegmentEntry], columns: Schema, names: Sequence[str] | None = None
) -> Versions:
    """The versions in some segments; `names` narrows the columns of the table, which are `columns`."""
    wanted = [*(columns.names if names is None else names), WEIGHT, EPOCH, AT]
    tables = [open_segment(folder, entry, whole=True).table for entry in entries]
    clocks = VersionClocks()
    for table in tables:
        clocks |= VersionClocks.decoded(table.schema.metadata[_CLOCKS])
    found = [table.select(wanted).replace_schema_metadata() for table in tables]
    return Versions(concat([_nothing(columns).select(wanted), *found]), clocks)


def _nothing(columns: Schema) -> pa.Table:
    hidden = [pa.field(name, pa.int64()) for name in (WEIGHT, EPOCH, AT)]
    return pa.schema([*columns.arrow, *hidden]).empty_table()
