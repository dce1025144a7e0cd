"""How the source of a stream is read: which files, in which format and order, and by whom."""

from __future__ import annotations

from pathlib import Path

from panes.history.parts import stream_folder
from panes.ingest.file_location import FileLocation
from panes.plan.stream import Stream


def brings_files(stream: Stream) -> bool:
    """Whether the rows of the stream come in files."""
    return stream.source.kind in ("FILES", "PUSH")


def listed_place(stream: Stream, pushed: Path) -> str | None:
    """The folder or pattern on this machine that Spark lists for a stream; None when it lists none."""
    if stream.source.kind == "PUSH":
        return str(stream_folder(pushed, stream.number))
    if stream.source.kind != "FILES":
        return None
    location = FileLocation.of(str(stream.source.location))
    return location.text if location.is_local else None


def is_read_by_tasks(stream: Stream) -> bool:
    """Whether the source is local Parquet files: tasks read them into Arrow themselves.

    For Spark to read them means to turn columns into rows, and for Python to turn rows into columns again: that
    costs more than all the rest of an epoch.
    """
    if stream.source.kind != "FILES":
        return stream.source.kind == "PUSH"
    return format_of(stream) == "parquet" and FileLocation.of(str(stream.source.location)).is_local


def format_of(stream: Stream) -> str:
    """The format of the files: `parquet`, `csv` or `json`."""
    return str(stream.source.options.get("format", "parquet")).lower()


def has_header(stream: Stream) -> bool:
    """Whether the first line of each file names its columns."""
    return format_of(stream) == "csv" and bool(stream.source.options.get("header", False))


def is_ordered_by_name(stream: Stream) -> bool:
    """Whether files are taken in by name; else by the time of their last change, and by name where that is the
    same."""
    return stream.source.kind == "FILES" and stream.source.options.get("order") == "name"
