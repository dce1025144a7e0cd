"""The forms in which rows are given to `push` and `load`: tables, frames, columns or rows, as columns by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from panes.ingest.receiver import Receiver


class ArrowStream(Protocol):
    """What gives its rows as Arrow: tables, readers, and the frames of Polars and pandas."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Rows: TypeAlias = ArrowStream | pa.RecordBatch | Mapping[str, Any] | Iterable[Any]
"""A table of Arrow, Polars or pandas; a row or columns as a dictionary; or any number of rows: dictionaries,
tuples in the order of the columns, named tuples or dataclasses."""

Columns: TypeAlias = Mapping[str, "Sequence[Any] | pa.ChunkedArray"]

_LISTS = (list, tuple, np.ndarray, pa.Array, pa.ChunkedArray)


def columns_given(receiver: Receiver, rows: Rows) -> Columns:
    """The columns of the receiver from rows in any form; columns of Arrow stay columns."""
    if type(rows).__module__.partition(".")[0] == "pandas" and hasattr(rows, "columns"):
        return _of_pandas(receiver, rows)
    if type(rows).__module__.partition(".")[0] == "pyspark" and hasattr(rows, "isStreaming"):
        rows = _of_spark(receiver, rows)
    if isinstance(rows, pa.RecordBatch):
        rows = pa.Table.from_batches([rows])
    if isinstance(rows, pa.Table):
        return _of_table(receiver, rows)
    if hasattr(rows, "__arrow_c_stream__"):
        return _of_table(receiver, _arrow(receiver, rows, pa.table))
    if isinstance(rows, Mapping):
        is_column = [_is_column(value) for value in rows.values()]
        if any(is_column) and not _is_row(receiver, rows):
            return _of_columns(receiver, rows, is_column)
        return _of_rows(receiver, [rows])
    if is_dataclass(rows) and not isinstance(rows, type):
        return _of_rows(receiver, [rows])
    if hasattr(rows, "_fields"):  # a named tuple
        return _of_rows(receiver, [rows])
    if isinstance(rows, (str, bytes)) or not isinstance(rows, Iterable):
        raise receiver.refusal(
            f"what was {receiver.given} is of type {type(rows).__name__}, and not rows: give a table, a frame, "
            "a dictionary, or a list of dictionaries or tuples",
        )  # fmt: skip
    return _of_rows(receiver, list(rows))


# Tables and frames.


def _of_table(receiver: Receiver, table: pa.Table) -> Columns:
    _check_names(receiver, table.column_names)
    return {name: table.column(name) for name in receiver.columns.names}


def _of_spark(receiver: Receiver, frame: Any) -> pa.Table:
    """The rows of a DataFrame of Spark, which is computed now. Its instants are in UTC, whatever the zone of the
    session is; those without a zone (TIMESTAMP_NTZ) are taken as UTC."""
    if frame.isStreaming:
        raise receiver.refusal(
            "a streaming DataFrame has no end to its rows: give the batches of "
            f"frame.writeStream.foreachBatch(lambda batch, _: db.{'push' if receiver.kind == 'stream' else 'load'}"
            f"({receiver.name!r}, batch)), or create the stream with FROM FILES or FROM KAFKA"
        )
    return frame.toArrow()


def _of_pandas(receiver: Receiver, frame: Any) -> Columns:
    _check_names(receiver, list(frame.columns))
    return {name: _of_series(frame[name]) for name in receiver.columns.names}


def _of_series(series: Any) -> Sequence[Any] | pa.ChunkedArray:
    """A column of pandas, in which NaN stands for a missing value."""
    if series.dtype != object:
        try:
            return _chunked(pa.array(series, from_pandas=True))
        except (pa.ArrowException, TypeError, ValueError):
            pass  # such as complex numbers: refused by value
    values: list[Any] = series.tolist()
    return [None if isinstance(value, float) and value != value else value for value in values]


