"""Reading and writing the files of a history."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from panes.clock import LAST_US
from panes.delta.delta import TS
from panes.errors import StateError
from panes.history.event_time import event_time, timestamp_of
from panes.history.file_checksums import check
from panes.history.history_file import CAME, EPOCH, HistoryFile
from panes.plan.stream import Stream
from panes.state.storage.files import write_atomically


def stream_folder(folder: Path, stream: int) -> Path:
    """Where the files of the stream with a number are."""
    return folder / f"{stream:06d}"


def write_part(folder: Path, stream: int, epoch: int, part: int, rows: pa.Table) -> str:
    """Writes rows (the stream's columns and `_ts`) that came in an epoch; gives the name of their file.

    To be called in tasks: the name follows from the epoch and the part, so that one done again writes the
    same file again. It counts once `History.note` has it.
    """
    target = stream_folder(folder, stream)
    target.mkdir(parents=True, exist_ok=True)
    name = f"part-{epoch:010d}-{part:05d}.parquet"
    write_rows(target / name, rows)
    return name


def write_rows(path: Path, rows: pa.Table) -> None:
    write_atomically(path, lambda file: pq.write_table(rows, file, write_page_checksum=True))


def metadata_of(path: Path) -> pq.FileMetaData:
    with opened(path) as file:
        return file.metadata


def opened(path: Path) -> pq.ParquetFile:
    """A file that is there and looks whole; StateError names it when it does not."""
    try:
        return pq.ParquetFile(path, page_checksum_verification=True)
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
        table = read_stored(file.path, [*columns, *hidden])
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


def read_stored(path: Path, columns: Sequence[str]) -> pa.Table:
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


def _damaged(path: Path, error: Exception) -> StateError:
    return StateError(f"{path} is damaged ({error}); restore it from a copy")
