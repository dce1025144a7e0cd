"""A micro-batch: the rows that all base streams brought to one epoch, in one DataFrame.

`_stream` says which stream a row is of, `_ts` its time of arrival where that is the event time, `_bad` why it
cannot be used (mostly NULL), and `_0`, `_1`, … hold the columns of each stream.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from panes.delta.delta import TS
from panes.pipeline.types import column

STREAM = "_stream"
BAD = "_bad"


def union_streams(frames: Sequence[DataFrame]) -> DataFrame:
    """All streams as one, in the order of `frames`; each has its columns, `_ts` and `_bad`.

    A stream whose files tasks read themselves has no columns here.
    """
    types = {number: frame.drop(TS, BAD).schema for number, frame in enumerate(frames)}
    tagged = []
    for number, frame in enumerate(frames):
        row = F.struct(*map(column, types[number].names))
        parts = [
            (row if place == number else F.lit(None).cast(type_)).alias(f"_{place}")
            for place, type_ in types.items()
            if type_.names
        ]
        tagged.append(frame.select(F.lit(number).alias(STREAM), TS, BAD, *parts))
    together = tagged[0]
    for frame in tagged[1:]:
        together = together.union(frame)
    return together
