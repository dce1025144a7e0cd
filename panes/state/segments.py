"""Segments: immutable Arrow IPC files that hold one chunk each, memory-mapped when read.

A segment is described by the manifest that names it: rows, bytes, a CRC-32 of the file, the range of `exp`
and the labels of its chunk. A process verifies the checksum when it first opens a segment, and only then: a
probe of a large window must not cost a pass over it at every epoch.
"""

from __future__ import annotations

import zlib
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from panes.errors import StateError
from panes.state.chunk import Chunk
from panes.state.files import write_atomically

_verified: set[tuple[str, int]] = set()
"""Path and checksum of the segments that this process has verified."""


@dataclass(frozen=True)
class SegmentEntry:
    """One line of a manifest."""

    segment: str
    rows: int
    bytes: int
    crc32: int
    min_exp: int
    max_exp: int
    labels: dict[str, int]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def write_segment(path: Path, chunk: Chunk) -> SegmentEntry:
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
        path.name, chunk.rows, written, checksum, chunk.min_exp, chunk.max_exp, dict(chunk.labels)
    )


def open_segment(folder: Path, entry: SegmentEntry) -> Chunk:
    """The chunk of a segment; the file is opened when its table is first asked for."""
    return Chunk(
        partial(_read, folder / entry.segment, entry),
        rows=entry.rows,
        min_exp=entry.min_exp,
        max_exp=entry.max_exp,
        labels=entry.labels,
        segment=entry.segment,
    )


def _read(path: Path, entry: SegmentEntry) -> pa.Table:
    try:
        source = pa.memory_map(str(path))
    except OSError as error:
        raise StateError(
            f"segment {path} cannot be read: {error}; restore the database from a copy"
        ) from error
    content = source.read_buffer()
    identity = (str(path), entry.crc32)
    if content.size != entry.bytes or (identity not in _verified and zlib.crc32(content) != entry.crc32):
        raise StateError(
            f"segment {path} is damaged: {entry.bytes} bytes with checksum {entry.crc32} were written, "
            f"{content.size} bytes with checksum {zlib.crc32(content)} are there; "
            "restore the database from a copy"
        )
    _verified.add(identity)
    return pa.ipc.open_file(pa.BufferReader(content)).read_all()