# Columns by name.


def _is_row(receiver: Receiver, rows: Mapping[str, Any]) -> bool:
    """Whether lists are the values of columns of lists: a row, and not columns."""
    plain = [name for name, value in rows.items() if not _is_column(value)]
    nested = [field.name for field in receiver.columns if field.type.is_nested]
    return bool(plain) and all(name in plain or name in nested for name in rows)


def _is_column(value: object) -> bool:
    is_series = hasattr(value, "dtype") and hasattr(value, "to_list")
    return isinstance(value, _LISTS) or is_series


def _of_columns(receiver: Receiver, columns: Mapping[str, Any], is_column: Sequence[bool]) -> Columns:
    _check_names(receiver, list(columns))
    if not all(is_column):
        name = list(columns)[is_column.index(False)]
        raise receiver.refusal(f"some values are lists and that of {name!r} is not: give a row, or columns")
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise receiver.refusal(f"the columns are of different lengths: {lengths}")
    return {name: _column(receiver, columns[name]) for name in receiver.columns.names}


def _column(receiver: Receiver, values: Any) -> Sequence[Any] | pa.ChunkedArray:
    if isinstance(values, (list, tuple)):
        return values
    if isinstance(values, np.ndarray):
        try:
            return list(values) if values.dtype == object else _chunked(pa.array(values))
        except pa.ArrowException:
            return list(values)  # such as instants in hours: value by value
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return _chunked(values)
    if type(values).__module__.partition(".")[0] == "pandas":
        return _of_series(values)
    return _chunked(_arrow(receiver, values.to_arrow() if hasattr(values, "to_arrow") else values, pa.array))


def _chunked(array: Any) -> pa.ChunkedArray:
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def _arrow(receiver: Receiver, given: Any, to_arrow: Any) -> Any:
    """What a library gives as Arrow; it may fail in its own way."""
    try:
        return to_arrow(given)
    except Exception as error:
        raise receiver.refusal(
            f"the {type(given).__name__} that was {receiver.given} gives no Arrow ({error})"
        ) from error


# Rows.


def _of_rows(receiver: Receiver, rows: Sequence[Any]) -> Columns:
    names = receiver.columns.names
    rows = [_plain(row) for row in rows]
    wanted = set(names)
    for number, row in enumerate(rows):
        if isinstance(row, Mapping):
            if row.keys() != wanted:
                _check_names(receiver, list(row), number)
        elif not isinstance(row, (tuple, list)):
            raise receiver.refusal(
                f"row {number} is of type {type(row).__name__}, and not a row: {row!r:.80}"
            )
        elif len(row) != len(names):
            raise receiver.refusal(
                f"row {number} has {len(row)} values, and the {receiver.kind} {len(names)} columns"
            )
    return {
        name: [row[name] if isinstance(row, Mapping) else row[place] for row in rows]
        for place, name in enumerate(names)
    }


def _plain(row: Any) -> Any:
    """Dataclasses and named tuples as dictionaries."""
    if is_dataclass(row) and not isinstance(row, type):
        return {field.name: getattr(row, field.name) for field in fields(row)}
    return dict(zip(row._fields, row, strict=True)) if hasattr(row, "_fields") else row


def _check_names(receiver: Receiver, names: Sequence[Any], row: int | None = None) -> None:
    wanted, given = list(receiver.columns.names), [str(name) for name in names]
    missing = [name for name in wanted if name not in given]
    unknown = [name for name in given if name not in wanted]
    twice = sorted({name for name in given if given.count(name) > 1})
    parts = [
        f"{', '.join(found)} {what}"
        for what, found in (("missing", missing), ("unknown", unknown), ("given twice", twice))
        if found
    ]
    if parts:
        where = f"in what was {receiver.given}" if row is None else f"in row {row}"
        raise receiver.refusal(f"the columns are {', '.join(wanted)}; {where}: {'; '.join(parts)}")
