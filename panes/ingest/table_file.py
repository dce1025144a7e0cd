"""A file of rows for a table, whole: CSV, Parquet, or JSON with an object per line or in one list."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq
from pyarrow import fs

from panes.errors import SourceError
from panes.ingest.exact_values import WIDEST_DECIMAL, exact
from panes.ingest.from_text import from_text
from panes.ingest.inexact import Inexact
from panes.plan.schema import Schema
from panes.plan.types import BOOLEAN, Type

FORMATS = ("csv", "parquet", "json")
_LARGE = 10_000_000
"""Bytes."""


@dataclass(frozen=True)
class TableFile:
    """A file, local or at any address that pyarrow opens, and how it is written."""

    location: str
    format: str | None = None
    """One of `FORMATS`; None: what the end of its name says."""
    header: bool = False
    """CSV: whether the first line names the columns."""
    delimiter: str = ","
    null_text: str = ""
    """CSV: what stands for NULL when it is not in quotes."""

    def rows(self, columns: Schema) -> pa.Table:
        """All rows, in the declared types.

        Raises SourceError when the file cannot be read or a value does not fit; the first row is number 1.
        """
        kind = self.format or self._format_of_name()
        try:
            given = _READERS[kind](self, columns)
        except (OSError, pa.ArrowException, UnicodeError, ValueError) as error:
            raise SourceError(f"{self.location} cannot be read: {error}") from error
        found = []
        for field in columns:
            column = given[field.name]
            convert = from_text if kind != "parquet" and pa.types.is_string(column.type) else exact
            try:
                found.append(convert(column, field.type))
            except Inexact as error:
                raise SourceError(
                    f"row {error.row + 1} of {self.location}, column {field.name!r}: {error.problem}"
                ) from None
        return pa.table(found, schema=columns.arrow)

    def _format_of_name(self) -> str:
        name = self.location.partition("?")[0].lower()
        for end in (".gz", ".bz2", ".zst", ".lz4"):
            name = name.removesuffix(end)
        kind = {"jsonl": "json", "ndjson": "json"}.get(end := name.rpartition(".")[2], end)
        if kind not in FORMATS:
            raise SourceError(
                f"the name of {self.location} does not say what it is; write WITH (format = 'csv')"
            )
        return kind

    def is_large(self) -> bool:
        """Whether reading the file takes more than a moment; False also for one that cannot be read."""
        try:
            system, path = self._place()
            return int(system.get_file_info(path).size or 0) > _LARGE
        except (OSError, pa.ArrowException):
            return False

    def opened(self) -> pa.NativeFile:
        system, path = self._place()
        return system.open_input_file(path)

    def content(self) -> bytes:
        """The whole file, decompressed as its name says."""
        system, path = self._place()
        with system.open_input_stream(path) as stream:
            return bytes(stream.read())

    def _place(self) -> tuple[fs.FileSystem, str]:
        if "://" in self.location:
            return fs.FileSystem.from_uri(self.location)  # type: ignore[no-any-return]
        return fs.LocalFileSystem(), str(Path(self.location).expanduser())


Columns = Mapping[str, pa.ChunkedArray]


def _read_csv(file: TableFile, columns: Schema) -> Columns:
    content = file.content()
    if not content.strip():
        return {name: _no_text() for name in columns.names}
    first = next(csv.reader(io.TextIOWrapper(io.BytesIO(content), "utf-8-sig"), delimiter=file.delimiter))
    if file.header:
        places = {name: _place_of(name, first) for name in columns.names}
    elif len(first) == len(columns):
        places = {name: place for place, name in enumerate(columns.names)}
    else:
        raise ValueError(f"its first row has {len(first)} values, and the table {len(columns)} columns")
    names = [f"c{place}" for place in range(len(first))]
    table = pa.csv.read_csv(
        pa.BufferReader(content),
        pa.csv.ReadOptions(column_names=names, skip_rows_after_names=int(file.header)),
        pa.csv.ParseOptions(delimiter=file.delimiter, newlines_in_values=True),
        pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            include_columns=[names[place] for place in places.values()],
            null_values=[file.null_text],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    return {name: table.column(names[place]) for name, place in places.items()}


def _no_text() -> pa.ChunkedArray:
    return pa.chunked_array([pa.array([], pa.string())])


def _read_parquet(file: TableFile, columns: Schema) -> Columns:
    with file.opened() as source:
        stored = pq.ParquetFile(source)
        there = stored.schema_arrow.names
        own = {name: there[_place_of(name, there)] for name in columns.names}
        table = stored.read(columns=list(own.values()))
    return {name: table.column(stored) for name, stored in own.items()}


def _in_json(type_: Type) -> pa.DataType:
    """What a value is in JSON; dates, instants and numbers with more digits than a double are text."""
    if type_.item is not None:
        return pa.list_(_in_json(type_.item))
    if type_.fields:
        return pa.struct([(name, _in_json(field)) for name, field in type_.fields])
    if type_.is_integer:
        return pa.int64()
    if type_.is_decimal:
        return WIDEST_DECIMAL
    return pa.float64() if type_.is_floating else pa.bool_() if type_ == BOOLEAN else pa.string()


def json_schema(columns: Schema) -> pa.Schema:
    """The types in which JSON holds the values of columns."""
    return pa.schema([(f.name, _in_json(f.type)) for f in columns])


def _read_json(file: TableFile, columns: Schema) -> Columns:
    content = file.content()
    if content.lstrip().startswith(b"["):
        content = "\n".join(json.dumps(row) for row in json.loads(content)).encode()
    schema = json_schema(columns)
    if not content.strip():
        return dict(zip(columns.names, schema.empty_table().columns, strict=True))
    table = pa.json.read_json(
        pa.BufferReader(content),
        parse_options=pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
    )
    return {name: table.column(name) for name in columns.names}


def _place_of(name: str, names: Sequence[str]) -> int:
    """Where a column stands: by its exact name, else by its name without regard to case."""
    found = [place for place, there in enumerate(names) if there == name]
    found = found or [
        place for place, there in enumerate(names) if there.strip().casefold() == name.casefold()
    ]
    if len(found) != 1:
        problem = "no column" if not found else "more than one column"
        raise ValueError(f"it has {problem} {name!r}; it has {', '.join(names)}")
    return found[0]


_READERS: dict[str, Callable[[TableFile, Schema], Columns]] = {
    "csv": _read_csv,
    "parquet": _read_parquet,
    "json": _read_json,
}
