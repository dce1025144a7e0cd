"""Bad files: those that cannot be read are listed with the reason, and the epoch goes on without them.

The list of an epoch lies under `aside/STREAM/files/epoch=N`, written before the epoch is committed. An epoch that
is done again writes its list again.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from panes.errors import PanesError, SourceError
from panes.history.parts import stream_folder
from panes.ingest.rejected_rows import keep_rejected_rows, read_rejected_file
from panes.plan.stream import Stream

BAD_FILE = "bad file"
"""The kind of message by which a task tells of one."""
_KIND = "files"
_SCHEMA = pa.schema([("path", pa.string()), ("reason", pa.string()), ("epoch", pa.int64())])

GONE = "it was removed before it was read"
_OF_THE_FILE = (None, errno.ENOENT, errno.EACCES, errno.EPERM, errno.EISDIR, errno.EIO)
"""Errors of the operating system that another try would not mend; Arrow gives none for damaged content."""


@dataclass(frozen=True)
class BadFile:
    """A file that a source brought and that cannot be read."""

    stream: int
    """The number of the stream."""
    path: str
    reason: str


def stops(stream: Stream) -> bool:
    """Whether a bad file ends the run. A pushed one does: it is ours, and Spark removes it after its epoch."""
    return stream.source.kind == "PUSH" or stream.source.options.get("on_bad_file") == "stop"


def set_aside(stream: Stream, path: str, error: BaseException) -> BadFile:
    """The file as a bad one; raises SourceError where the stream is to stop at it.

    A file that is gone stops nobody: removing a bad file is how a stream that has stopped is made to go on. An
    error that is not the file's, such as memory that ran out, is raised again.
    """
    cause = error.__cause__ if isinstance(error, PanesError) and error.__cause__ is not None else error
    if isinstance(cause, MemoryError) or (isinstance(cause, OSError) and cause.errno not in _OF_THE_FILE):
        raise error
    is_gone = isinstance(cause, FileNotFoundError)
    reason = GONE if is_gone else _sentence(cause)
    if stops(stream) and not is_gone:
        raise SourceError(
            f"stream {stream.name!r}: {path} cannot be read: {reason}; mend the file or remove it, and run again: "
            "nothing else is lost"
        ) from error
    return BadFile(stream.number, path, reason)


def note_bad_files(aside: Path, epoch: int, found: Iterable[BadFile]) -> None:
    """Writes the list of the bad files of an epoch."""
    by_stream: dict[int, list[BadFile]] = {}
    for bad in found:
        by_stream.setdefault(bad.stream, []).append(bad)
    for stream, bad_files in by_stream.items():
        rows = [{"path": bad.path, "reason": bad.reason, "epoch": epoch} for bad in bad_files]
        keep_rejected_rows(aside, stream, _KIND, epoch, 0, pa.Table.from_pylist(rows, _SCHEMA))


def read_bad_files(aside: Path, stream: Stream, last_epoch: int) -> pa.Table:
    """The bad files of a stream up to an epoch: `path`, `reason` and `epoch`, in that order."""
    found: Sequence[Path] = sorted((stream_folder(aside, stream.number) / _KIND).rglob("*.parquet"))
    tables = [read_rejected_file(path) for path in found]
    table = pa.concat_tables([_SCHEMA.empty_table(), *tables]).sort_by("epoch")
    return table.filter(pa.compute.less_equal(table.column("epoch"), last_epoch))


def _sentence(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
