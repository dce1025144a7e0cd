"""Merging many small files into few larger ones, log-structured.

A file of 8^k rows or more, but less than 8^(k+1), is of class k. Neighbors are merged when together they make a
file of a higher class than any of them: so a row is rewritten once per class at most, and a history has a few
files of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from panes.errors import StateError
from panes.history.file_checksums import sealed
from panes.history.history_file import HistoryFile
from panes.history.parts import read_rows, write_rows
from panes.plan.stream import Stream

_STEP = 8
_CLASSES = 5
"""Files of 8^5 rows are left as they are: to rewrite them costs more than it saves readers."""

Group = list[HistoryFile]


def merge(files: Sequence[HistoryFile], stream: Stream, folder: Path, epoch: int) -> list[HistoryFile]:
    """The same rows in the same order, in fewer files; new ones are named after the epoch.

    A group of which a file cannot be read stays as it is. Whoever reads that file is told so, and nobody else is
    concerned: a file of a source may be damaged in a column that no query has read yet.
    """
    merged: list[HistoryFile] = []
    for number, group in enumerate(grouped(files)):
        rows = _rows_to_merge(group, stream)
        if rows is None:
            merged += group
        else:
            merged.append(_one_file(group, rows, folder, f"merged-{epoch:010d}-{number:05d}"))
    return merged


def grouped(files: Sequence[HistoryFile]) -> list[Group]:
    """The files in the order of arrival, those together that are to become one."""
    groups = [[file] for file in files]
    for class_ in range(_CLASSES):
        groups = _grouped_into(_STEP ** (class_ + 1), groups)
    return groups


def _grouped_into(size: int, groups: Sequence[Group]) -> list[Group]:
    """Puts neighbors that are smaller than `size` together, where that makes at least `size` rows."""
    result: list[Group] = []
    small: list[Group] = []
    for group in groups:
        if _rows(group) >= size:
            result += [*small, group]
            small = []
            continue
        small.append(group)
        if sum(map(_rows, small)) >= size:
            result.append([file for member in small for file in member])
            small = []
    return result + small


def _rows(group: Group) -> int:
    return sum(file.rows for file in group)


def _rows_to_merge(group: Group, stream: Stream) -> pa.Table | None:
    """The rows of several files; None when there is one file, or one of them cannot be read."""
    if len(group) == 1:
        return None
    try:
        return pa.concat_tables([read_rows(file, stream, stream.columns.names) for file in group])
    except StateError:
        return None


def _one_file(group: Group, rows: pa.Table, folder: Path, name: str) -> HistoryFile:
    path = folder / f"{name}.parquet"
    write_rows(path, rows)
    merged = HistoryFile(
        path,
        "merged",
        rows=_rows(group),
        min_ts=min(file.min_ts for file in group),
        max_ts=max(file.max_ts for file in group),
        epoch=group[-1].epoch,
        came=group[0].came,
        last_came=group[-1].last_came,
    )
    return sealed([merged])[0]
