"""Rejected rows, which cannot be used, and late rows, kept where people can look at them.

They lie as Parquet under `aside/STREAM`, in a folder per attempt at an epoch. What of that counts is in the chain
of records of `panes/ingest/rejected_log.py`.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from panes.history.parts import stream_folder
from panes.state.storage.files import make_folder
from panes.state.storage.heads import numbered
from panes.state.storage.locations import Location
from panes.state.storage.object_cache import local_copy, write_object
from panes.state.storage.records import damaged
from panes.state.storage.verified import verified_difference

BAD = "_bad"
"""The column that says why a row cannot be used."""

REJECTED = "rejected"
"""The kind of message by which a task tells of a file of rejected or late rows."""


@dataclass(frozen=True)
class RejectedPart:
    """A file of bad or late rows that a task wrote, as it tells the driver of it."""

    stream: int
    """The number of the stream."""
    kind: str
    """'bad' or 'late'."""
    file: str
    """Below the folder of the stream."""
    bytes: int
    crc32: int


def attempt_folder(epoch: int, token: str) -> str:
    """The name of the folder in which an attempt at an epoch keeps its files, in that of each stream."""
    return numbered("epoch", epoch, token)


def keep_rejected_rows(
    folder: Location, stream: int, kind: str, attempt: str, name: str, rows: pa.Table
) -> RejectedPart:
    """Writes the bad or late rows that a task has found. `attempt` is the folder of the attempt at the epoch, and
    `name` that of the attempt of the task, which no other one has."""
    target = stream_folder(folder, stream) / attempt
    make_folder(target)
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink)
    content = sink.getvalue()
    file = f"{kind}-{name}.parquet"
    write_object(target / file, content)
    return RejectedPart(stream, kind, f"{attempt}/{file}", int(content.size), zlib.crc32(content))


def read_rejected_rows(folder: Location, part: RejectedPart) -> pa.Table:
    """The rows of a file; StateError when it is missing or damaged."""
    path = stream_folder(folder, part.stream)
    for name in part.file.split("/"):
        path = path / name
    try:
        copy = local_copy(path)
        wrong = verified_difference(copy, part.bytes, part.crc32)
        if wrong is None:
            return pq.read_table(copy, partitioning=None)
    except (OSError, pa.ArrowException) as error:
        raise damaged(path, error) from error
    raise damaged(path, wrong)
