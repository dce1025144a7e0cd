"""Rows that are put aside where people can look at them: those that cannot be used, and those that came late.

They lie as Parquet under `aside/STREAM$bad` and `aside/STREAM$late`, a folder per epoch, which an epoch that is
done again writes again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from panes.delta.delta import TS
from panes.language.statements import CreateStream
from panes.pipeline.batch import BAD, rows_of
from panes.state.epochs import StreamProgress


class Aside:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(
        self,
        batch: DataFrame,
        streams: Sequence[CreateStream],
        before: Mapping[str, StreamProgress],
        progress: Mapping[str, StreamProgress],
        since: int,
        epoch: int,
    ) -> None:
        """Writes the rows of a batch that were counted as bad or late; mostly there are none, and no job."""
        good = F.col(BAD).isNull()
        for number, stream in enumerate(streams):
            earlier, now = before.get(stream.name, StreamProgress()), progress[stream.name]
            if now.bad > earlier.bad:
                self._write(batch, number, f"{stream.name}$bad", epoch, ~good)
            if now.late > earlier.late:
                self._write(batch, number, f"{stream.name}$late", epoch, good & (F.col(TS) <= since))

    def read(self, stream: CreateStream, kind: str) -> pa.Table:
        """All rows put aside: the columns of the stream, and `_bad`, the reason, where there is one."""
        folder = self._folder / f"{stream.name}${kind}"
        columns = [*stream.columns.arrow, *([pa.field(BAD, pa.string())] if kind == "bad" else [])]
        schema = pa.schema(columns)
        if not folder.exists():
            return schema.empty_table()
        return ds.dataset(folder, format="parquet", partitioning="hive").to_table(schema.names).cast(schema)

    def _write(self, batch: DataFrame, number: int, name: str, epoch: int, which: Column) -> None:
        rows = rows_of(batch, number).where(which).drop(TS)
        rows.coalesce(1).write.mode("overwrite").parquet(str(self._folder / name / f"epoch={epoch}"))
