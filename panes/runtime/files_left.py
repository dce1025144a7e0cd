"""How many files the sources still hold that no epoch has taken in yet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from panes.history.parts import stream_folder
from panes.ingest.file_location import FileLocation
from panes.plan.stream import Stream
from panes.runtime.batch_files import source_name

_LOG_ENTRY = re.compile(r"(\d+)(\.compact)?")


def files_left(database: Path, streams: Iterable[Stream]) -> int | None:
    """The files not taken in yet, as far as can be seen; None when a source is not made of local files.

    Files that were taken in and then removed count as there.
    """
    left = 0
    for stream in streams:
        files = _files(database, stream)
        if files is None:
            return None
        taken = _taken(database / "checkpoint" / "sources" / source_name(stream))
        left += max(0, sum(1 for _ in files) - taken)
    return left


def _files(database: Path, stream: Stream) -> Iterator[Path] | None:
    """The files that Spark sees in the source of a stream."""
    if stream.source.kind == "PUSH":
        return FileLocation(str(stream_folder(database / "pushed", stream.number))).files()
    if stream.source.kind != "FILES":
        return None
    location = FileLocation.of(str(stream.source.location))
    return location.files() if location.is_local else None


def _taken(log: Path) -> int:
    """How many files Spark's log of a source holds: the last compacted part of it, and what came after."""
    entries = [
        (int(match[1]), match[2] is not None, path)
        for path in (log.iterdir() if log.exists() else ())
        if (match := _LOG_ENTRY.fullmatch(path.name))
    ]
    compacted = max((number for number, is_compact, _ in entries if is_compact), default=-1)
    counted = [
        path
        for number, is_compact, path in entries
        if number > compacted or (number == compacted and is_compact)
    ]
    # The first line is the version.
    return sum(len(path.read_text().splitlines()) - 1 for path in counted)
