"""Rejected rows, which cannot be used, and late rows, kept where people can look at them.

They lie as Parquet under `aside/STREAM/bad` and `aside/STREAM/late`, a folder per epoch, which an epoch that is
done again writes again. The name of a file has its size and its checksum.
"""

from __future__ import annotations

import re
import shutil
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from panes.errors import StateError
from panes.history.parts import stream_folder
from panes.plan.stream import Stream
from panes.state.storage.files import write_bytes
from panes.state.storage.records import damaged
from panes.state.storage.verified import verified_difference

BAD = "_bad"
"""The column that says why a row cannot be used."""
_NAME = re.compile(r"part-\d+-(\d+)-([0-9a-f]{8})\.parquet")


def keep_rejected_rows(folder: Path, stream: int, kind: str, epoch: int, part: int, rows: pa.Table) -> None:
    """Writes the bad or late rows that a task has found."""
    target = stream_folder(folder, stream) / kind / f"epoch={epoch}"
    target.mkdir(parents=True, exist_ok=True)
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink)
    content = sink.getvalue()
    name = f"part-{part:06d}-{content.size}-{zlib.crc32(content):08x}.parquet"
    write_bytes(target / name, content)


def forget_epoch(folder: Path, epoch: int) -> None:
    """Removes the rows of an epoch that failed: it is done again, and other tasks may find them then."""
    for of_epoch in folder.glob(f"*/*/epoch={epoch}"):
        shutil.rmtree(of_epoch)


def read_rejected_rows(folder: Path, stream: Stream, kind: str, counted: int = 0) -> pa.Table:
    """All rejected or late rows of a stream: its columns, and `_bad`, the reason, where there is one.

    `counted` is how many the epochs know of: StateError when there are fewer, or when a file is damaged.
    """
    columns = [*stream.columns.arrow, *([pa.field(BAD, pa.string())] if kind == "bad" else [])]
    schema = pa.schema(columns)
    found = stream_folder(folder, stream.number) / kind
    table = pa.concat_tables(
        [
            schema.empty_table(),
            *(read_rejected_file(path).cast(schema) for path in sorted(found.glob("epoch=*/*.parquet"))),
        ]
    )
    if table.num_rows < counted:
        raise StateError(
            f"{found} is damaged: {counted} {kind} rows of stream {stream.name!r} were put there, "
            f"{table.num_rows} are there; restore it from a copy"
        )
    return table


def read_rejected_file(path: Path) -> pa.Table:
    """The rows of a file; StateError when it is damaged."""
    named = _NAME.fullmatch(path.name)
    try:
        wrong = (
            verified_difference(path, int(named[1]), int(named[2], 16)) if named else "it has another name"
        )
        if wrong is None:
            return pq.read_table(path, partitioning=None)
    except (OSError, pa.ArrowException) as error:
        raise damaged(path, error) from error
    raise damaged(path, wrong)
