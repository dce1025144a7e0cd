"""Reads files of CSV and JSON into batches of an epoch, with a reason for each row that does not parse."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json

from panes.delta.delta import TS
from panes.errors import SourceError
from panes.ingest.arrived_file import columns_in_folders
from panes.ingest.csv_header import column_places
from panes.ingest.exact_values import exact
from panes.ingest.file_sources import format_of
from panes.ingest.from_text import from_text
from panes.ingest.inexact import Inexact
from panes.ingest.rejected_rows import BAD
from panes.ingest.table_file import json_schema
from panes.plan.stream import Stream
from panes.plan.types import Type
from panes.runtime.batch_files import local_path
from panes.runtime.engine_file import EngineFile
from panes.runtime.ingest_task import STREAM


@dataclass(frozen=True)
class _Rows:
    """Columns as they were read, before they get their declared types, and the lines that are no row at all."""

    columns: dict[str, pa.ChunkedArray]
    lines: Callable[[int], str]
    """Gives the text of a row."""
    torn: Sequence[str]


def read_text_file(stream: Stream, place: int, file: EngineFile, arrival_us: int) -> pa.RecordBatch:
    """Returns the rows of a file in the form of a batch; `place` is that of the stream among all streams.

    Raises SourceError or OSError when the file cannot be read as a whole.
    """
    try:
        rows = _READERS[format_of(stream)](stream, file)
    except (pa.ArrowException, UnicodeError) as error:
        raise SourceError(str(error)) from error
    count = len(next(iter(rows.columns.values()))) if rows.columns else 0
    reasons: list[str | None] = [None] * count
    columns = []
    for field in stream.columns:
        given = rows.columns[field.name]
        columns.append(_converted(given, field.type, rows.lines, reasons))
    torn = len(rows.torn)
    whole = [
        pa.concat_arrays([column, pa.nulls(torn, column.type)]) if torn else column
        for column in (c.combine_chunks() if isinstance(c, pa.ChunkedArray) else c for c in columns)
    ]
    reasons += [f"does not parse: {line}" for line in rows.torn]
    total = count + torn
    return pa.record_batch(
        {
            STREAM: pa.array(np.full(total, place, np.int32)),
            TS: pa.array(np.full(total, arrival_us, np.int64)),
            BAD: pa.array(reasons, pa.string()),
            f"_{place}": pa.StructArray.from_arrays(whole, fields=list(stream.columns.arrow)),
        }
    )


def _converted(
    given: pa.ChunkedArray, type_: Type, line: Callable[[int], str], reasons: list[str | None]
) -> pa.ChunkedArray:
    """The column in its declared type, with NULL and a reason where a value does not fit."""
    convert = from_text if pa.types.is_string(given.type) else exact
    while True:
        try:
            return convert(given, type_)
        except Inexact as error:
            reasons[error.row] = f"does not parse: {line(error.row)}"
            mask = np.zeros(len(given), bool)
            mask[error.row] = True
            given = pa.chunked_array([pc.if_else(pa.array(mask), None, given.combine_chunks())])


def _read_csv(stream: Stream, file: EngineFile) -> _Rows:
    path = local_path(file.uri)
    assert path is not None
    in_folders = {name: text for name, text in columns_in_folders(path).items() if name in stream.columns}
    names = [name for name in stream.columns.names if name not in in_folders]
    places = dict(enumerate(names))
    width = len(names)
    if file.header:
        places, width = column_places(stream, file.header, in_folders), len(file.header)
    torn: list[str] = [] if file.torn is None else [file.torn]

    def is_torn(row: pa.csv.InvalidRow) -> str:
        torn.append(row.text)
        return "skip"

    with pa.input_stream(str(path), compression="detect") as opened:
        content = opened.read()
    read = [f"c{place}" for place in range(width)]
    table = pa.table({name: pa.array([], pa.string()) for name in read})
    if content.strip():
        table = pa.csv.read_csv(
            io.BytesIO(content),
            pa.csv.ReadOptions(column_names=read, skip_rows_after_names=int(bool(file.header))),
            pa.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=is_torn),
            pa.csv.ConvertOptions(
                column_types=dict.fromkeys(read, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    columns = {name: table.column(f"c{place}") for place, name in places.items()}
    for name, text in in_folders.items():
        columns.setdefault(name, pa.chunked_array([pa.repeat(pa.scalar(text, pa.string()), len(table))]))

    def line(row: int) -> str:
        return ",".join("" if cell is None else cell for cell in table.slice(row, 1).to_pylist()[0].values())

    return _Rows(columns, line, torn)


def _read_json(stream: Stream, file: EngineFile) -> _Rows:
    path = local_path(file.uri)
    assert path is not None
    with pa.input_stream(str(path), compression="detect") as opened:
        lines = [line for line in opened.read().splitlines() if line.strip()]
    options = pa.json.ParseOptions(
        explicit_schema=json_schema(stream.columns), unexpected_field_behavior="ignore"
    )
    tables: list[pa.Table] = []
    whole: list[bytes] = []
    torn: list[str] = []

    def read(some: Sequence[bytes]) -> None:
        """Reads lines at once, or halves of them, down to those that do not parse."""
        if not some:
            return
        try:
            table = pa.json.read_json(io.BytesIO(b"\n".join(some)), parse_options=options)
            if table.num_rows != len(some):
                raise pa.ArrowInvalid("a line holds more than one object")
        except pa.ArrowException:
            if len(some) == 1:
                torn.append(some[0].decode(errors="replace"))
                return
            read(some[: len(some) // 2])
            read(some[len(some) // 2 :])
        else:
            tables.append(table)
            whole.extend(some)

    read(lines)
    table = pa.concat_tables(tables) if tables else json_schema(stream.columns).empty_table()
    columns = {name: table.column(name) for name in stream.columns.names}
    for name, text in columns_in_folders(path).items():
        if name in columns:
            columns[name] = pa.chunked_array([pa.repeat(pa.scalar(text, pa.string()), len(table))])
    return _Rows(columns, lambda row: whole[row].decode(errors="replace"), torn)


_READERS: dict[str, Callable[[Stream, EngineFile], _Rows]] = {"csv": _read_csv, "json": _read_json}
