"""Sources: where the tuples of a base stream come from, as streaming DataFrames.

Every source gives the declared columns, `_ts`, the time of arrival in microseconds where that is the event time,
and `_bad`: the text of a row that does not parse, mostly NULL.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamReader
from pyspark.sql.types import StringType, StructField, StructType

from panes.delta.delta import TS
from panes.errors import SourceError
from panes.history.parts import stream_folder
from panes.ingest.file_location import FileLocation, escaped
from panes.ingest.file_sources import brings_files, is_ordered_by_name
from panes.ingest.rejected_rows import BAD
from panes.plan.stream import Stream
from panes.runtime.batch_files import source_name
from panes.spark.spark_failures import innermost
from panes.spark.spark_types import column, spark_type, text_schema, text_type
from panes.spark.traffic import TRAFFIC

_NEVER = "36500d"
_BYTES_PER_RECORD = 200
"""Of a topic, where only records can be counted."""
_LISTED = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
UNREADABLE = "_unreadable"
"""Where Spark leaves the text of a record that does not parse."""


def read_source(session: SparkSession, stream: Stream, pushed: Path, epoch_bytes: int) -> DataFrame:
    """The rows of a stream; `pushed` is where pushes go. Of a source that brings files there are none.

    An epoch takes in all that is there when it begins, so it is small while the stream is live and grows with the
    backlog, up to `epoch_bytes` of each source.
    """
    rows = _SOURCES[stream.source.kind].read(session, stream, pushed, epoch_bytes)
    if brings_files(stream):
        # Spark only says which files an epoch has: `panes.runtime.epoch_files` sees to their rows.
        nothing = F.lit(None)
        return rows.where("length < 0").select(
            nothing.cast("bigint").alias(TS), nothing.cast("string").alias(BAD)
        )
    # The time at which Spark planned the epoch is in the checkpoint: an epoch done again has it again.
    return with_reasons(stream, rows, F.unix_micros(F.current_timestamp()))


def with_reasons(stream: Stream, rows: DataFrame, arrival: Column) -> DataFrame:
    """The columns of the stream, `_ts` and `_bad`, of rows that Spark has read; they came at `arrival`.

    `_ts` is NULL where the event time is a column: tasks compute and check it, for all kinds of sources alike.
    """
    ts = arrival if stream.timestamp is None else F.lit(None).cast("bigint")
    reason = F.lit(None).cast("string")
    if UNREADABLE in rows.columns:
        unreadable = F.col(UNREADABLE)
        reason = F.when(unreadable.isNotNull(), F.concat(F.lit("does not parse: "), unreadable))
    columns = []
    for field in stream.columns:
        found = column(field.name)
        if text_type(field.type) != spark_type(field.type):
            exact = found.try_cast(spark_type(field.type))
            lost = F.lit(f"column {field.name!r} holds a value that {field.type} cannot")
            reason = F.coalesce(reason, F.when(~exact.eqNullSafe(found), lost))
            found = exact.alias(field.name)
        columns.append(found)
    return rows.select(*columns, ts.alias(TS), reason.alias(BAD))


def _listing(session: SparkSession, stream: Stream) -> DataStreamReader:
    """Lists files without looking into them: what is in a file, or whether it is still there, cannot go wrong."""
    reader = session.readStream.name(source_name(stream)).format("binaryFile").schema(_LISTED)
    return reader.option("ignoreMissingFiles", "true")


class _Files:
    @staticmethod
    def read(session: SparkSession, stream: Stream, _: Path, epoch_bytes: int) -> DataFrame:
        location = FileLocation.of(str(stream.source.location))
        if not location.is_local:
            _check_scheme(session, stream, location)
        options = stream.source.options
        reader = _listing(session, stream).option("recursiveFileLookup", "true")
        # However old a file is when it comes: Spark would forget, and pass over, those of more than a week before
        # the newest one.
        reader = reader.option("maxFileAge", _NEVER)
        if is_ordered_by_name(stream):
            # Spark knows one order, by time. It gives all files that have come, and epochs take them in by name.
            pass
        elif "files_per_epoch" in options:
            reader = reader.option("maxFilesPerTrigger", int(options["files_per_epoch"]))
        else:
            reader = reader.option("maxBytesPerTrigger", epoch_bytes)
        return reader.load(location.for_spark())


class _Rate:
    """Spark's rate source: rows numbered from 0, a fixed number per second, the same again after a restart."""

    @staticmethod
    def read(session: SparkSession, stream: Stream, _: Path, __: int) -> DataFrame:
        rate = int(stream.source.options.get("rows_per_second", 1))
        rows = (
            session.readStream.name(source_name(stream)).format("rate").option("rowsPerSecond", rate).load()
        )
        made = _columns_of(stream)
        value, moment = F.col("value"), F.col("timestamp")
        return rows.select(
            *(made[f.name](value, moment).cast(spark_type(f.type)).alias(f.name) for f in stream.columns)
        )


