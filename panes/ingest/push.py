"""Pushing rows from Python: each push becomes a file of its stream's folder, wholly or not at all."""

from __future__ import annotations

import uuid

from panes.errors import SourceError
from panes.ingest.conforming_rows import conforming_rows
from panes.ingest.given_rows import Rows
from panes.ingest.pushed_files import PushedFiles
from panes.ingest.receiver import Receiver
from panes.plan.stream import Stream

__all__ = ["Rows", "push"]


def push(files: PushedFiles, stream: Stream, rows: Rows) -> int:
    """Stores rows for the next epoch, safely before it returns; gives their number."""
    if stream.source.kind != "PUSH":
        raise SourceError(
            f"stream {stream.name!r} takes its rows from {stream.source.kind}; "
            "only a stream that was created without FROM can be pushed to"
        )
    table = conforming_rows(Receiver.of(stream), rows)
    if table.num_rows:
        # A name that was never used before: Spark remembers the files it has read by their names.
        files.add(stream.number, f"{uuid.uuid4().hex}.parquet", table)
    return int(table.num_rows)
