"""A micro-batch: the rows that all base streams brought to one epoch, in one DataFrame.

`_stream` says which stream a row is of, `_ts` its event time, `_bad` why it cannot be used (mostly NULL), and
`_0`, `_1`, … hold the columns of each stream.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark import RDD
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from panes.delta.delta import TS
from panes.language.statements import CreateStream
from panes.pipeline.types import spark_schema

STREAM = "_stream"
BAD = "_bad"


def union_streams(frames: Sequence[DataFrame]) -> DataFrame:
    """All streams as one, in the order of `frames`; each has its columns, `_ts` and `_bad`."""
    types = [frame.drop(TS, BAD).schema for frame in frames]
    tagged = []
    for number, frame in enumerate(frames):
        row = F.struct(*(F.col(f"`{column}`") for column in types[number].names))
        parts = [
            (row if place == number else F.lit(None).cast(type_)).alias(f"_{place}")
            for place, type_ in enumerate(types)
        ]
        tagged.append(frame.select(F.lit(number).alias(STREAM), TS, BAD, *parts))
    together = tagged[0]
    for frame in tagged[1:]:
        together = together.union(frame)
    return together


def no_rows(session: SparkSession, streams: Sequence[CreateStream]) -> DataFrame:
    """A micro-batch in which no stream brought anything."""
    hidden = [StructField(TS, LongType()), StructField(BAD, StringType())]
    schemas = [StructType([*spark_schema(stream.columns).fields, *hidden]) for stream in streams]
    # An RDD, because Spark plans an empty table away, and with it the tasks of the shards.
    nothing: RDD[Row] = session.sparkContext.parallelize([], 1)
    return union_streams([session.createDataFrame(nothing, schema) for schema in schemas])


def arriving_after(batch: DataFrame, streams: Sequence[CreateStream], since: int) -> DataFrame:
    """The batch with arrival times after `since`: a row cannot have arrived before the epoch before this one."""
    unstamped = [number for number, stream in enumerate(streams) if stream.timestamp is None]
    if not unstamped:
        return batch
    arrived = F.greatest(F.col(TS), F.lit(since + 1).cast("bigint"))
    return batch.withColumn(TS, F.when(F.col(STREAM).isin(unstamped), arrived).otherwise(F.col(TS)))


def rows_of(batch: DataFrame, number: int) -> DataFrame:
    """The columns of a stream, `_ts` and `_bad`, of its rows alone."""
    return batch.where(F.col(STREAM) == number).select(f"_{number}.*", TS, BAD)
