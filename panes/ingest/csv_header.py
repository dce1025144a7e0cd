"""The first line of a CSV file: the names of its columns, in the order of the file."""

from __future__ import annotations

import csv
from collections.abc import Collection, Sequence
from pathlib import Path

import pyarrow as pa

from panes.errors import SourceError
from panes.plan.stream import Stream

_CHUNK = 1 << 16
_LONGEST = 1 << 24


def read_csv_header(path: Path) -> tuple[str, ...]:
    """The names; none when the file is empty. Raises OSError when it cannot be read."""
    line = first_line(path).removeprefix("\ufeff")
    return tuple(name.strip() for name in next(csv.reader([line] if line else []), ()))


def first_line(path: Path) -> str:
    """The first line that is not empty, as it stands in the file; empty when there is none. Raises OSError when
    the file cannot be read."""
    text = b""
    with pa.input_stream(str(path), compression="detect") as file:
        while b"\n" not in text.lstrip() and len(text) < _LONGEST:
            chunk = file.read(_CHUNK)
            if not chunk:
                break
            text += chunk
    lines = text.decode("utf-8", errors="replace").lstrip().splitlines()
    return lines[0] if lines else ""


def column_places(stream: Stream, header: Sequence[str], in_folders: Collection[str] = ()) -> dict[int, str]:
    """Which column of the stream stands at which place; raises SourceError naming one that is missing.

    Names are compared exactly, then without regard to case. A column that stands in the names of folders may be
    missing.
    """
    places = {}
    for name in stream.columns.names:
        found = [place for place, there in enumerate(header) if there == name]
        found = found or [place for place, there in enumerate(header) if there.casefold() == name.casefold()]
        if not found and name in in_folders:
            continue
        if len(found) != 1:
            problem = "has no column" if not found else "has more than one column"
            raise SourceError(f"its header {problem} {name!r}; it has {', '.join(header)}")
        places[found[0]] = name
    return places
