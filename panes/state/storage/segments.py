"""Segments: immutable Arrow IPC files that hold one chunk each, memory-mapped when they are local.

A segment is described by the manifest that names it: rows, bytes, a CRC-32 of the file, the range of the sort key
and the labels of its chunk. A process verifies the checksum of a mapped segment when it first opens it, and again
when the file has changed since. What comes from another file system is read whole, and verified, every time.
"""

from __future__ import annotations

import zlib
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from panes.errors import StateError
from panes.state.buffers.chunk import Chunk
from panes.state.storage.files import write_atomically
from panes.state.storage.locations import Location
from panes.state.storage.records import WHAT_TO_DO
from panes.state.storage.verified import verified_difference


@dataclass(frozen=True)
class SegmentEntry:
    """One line of a manifest."""

    segment: str
    rows: int
    bytes: int
    crc32: int
    sort_key: str
    low: int
    high: int
    labels: dict[str, int]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def write_segment(path: Location, chunk: Chunk) -> SegmentEntry:
    written = 0
    checksum = 0

    def write(file: BinaryIO) -> None:
        nonlocal written, checksum
        sink = pa.BufferOutputStream()
        # One record batch: a table of many small ones would cost more to open than to read.
        table = chunk.table.combine_chunks()
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        content = sink.getvalue()
        written = content.size
        checksum = zlib.crc32(content)
        file.write(content)

    write_atomically(path, write)
    return SegmentEntry(
        path.name,
        chunk.rows,
        written,
        checksum,
        chunk.sort_key,
        chunk.low,
        chunk.high,
        dict(chunk.labels),
    )


def open_segment(folder: Location, entry: SegmentEntry) -> Chunk:
    """The chunk of a segment; the file is opened when its table is first asked for."""
    return Chunk(
        partial(_read, folder / entry.segment, entry),
        rows=entry.rows,
        sort_key=entry.sort_key,
        low=entry.low,
        high=entry.high,
        labels=entry.labels,
        segment=entry.segment,
    )


def check_segment(folder: Location, entry: SegmentEntry) -> None:
    """Raises StateError unless the file of a segment is as it was written."""
    _content(folder / entry.segment, entry)


def _read(path: Location, entry: SegmentEntry) -> pa.Table:
    return pa.ipc.open_file(pa.BufferReader(_content(path, entry))).read_all()


def _content(path: Location, entry: SegmentEntry) -> pa.Buffer:
    try:
        if isinstance(path, Path):
            content = pa.memory_map(str(path)).read_buffer()
            wrong = verified_difference(path, entry.bytes, entry.crc32, content)
        else:
            content = path.read_buffer()
            wrong = _difference(content, entry)
    except (OSError, pa.ArrowException) as error:
        raise StateError(f"segment {path} cannot be read: {error}; {WHAT_TO_DO}") from error
    if wrong is not None:
        raise StateError(f"segment {path} is damaged: {wrong}; {WHAT_TO_DO}")
    return content


def _difference(content: pa.Buffer, entry: SegmentEntry) -> str | None:
    found = content.size, zlib.crc32(content)
    if found == (entry.bytes, entry.crc32):
        return None
    written = f"{entry.bytes} bytes with checksum {entry.crc32} were written"
    return f"{written}, {found[0]} bytes with checksum {found[1]} are there"
