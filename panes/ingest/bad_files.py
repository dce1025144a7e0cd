"""Bad files: those that cannot be read are listed with the reason, and the epoch goes on without them.

The list is part of the records of `panes/ingest/rejected_log.py`.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass

from panes.errors import PanesError, SourceError
from panes.plan.stream import Stream

BAD_FILE = "bad file"
"""The kind of message by which a task tells of one."""

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


def _sentence(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
