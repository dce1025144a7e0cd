"""A look at the first file of a new stream: a slip in the statement shows now, not in the first epoch."""

from __future__ import annotations

import heapq
from pathlib import Path

import pyarrow as pa

from panes.errors import SourceError, StateError
from panes.history.measure import stored_columns
from panes.history.parts import metadata_of
from panes.history.stored_types import reading_of, why_unreadable
from panes.ingest.arrived_file import columns_in_folders
from panes.ingest.bad_files import stops
from panes.ingest.csv_header import column_places, read_csv_header
from panes.ingest.file_location import FileLocation
from panes.ingest.guess_format import clause_for
from panes.plan.stream import Stream

_FILES = 10
"""The most files that are tried until one can be read; the others are bad files of the epoch that meets them."""


def check_first_file(stream: Stream, location: FileLocation, *, is_parquet: bool) -> None:
    """Compares the declared columns with those of the first file that can be read, if there is one.

    Raises SourceError when they differ, or when the file cannot be read and is the only one or the stream stops
    at bad files.
    """
    paths = heapq.nsmallest(_FILES, location.files())
    if "format" not in stream.source.options and (other := clause_for(stream, paths)) is not None:
        path, clause = other
        raise SourceError(
            f"stream {stream.name!r}: {path} is not Parquet, which files are without a format; write "
            f"FROM FILES {stream.source.location!r} {clause}"
        )
    for path in paths:
        try:
            columns = _parquet_columns(path) if is_parquet else read_csv_header(path)
        except (OSError, StateError, pa.ArrowException) as error:
            if stops(stream) or location.matches() == [path]:
                cause = error.__cause__ or error
                raise SourceError(f"stream {stream.name!r}: {path} cannot be read: {cause}") from error
            continue
        if isinstance(columns, pa.Schema):
            _check_types(stream, path, columns)
        elif columns:
            try:
                column_places(stream, columns, columns_in_folders(path))
            except SourceError as error:
                raise SourceError(f"stream {stream.name!r}: {path} cannot be read: {error}") from error
        return


def _parquet_columns(path: Path) -> pa.Schema:
    return metadata_of(path).schema.to_arrow_schema()


def _check_types(stream: Stream, path: Path, there: pa.Schema) -> None:
    stored = stored_columns(there, stream)
    in_folders = columns_in_folders(path)
    for field in stream.columns:
        if field.name in stored:
            type_ = there.field(stored[field.name]).type
            if reading_of(type_, field.type) is None:
                raise SourceError(
                    f"stream {stream.name!r}: {path}: {why_unreadable(field.name, field.type, type_)}"
                )
        elif field.name not in in_folders:
            raise SourceError(
                f"stream {stream.name!r}: {path} has no column {field.name!r}; it has {', '.join(there.names)}"
            )