class _Push:
    """What Python pushes: a file per push, complete before `push` returns, removed once its epoch is committed."""

    @staticmethod
    def read(session: SparkSession, stream: Stream, pushed: Path, epoch_bytes: int) -> DataFrame:
        folder = stream_folder(pushed, stream.number)
        folder.mkdir(parents=True, exist_ok=True)
        reader = _listing(session, stream).option("maxBytesPerTrigger", epoch_bytes)
        return reader.option("cleanSource", "delete").load(escaped(str(folder)))


class _Kafka:
    """A topic of JSON records, through Spark's own connector when the session has it."""

    @staticmethod
    def read(session: SparkSession, stream: Stream, _: Path, epoch_bytes: int) -> DataFrame:
        options = stream.source.options
        reader = (
            session.readStream.name(source_name(stream))
            .format("kafka")
            .option("kafka.bootstrap.servers", str(options["servers"]))
            .option("subscribe", str(stream.source.location))
            .option("startingOffsets", str(options.get("starting", "earliest")))
        )
        rows = int(options.get("rows_per_epoch", epoch_bytes // _BYTES_PER_RECORD))
        reader = reader.option("maxOffsetsPerTrigger", rows)
        try:
            records = reader.load()
        except AnalysisException as error:
            raise SourceError(
                f"stream {stream.name!r}: this Spark session has no Kafka connector; start it with "
                "--packages org.apache.spark:spark-sql-kafka-0-10_2.13 and give it to panes.connect(spark=…)"
            ) from error
        schema = with_unreadable(text_schema(stream.columns))
        parsed = F.from_json(F.col("value").cast("string"), schema, {"columnNameOfCorruptRecord": UNREADABLE})
        return records.select(parsed.alias("row")).select("row.*")


_COUNTER: dict[str, Callable[[Column, Column], Column]] = {
    "value": lambda value, _: value,
    "timestamp": lambda _, moment: moment,
    "ts": lambda _, moment: F.unix_millis(moment),
}

_GENERATORS = {"counter": _COUNTER, "traffic": TRAFFIC}

_SOURCES: dict[str, type[_Files] | type[_Rate] | type[_Push] | type[_Kafka]] = {
    "FILES": _Files,
    "RATE": _Rate,
    "PUSH": _Push,
    "KAFKA": _Kafka,
}


def _columns_of(stream: Stream) -> dict[str, Callable[[Column, Column], Column]]:
    return _GENERATORS[str(stream.source.options.get("generator", "counter"))]


def with_unreadable(schema: StructType) -> StructType:
    return StructType([*schema.fields, StructField(UNREADABLE, StringType())])


def _check_scheme(session: SparkSession, stream: Stream, location: FileLocation) -> None:
    """Raises SourceError when the session has no file system for a URI."""
    jvm, java = session.sparkContext._jvm, session.sparkContext._jsc
    assert jvm is not None
    try:
        jvm.org.apache.hadoop.fs.Path(location.text).getFileSystem(java.hadoopConfiguration())
    except Py4JJavaError as error:
        raise SourceError(
            f"stream {stream.name!r}: this Spark session cannot read {location.scheme}:// "
            f"({innermost(str(error))}); {_ADVICE.get(str(location.scheme), _ANY_SCHEME)}"
        ) from error


_S3 = (
    "start a session with --packages org.apache.hadoop:hadoop-aws, write s3a://…, and give the session to "
    "panes.connect(spark=…)"
)
_ADVICE = {"s3": _S3, "s3a": _S3, "s3n": _S3}
_ANY_SCHEME = "start a session that has the connector for it, and give it to panes.connect(spark=…)"
