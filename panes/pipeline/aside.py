"""Rows that are put aside where people can look at them: those that cannot be used, and those that came late.

They lie as Parquet under `aside/STREAM/bad` and `aside/STREAM/late`, a folder per epoch, which an epoch that is
done again writes again.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from panes.history.parts import stream_folder
from panes.pipeline.batch import BAD
from panes.plan.stream import Stream
from panes.state.files import write_atomically


def put_aside(folder: Path, stream: int, kind: str, epoch: int, part: int, rows: pa.Table) -> None:
    """Writes the bad or late rows that a task has found."""
    target = stream_folder(folder, stream) / kind / f"epoch={epoch}"
    target.mkdir(parents=True, exist_ok=True)
    write_atomically(target / f"part-{part:06d}.parquet", lambda file: pq.write_table(rows, file))


def forget_epoch(folder: Path, epoch: int) -> None:
    """Removes what an epoch put aside that failed: it is done again, and may be dealt out to other tasks."""
    for of_epoch in folder.glob(f"*/*/epoch={epoch}"):
        shutil.rmtree(of_epoch)


def read_aside(folder: Path, stream: Stream, kind: str) -> pa.Table:
    """All rows put aside: the columns of the stream, and `_bad`, the reason, where there is one."""
    columns = [*stream.columns.arrow, *([pa.field(BAD, pa.string())] if kind == "bad" else [])]
    schema = pa.schema(columns)
    found = stream_folder(folder, stream.number) / kind
    if not found.exists():
        return schema.empty_table()
    return ds.dataset(found, format="parquet", partitioning="hive").to_table(schema.names).cast(schema)
