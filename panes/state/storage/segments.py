"""Segments: immutable pieces of objects that hold one chunk each, as Arrow IPC, memory-mapped when they are read.

A segment is described by the manifest that names it: the object in which it lies and where, rows, bytes, a CRC-32,
the range of the sort key and the labels of its chunk. A process verifies the checksum of a segment when it first
opens it, and again when the file has changed since.
"""

from __future__ import annotations

import zlib
from dataclasses import astuple, dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from panes.errors import StateError
from panes.state.buffers.chunk import Chunk
from panes.state.storage.locations import Location
from panes.state.storage.object_cache import forget_object, read_object
from panes.state.storage.records import WHAT_TO_DO
from panes.state.storage.verified import verified_difference


@dataclass(frozen=True)
class SegmentEntry:
    """One line of a manifest."""

    object: str
    """The name of the object in which it lies, below the folder of all states."""
    offset: int
    rows: int
    bytes: int
    crc32: int
    sort_key: str
    low: int
    high: int
    labels: dict[str, int]

    @property
    def name(self) -> str:
        """What tells it from all other segments."""
        return f"{self.object}@{self.offset}"

    def as_json(self) -> list[Any]:
        return list(astuple(self))


def encode_segment(chunk: Chunk) -> pa.Buffer:
    """The bytes of a chunk."""
    sink = pa.BufferOutputStream()
    # One record batch: a table of many small ones would cost more to open than to read.
    table = chunk.table.combine_chunks()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def entry_of(chunk: Chunk, content: pa.Buffer, name: str, offset: int) -> SegmentEntry:
    """The line of a manifest for a chunk whose bytes lie in an object of that name."""
    return SegmentEntry(
        name,
        offset,
        chunk.rows,
        content.size,
        zlib.crc32(content),
        chunk.sort_key,
        chunk.low,
        chunk.high,
        dict(chunk.labels),
    )


def open_segment(states: Location, entry: SegmentEntry, *, whole: bool = False) -> Chunk:
    """The chunk of a segment; it is read when its table is first asked for.

    With `whole`, all of an object that lies elsewhere is fetched, because its other segments are needed too.
    """
    return Chunk(
        partial(_read, states, entry, whole),
        rows=entry.rows,
        sort_key=entry.sort_key,
        low=entry.low,
        high=entry.high,
        labels=entry.labels,
        segment=entry.name,
    )


def check_segment(states: Location, entry: SegmentEntry) -> None:
    """Raises StateError unless a segment is as it was written."""
    _content(states / entry.object, entry, False)


def _read(states: Location, entry: SegmentEntry, whole: bool) -> pa.Table:
    return pa.ipc.open_file(pa.BufferReader(_content(states / entry.object, entry, whole))).read_all()


def _content(location: Location, entry: SegmentEntry, whole: bool) -> pa.Buffer:
    where = f"segment {location} at {entry.offset}"
    try:
        wrong, content = _difference(location, entry, whole)
        if wrong is not None and forget_object(location, entry.offset, entry.bytes):
            wrong, content = _difference(location, entry, whole)
    except (OSError, pa.ArrowException) as error:
        raise StateError(f"{where} cannot be read: {error}; {WHAT_TO_DO}") from error
    if wrong is not None:
        raise StateError(f"{where} is damaged: {wrong}; {WHAT_TO_DO}")
    return content


def _difference(location: Location, entry: SegmentEntry, whole: bool) -> tuple[str | None, pa.Buffer]:
    path, content = read_object(location, entry.offset, entry.bytes, whole=whole)
    return verified_difference(path, entry.bytes, entry.crc32, content, entry.offset), content
