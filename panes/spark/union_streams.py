"""A micro-batch: the rows that all base streams brought to one epoch, in one DataFrame.

`_stream` says which stream a row is of, `_ts` its time of arrival where that is the event time, `_bad` why it
cannot be used (mostly NULL), and `_0`, `_1`, … hold the columns of each stream.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from panes.delta.delta import TS
from panes.ingest.rejected_rows import BAD
from panes.runtime.ingest_task import STREAM
from panes.spark.spark_types import column


def union_streams(frames: Mapping[int, DataFrame]) -> DataFrame:
    """Streams as one, each by its place among all streams; each has its columns, `_ts` and `_bad`."""
    types = {place: frame.drop(TS, BAD).schema for place, frame in frames.items()}
    tagged = []
    for own, frame in frames.items():
        row = F.struct(*map(column, types[own].names))
        parts = [
            (row if place == own else F.lit(None).cast(type_)).alias(f"_{place}")
            for place, type_ in types.items()
            if type_.names
        ]
        tagged.append(frame.select(F.lit(own).alias(STREAM), TS, BAD, *parts))
    together = tagged[0]
    for frame in tagged[1:]:
        together = together.union(frame)
    return together
