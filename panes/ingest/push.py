"""Pushing rows from Python: each push becomes a file of its stream's folder, wholly or not at all."""

from __future__ import annotations

import uuid

import pyarrow as pa

from panes.errors import SourceError
from panes.ingest.exact_values import Inexact, exact
from panes.ingest.given_rows import Rows, columns_given
from panes.ingest.pushed_files import PushedFiles
from panes.plan.stream import Stream

__all__ = ["Rows", "push"]


def push(files: PushedFiles, stream: Stream, rows: Rows) -> int:
    """Stores rows for the next epoch, safely before it returns; gives their number."""
    if stream.source.kind != "PUSH":
        raise SourceError(
            f"stream {stream.name!r} takes its rows from {stream.source.kind}; "
            "only a stream that was created without FROM can be pushed to"
        )
    table = _conforming(stream, rows)
    if table.num_rows:
        # A name that was never used before: Spark remembers the files it has read by their names.
        files.add(stream.number, f"{uuid.uuid4().hex}.parquet", table)
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
