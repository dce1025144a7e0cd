"""Segments: immutable Arrow IPC files that hold one chunk each, memory-mapped when they are local.

A segment is described by the manifest that names it: rows, bytes, a CRC-32 of the file, the range of `exp`
and the labels of its chunk. A process verifies the checksum of a mapped segment when it first opens it, and only
then: a probe of a large window must not cost a pass over it at every epoch. What comes from another file system is
read whole, and verified, every time.
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
from panes.state.locations import Location

_verified: set[tuple[Path, int]] = set()
"""Path and checksum of the mapped segments that this process has verified."""
_MOST_VERIFIED = 100_000
"""Then it begins to forget: segments come and go for as long as a process lives."""


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
        path.name, chunk.rows, written, checksum, chunk.min_exp, chunk.max_exp, dict(chunk.labels)
    )


def open_segment(folder: Location, entry: SegmentEntry) -> Chunk:
    """The chunk of a segment; the file is opened when its table is first asked for."""
    return Chunk(
        partial(_read, folder / entry.segment, entry),
        rows=entry.rows,
        min_exp=entry.min_exp,
        max_exp=entry.max_exp,
        labels=entry.labels,
        segment=entry.segment,
    )


def _read(path: Location, entry: SegmentEntry) -> pa.Table:
    try:
        content = pa.memory_map(str(path)).read_buffer() if isinstance(path, Path) else path.read_buffer()
    except OSError as error:
        raise StateError(
            f"segment {path} cannot be read: {error}; restore the database from a copy"
        ) from error
    is_verified = isinstance(path, Path) and (path, entry.crc32) in _verified
    if content.size != entry.bytes or (not is_verified and zlib.crc32(content) != entry.crc32):
        raise StateError(
            f"segment {path} is damaged: {entry.bytes} bytes with checksum {entry.crc32} were written, "
            f"{content.size} bytes with checksum {zlib.crc32(content)} are there; "
            "restore the database from a copy"
        )
    if isinstance(path, Path):
        if len(_verified) >= _MOST_VERIFIED:
            _verified.clear()
        _verified.add((path, entry.crc32))
    return pa.ipc.open_file(pa.BufferReader(content)).read_all()
