"""Reading and writing the files of a history."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from panes.clock import LAST_US
from panes.delta.delta import BEGINNING, TS
from panes.errors import StateError
from panes.history.event_time import event_time, timestamp_of
from panes.history.file_checksums import check
from panes.history.history_file import CAME, EPOCH, HistoryFile
from panes.plan.stream import Stream
from panes.state.storage.files import make_folder
from panes.state.storage.heads import numbered
from panes.state.storage.locations import Location
from panes.state.storage.object_cache import local_copy, write_object


@dataclass(frozen=True)
class Part:
    """A file that a task wrote, as it tells the driver of it."""

    name: str
    rows: int
    min_ts: int
    max_ts: int
    bytes: int
    crc32: int


def stream_folder(folder: Location, stream: int) -> Location:
    """Where the files of the stream with a number are."""
    return folder / f"{stream:06d}"


def part_name(kind: str, epoch: int, number: int, writer: str = "") -> str:
    """The name of a file that came, or was made, in an epoch."""
    return f"{numbered(kind, epoch, '')}-{number:05d}{f'-{writer}' if writer else ''}.parquet"


def write_part(
    folder: Location, stream: int, epoch: int, part: int, rows: pa.Table, writer: str = ""
) -> Part:
    """Writes rows (the stream's columns and `_ts`) that came in an epoch.

    To be called in tasks. `writer` tells the attempts of a task apart: each writes a file of its own, and the one
    counts that `History.note` is told of.
    """
    target = stream_folder(folder, stream)
    make_folder(target)
    name = part_name("part", epoch, part, writer)
    size, crc32 = write_rows(target / name, rows)
    bounds = pc.min_max(rows.column(TS)).as_py() if rows.num_rows else {"min": BEGINNING, "max": BEGINNING}
    return Part(name, rows.num_rows, bounds["min"], bounds["max"], size, crc32)


def write_rows(path: Location, rows: pa.Table) -> tuple[int, int]:
    """Writes a file; gives its size and its checksum."""
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, write_page_checksum=True)
    content = sink.getvalue()
    write_object(path, content)
    return int(content.size), zlib.crc32(content)


def metadata_of(path: Location) -> pq.FileMetaData:
    with opened(path) as file:
        return file.metadata


def opened(path: Location) -> pq.ParquetFile:
    """A file that is there and looks whole; StateError names it when it does not."""
    try:
        return pq.ParquetFile(local_copy(path), page_checksum_verification=True)
    except FileNotFoundError as error:
        raise StateError(f"{path} is missing: the history is damaged; restore it from a copy") from error
    except (OSError, pa.ArrowException) as error:
        raise _damaged(path, error) from error


def read_rows(file: HistoryFile, stream: Stream, columns: Sequence[str], latest: int = LAST_US) -> pa.Table:
    """The rows of a file: the given columns, `_ts`, `_came` and `_epoch`. A file of the history is verified first.

    Of a raw file without those that are rejected: they have no time, or one beyond the bounds or `latest`.
    """
    check(file)
    if not file.is_raw:
        hidden = [TS, CAME, EPOCH] if file.kind == "merged" else [TS]
        lacking = columns_lacking(file, stream) & {*columns}
        table = read_stored(file.path, [name for name in (*columns, *hidden) if name not in lacking])
        for name in lacking:
            table = table.append_column(name, pa.nulls(table.num_rows, stream.columns[name].type.arrow))
        if file.kind == "written":
            table = table.append_column(CAME, pa.array(np.full(table.num_rows, file.came)))
            table = table.append_column(EPOCH, pa.array(np.full(table.num_rows, file.epoch)))
        return _conforming(table, stream, columns)
    by = timestamp_of(stream)
    wanted = list(dict.fromkeys([*columns, by.column]))
    table = read_stored(file.path, [file.stored[name] for name in wanted if name in file.stored])
    arrays = {
        name: table.column(file.stored[name])
        if name in file.stored
        else pa.chunked_array([pa.nulls(table.num_rows, stream.columns[name].type.arrow)])
        for name in wanted
    }
    arrays[TS] = event_time(by, arrays[by.column], latest)
    arrays[CAME] = pa.chunked_array([pa.array(np.full(table.num_rows, file.came))])
    arrays[EPOCH] = pa.chunked_array([pa.array(np.full(table.num_rows, file.epoch))])
    return _conforming(pa.table(arrays).filter(pc.is_valid(arrays[TS])), stream, columns)


def columns_lacking(file: HistoryFile, stream: Stream) -> frozenset[str]:
    """The columns of the stream that were added after a file of our own was written."""
    if file.is_raw or not stream.added_columns:
        return frozenset()
    return frozenset(stream.added_columns) - _names_in(file.path)


@functools.lru_cache(maxsize=10_000)
def _names_in(path: Location) -> frozenset[str]:
    """The columns of a file, which never change."""
    return frozenset(metadata_of(path).schema.to_arrow_schema().names)


def read_stored(path: Location, columns: Sequence[str]) -> pa.Table:
    """Columns of a file under the names and in the types that it has them."""
    with opened(path) as file:
        try:
            return file.read(columns=list(columns))
        except (OSError, pa.ArrowException) as error:
            raise _damaged(path, error) from error


def _conforming(table: pa.Table, stream: Stream, columns: Sequence[str]) -> pa.Table:
    names = [*columns, TS, CAME, EPOCH]
    types = [stream.columns[name].type.arrow for name in columns] + [pa.int64()] * 3
    return pa.table(
        [table.column(name).cast(type_) for name, type_ in zip(names, types, strict=True)], names=names
    )


def _damaged(path: Location, error: Exception) -> StateError:
    return StateError(f"{path} is damaged ({error}); restore it from a copy")
