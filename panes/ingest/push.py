"""Pushing rows from Python: each push becomes a file of its stream's folder, wholly or not at all."""

from __future__ import annotations

import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from panes.errors import SourceError
from panes.history.parts import stream_folder
from panes.ingest.exact_values import Inexact, exact
from panes.ingest.given_rows import Rows, columns_given
from panes.plan.stream import Stream
from panes.state.storage.files import make_folder, write_atomically

__all__ = ["Rows", "push"]


def push(folder: Path, stream: Stream, rows: Rows) -> int:
    """Stores rows for the next epoch, on disk before it returns; gives their number."""
    if stream.source.kind != "PUSH":
        raise SourceError(
            f"stream {stream.name!r} takes its rows from {stream.source.kind}; "
            "only a stream that was created without FROM can be pushed to"
        )
    table = _conforming(stream, rows)
    if table.num_rows:
        target = stream_folder(folder, stream.number)
        make_folder(target)
        # A name that was never used before: Spark remembers the files it has read by their names.
        write_atomically(target / f"{uuid.uuid4().hex}.parquet", lambda file: pq.write_table(table, file))
    return int(table.num_rows)


def _conforming(stream: Stream, rows: Rows) -> pa.Table:
    given = columns_given(stream, rows)
    columns = []
    for field in stream.columns:
        try:
            columns.append(exact(given[field.name], field.type))
        except Inexact as error:
            raise SourceError(
                f"stream {stream.name!r}: row {error.row}, column {field.name!r}: {error.problem}; "
                "nothing was stored"
            ) from None
    return pa.table(columns, schema=stream.columns.arrow)
