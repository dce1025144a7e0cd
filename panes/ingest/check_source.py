"""Checks the source of a stream before anything is stored: its kind, its options, its columns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from panes.errors import SourceError
from panes.ingest.file_location import FileLocation
from panes.ingest.file_sources import format_of, has_header
from panes.ingest.first_file import check_first_file
from panes.plan.stream import OptionValue, Stream
from panes.plan.types import BINARY

_FORMATS = ("parquet", "csv", "json")
_BAD_FILE_CHOICES = ("set_aside", "stop")
_ORDERS = ("mtime", "name")
_MOST_FILES = 1_000_000
_MOST_RECORDS = 1_000_000_000
_MOST_ROWS_PER_SECOND = 10_000_000
"""An epoch has all rows of the time since the last one: more cannot be made in that time."""
GENERATED = {
    "counter": ("value", "timestamp", "ts"),
    "traffic": ("ts", "link", "src", "dst", "proto", "bytes"),
}
"""The columns that each generator of FROM RATE makes."""


def check_source(stream: Stream) -> None:
    """Raises SourceError when the source cannot be what the statement says."""
    _CHECKS[stream.source.kind](stream)


def check_column_can_be_added(stream: Stream) -> None:
    """Raises SourceError when the source cannot bring a column that is added: files of CSV that are there already
    have no place for it."""
    if stream.source.kind == "FILES" and format_of(stream) == "csv":
        raise SourceError(
            f"stream {stream.name!r} reads CSV, whose files have all columns or are bad: create another stream"
        )
    if stream.source.kind == "RATE":
        check_source(stream)


def _check_text(stream: Stream, format_: str) -> None:
    """Raises SourceError for columns that have no text."""
    for field in stream.columns:
        if field.type == BINARY or (format_ == "CSV" and field.type.is_nested):
            raise SourceError(
                f"stream {stream.name!r}: {format_} has no {field.type}, and column {field.name!r} is one; "
                "declare it as STRING, or read Parquet files"
            )


def _check_files(stream: Stream) -> None:
    _check_options(
        stream,
        {
            "format": _is_format,
            "files_per_epoch": _up_to(_MOST_FILES),
            "header": _is_flag,
            "on_bad_file": _is_bad_file_choice,
            "order": _is_order,
        },
    )
    if format_of(stream) != "parquet":
        _check_text(stream, format_of(stream).upper())
    if stream.source.location is None:
        raise SourceError(
            f"stream {stream.name!r}: FROM FILES needs a folder or pattern: FROM FILES 'data/in'"
        )
    location = FileLocation.of(stream.source.location)
    if not location.is_local:
        return  # whether Spark can read it shows when Spark runs
    if not location.matches():
        raise SourceError(
            f"stream {stream.name!r}: no file or folder matches {stream.source.location!r} "
            f"(seen from {Path.cwd()}); create the folder first, or mend the path"
        )
    if format_of(stream) == "parquet" or has_header(stream):
        check_first_file(stream, location, is_parquet=format_of(stream) == "parquet")


def _check_rate(stream: Stream) -> None:
    _check_options(stream, {"rows_per_second": _up_to(_MOST_ROWS_PER_SECOND), "generator": _is_generator})
    made = GENERATED[str(stream.source.options.get("generator", "counter"))]
    for field in stream.columns:
        if field.name not in made:
            raise SourceError(
                f"stream {stream.name!r}: FROM RATE makes no column {field.name!r}; "
                f"it makes {', '.join(made)}"
            )


def _check_push(stream: Stream) -> None:
    _check_options(stream, {})


def _check_kafka(stream: Stream) -> None:
    _check_options(
        stream, {"servers": _is_text, "starting": _is_text, "rows_per_epoch": _up_to(_MOST_RECORDS)}
    )
    _check_text(stream, "JSON")
    if stream.source.location is None or "servers" not in stream.source.options:
        raise SourceError(
            f"stream {stream.name!r}: FROM KAFKA needs a topic and its servers: "
            "FROM KAFKA 'topic' WITH (servers = 'host:9092')"
        )


_CHECKS: dict[str, Callable[[Stream], None]] = {
    "FILES": _check_files,
    "RATE": _check_rate,
    "PUSH": _check_push,
    "KAFKA": _check_kafka,
}


def _is_format(value: OptionValue) -> str | None:
    return None if str(value).lower() in _FORMATS else f"one of {', '.join(_FORMATS)}"


def _is_bad_file_choice(value: OptionValue) -> str | None:
    return None if value in _BAD_FILE_CHOICES else f"one of {', '.join(_BAD_FILE_CHOICES)}"


def _is_order(value: OptionValue) -> str | None:
    return None if value in _ORDERS else f"one of {', '.join(_ORDERS)}"


def _is_generator(value: OptionValue) -> str | None:
    return None if value in GENERATED else f"one of {', '.join(GENERATED)}"


def _up_to(most: int) -> Callable[[OptionValue], str | None]:
    def check(value: OptionValue) -> str | None:
        good = isinstance(value, int) and not isinstance(value, bool) and 0 < value <= most
        return None if good else f"a whole number from 1 to {most:,}"

    return check


def _is_text(value: OptionValue) -> str | None:
    return None if isinstance(value, str) and value else "a text"


def _is_flag(value: OptionValue) -> str | None:
    return None if isinstance(value, bool) else "TRUE or FALSE"


def _check_options(stream: Stream, known: dict[str, Callable[[OptionValue], str | None]]) -> None:
    for name, value in stream.source.options.items():
        if name not in known:
            raise SourceError(
                f"stream {stream.name!r}: FROM {stream.source.kind} has no option {name!r}; "
                f"it takes {', '.join(known) or 'none'}"
            )
        wanted = known[name](value)
        if wanted:
            raise SourceError(f"stream {stream.name!r}: {name} takes {wanted}, not {value!r}")
