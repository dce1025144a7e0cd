"""Pushing rows from Python: each push becomes a file of its stream's folder, wholly or not at all."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from panes.errors import SourceError
from panes.history.parts import stream_folder
from panes.plan.stream import Stream
from panes.state.files import make_folder, write_atomically

Rows: TypeAlias = "pa.Table | Mapping[str, Any] | Sequence[Mapping[str, Any]]"
"""An Arrow table, a row as a dictionary, or a list of such rows."""


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
    schema = stream.columns.arrow
    if not isinstance(rows, pa.Table):
        dicts = [rows] if isinstance(rows, Mapping) else list(rows)
        for row in dicts:
            _check_names(stream, row.keys())
        columns = {name: [row[name] for row in dicts] for name in schema.names}
    else:
        _check_names(stream, rows.column_names)
        columns = {name: rows.column(name) for name in schema.names}
    arrays = []
    for field in schema:
        try:
            given = columns[field.name]
            arrays.append(
                given.cast(field.type) if isinstance(given, pa.ChunkedArray) else pa.array(given, field.type)
            )
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
            raise SourceError(
                f"stream {stream.name!r}: column {field.name!r} does not take these values "
                f"as {stream.columns[field.name].type}: {error}; nothing was stored"
            ) from error
    return pa.table(arrays, schema=schema)


def _check_names(stream: Stream, names: Any) -> None:
    wanted, given = set(stream.columns.names), set(names)
    if wanted != given:
        missing, unknown = sorted(wanted - given), sorted(given - wanted)
        parts = [f"{', '.join(missing)} missing"] * bool(missing) + [f"{', '.join(unknown)} unknown"] * bool(
            unknown
        )
        raise SourceError(
            f"stream {stream.name!r} has the columns {', '.join(stream.columns.names)}; "
            f"in what was pushed: {'; '.join(parts)}; nothing was stored"
        )
