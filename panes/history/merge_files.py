"""Merging many small files into few larger ones, by the policy of all logs (`panes/state/log.py`).

The files of a history are the parts of a log, in the order of arrival: eight neighbors of about one size become
one. So a row is rewritten once per factor of eight as a rule, and a history has at most seven files of each size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from panes.errors import StateError
from panes.history.history_file import HistoryFile
from panes.history.parts import part_name, read_rows, write_rows
from panes.plan.stream import Stream
from panes.state.log import Log, MergePolicy
from panes.state.storage.locations import Location

_FAN_IN = 8
_LARGE = _FAN_IN**5
"""Files of that many rows are left as they are: to rewrite them costs more than it saves readers."""
_POLICY = MergePolicy(fan_in=_FAN_IN, growth=4, most=_FAN_IN * _LARGE - 1)
"""Eight large groups do not fit into one."""


@dataclass(frozen=True)
class Group:
    """Files that follow each other, to become one when there are several."""

    files: tuple[HistoryFile, ...]

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def low(self) -> int:
        return min(file.min_ts for file in self.files)

    @property
    def high(self) -> int:
        return max(file.max_ts for file in self.files)


def merge(
    files: Sequence[HistoryFile], stream: Stream, folder: Location, epoch: int, writer: str = ""
) -> list[HistoryFile]:
    """The same rows in the same order, in fewer files; new ones are named after the epoch and the writer.

    A group of which a file cannot be read stays as it is. Whoever reads that file is told so, and nobody else is
    concerned: a file of a source may be damaged in a column that no query has read yet.
    """
    merged: list[HistoryFile] = []
    for number, group in enumerate(grouped(files)):
        rows = _rows_to_merge(group, stream)
        if rows is None:
            merged += group.files
        else:
            merged.append(_one_file(group, rows, folder / part_name("merged", epoch, number, writer)))
    return merged


def grouped(files: Sequence[HistoryFile]) -> list[Group]:
    """The files in the order of arrival, those together that are to become one.

    The log is played through from the first file: it comes to rest with the files that are there, and goes on with
    those that are new.
    """
    groups: list[Group] = []
    log: Log[Group] = Log(_POLICY)
    for file in files:
        if file.rows < _LARGE:
            log.append(Group((file,)), _together)
        else:
            groups += [*log.parts, Group((file,))]
            log = Log(_POLICY)
    return groups + log.parts


def _together(groups: Sequence[Group]) -> Group:
    return Group(tuple(file for group in groups for file in group.files))


def _rows_to_merge(group: Group, stream: Stream) -> pa.Table | None:
    """The rows of several files; None when there is one file, or one of them cannot be read."""
    if len(group.files) == 1:
        return None
    try:
        return pa.concat_tables([read_rows(file, stream, stream.columns.names) for file in group.files])
    except StateError:
        return None


def _one_file(group: Group, rows: pa.Table, path: Location) -> HistoryFile:
    size, crc32 = write_rows(path, rows)
    return HistoryFile(
        path,
        "merged",
        rows=group.rows,
        min_ts=group.low,
        max_ts=group.high,
        epoch=group.files[-1].epoch,
        came=group.files[0].came,
        last_came=group.files[-1].last_came,
        bytes=size,
        crc32=crc32,
    )
