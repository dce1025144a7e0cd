"""Rows of a Parquet file that have no event time, or one beyond all bounds."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from panes.history.event_time import event_time, timestamp_of
from panes.history.file import HistoryFile
from panes.history.parts import metadata_of
from panes.pipeline.batch import BAD
from panes.plan.stream import Stream

NO_TIME = "there is no event time, or one beyond all bounds"


def unusable_rows(stream: Stream, file: HistoryFile) -> pa.Table | None:
    """The columns of the stream and `_bad`, the reason; mostly there are none, and the file is not read."""
    if not file.is_raw or metadata_of(file.path).num_rows == file.rows:
        return None
    stored = pq.ParquetFile(file.path).read()
    by = timestamp_of(stream)
    there = {name.casefold(): name for name in stored.column_names}
    columns = {
        field.name: stored.column(there[field.name.casefold()]).cast(field.type)
        if field.name.casefold() in there
        else pa.chunked_array([pa.nulls(stored.num_rows, field.type)])
        for field in stream.columns.arrow
    }
    without = pc.is_null(event_time(by, columns[by.column]))
    rows = pa.table(columns).filter(without)
    return rows.append_column(BAD, pa.array([NO_TIME] * rows.num_rows, pa.string()))
