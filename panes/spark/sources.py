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
from panes.ingest.first_file import check_first_file
from panes.ingest.rejected_rows import BAD
from panes.plan.stream import OptionValue, Stream
from panes.plan.types import BINARY
from panes.runtime.batch_files import source_name
from panes.spark.spark_failures import innermost
from panes.spark.spark_types import column, spark_type, text_schema, text_type
from panes.spark.traffic import TRAFFIC

_FORMATS = ("parquet", "csv", "json")
_BAD_FILE_CHOICES = ("set_aside", "stop")
_ORDERS = ("mtime", "name")
_NEVER = "36500d"
_MOST_FILES = 1_000_000
_MOST_RECORDS = 1_000_000_000
_MOST_ROWS_PER_SECOND = 10_000_000
"""An epoch has all rows of the time since the last one: more cannot be made in that time."""
_BYTES_PER_RECORD = 200
"""Of a topic, where only records can be counted."""
_LISTED = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
UNREADABLE = "_unreadable"
"""Where Spark leaves the text of a record that does not parse."""


def check_source(stream: Stream) -> None:
    """Raises SourceError, before anything is stored, when the source cannot be what the statement says."""
    _SOURCES[stream.source.kind].check(stream)


def check_column_can_be_added(stream: Stream) -> None:
    """Raises SourceError when the source cannot bring a column that is added: files of CSV that are there already
    have no place for it."""
    if stream.source.kind == "FILES" and format_of(stream) == "csv":
        raise SourceError(
            f"stream {stream.name!r} reads CSV, whose files have all columns or are bad: create another stream"
        )
    if stream.source.kind == "RATE":
        check_source(stream)


def read_source(session: SparkSession, stream: Stream, pushed: Path, epoch_bytes: int) -> DataFrame:
    """The rows of a stream; `pushed` is where pushes go. Of a source that brings files there are none.

    An epoch takes in all that is there when it begins, so it is small while the stream is live and grows with the
    backlog, up to `epoch_bytes` of each source.
    """
    rows = _SOURCES[stream.source.kind].read(session, stream, pushed, epoch_bytes)
    if brings_files(stream):
        # Spark only says which files an epoch has: `panes.spark.epoch_files` sees to their rows.
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


def _check_text(stream: Stream, format_: str) -> None:
    """Raises SourceError for columns that have no text."""
    for field in stream.columns:
        if field.type == BINARY or (format_ == "CSV" and field.type.is_nested):
            raise SourceError(
                f"stream {stream.name!r}: {format_} has no {field.type}, and column {field.name!r} is one; "
                "declare it as STRING, or read Parquet files"
            )


def brings_files(stream: Stream) -> bool:
    return stream.source.kind in ("FILES", "PUSH")


def listed_place(stream: Stream, pushed: Path) -> str | None:
    """The folder or pattern on this machine that Spark lists for a stream; None when it lists none."""
    if stream.source.kind == "PUSH":
        return str(stream_folder(pushed, stream.number))
    if stream.source.kind != "FILES":
        return None
    location = FileLocation.of(str(stream.source.location))
    return location.text if location.is_local else None


def is_read_by_tasks(stream: Stream) -> bool:
    """Whether the source is local Parquet files: tasks read them into Arrow themselves.

    For Spark to read them means to turn columns into rows, and for Python to turn rows into columns again: that
    costs more than all the rest of an epoch.
    """
    if stream.source.kind != "FILES":
        return stream.source.kind == "PUSH"
    return format_of(stream) == "parquet" and FileLocation.of(str(stream.source.location)).is_local


def _listing(session: SparkSession, stream: Stream) -> DataStreamReader:
    """Lists files without looking into them: what is in a file, or whether it is still there, cannot go wrong."""
    reader = session.readStream.name(source_name(stream)).format("binaryFile").schema(_LISTED)
    return reader.option("ignoreMissingFiles", "true")


class _Files:
    @staticmethod
    def check(stream: Stream) -> None:
        _check_options(
            stream,
            {
                "format": _is_format,
                "files_per_epoch": _up_to(_MOST_FILES),
                "header": _is_flag,
                "on_bad_file": _is_bad_file_choice,
                "order": _is_order,
            },
        )
        if format_of(stream) != "parquet":
            _check_text(stream, format_of(stream).upper())
        if stream.source.location is None:
            raise SourceError(
                f"stream {stream.name!r}: FROM FILES needs a folder or pattern: FROM FILES 'data/in'"
            )
        location = FileLocation.of(stream.source.location)
        if not location.is_local:
            return  # whether Spark can read it shows when Spark runs
        if not location.matches():
            raise SourceError(
                f"stream {stream.name!r}: no file or folder matches {stream.source.location!r} "
                f"(seen from {Path.cwd()}); create the folder first, or mend the path"
            )
        if format_of(stream) == "parquet" or has_header(stream):
            check_first_file(stream, location, is_parquet=format_of(stream) == "parquet")

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
    def check(stream: Stream) -> None:
        _check_options(stream, {"rows_per_second": _up_to(_MOST_ROWS_PER_SECOND), "generator": _is_generator})
        made = _columns_of(stream)
        for field in stream.columns:
            if field.name not in made:
                raise SourceError(
                    f"stream {stream.name!r}: FROM RATE makes no column {field.name!r}; "
                    f"it makes {', '.join(made)}"
                )

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
    def check(stream: Stream) -> None:
        _check_options(stream, {})

    @staticmethod
    def read(session: SparkSession, stream: Stream, pushed: Path, epoch_bytes: int) -> DataFrame:
        folder = stream_folder(pushed, stream.number)
        folder.mkdir(parents=True, exist_ok=True)
        reader = _listing(session, stream).option("maxBytesPerTrigger", epoch_bytes)
        return reader.option("cleanSource", "delete").load(escaped(str(folder)))


class _Kafka:
    """A topic of JSON records, through Spark's own connector when the session has it."""

    @staticmethod
    def check(stream: Stream) -> None:
        _check_options(
            stream, {"servers": _is_text, "starting": _is_text, "rows_per_epoch": _up_to(_MOST_RECORDS)}
        )
        _check_text(stream, "JSON")
        if stream.source.location is None or "servers" not in stream.source.options:
            raise SourceError(
                f"stream {stream.name!r}: FROM KAFKA needs a topic and its servers: "
                "FROM KAFKA 'topic' WITH (servers = 'host:9092')"
            )

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


def format_of(stream: Stream) -> str:
    return str(stream.source.options.get("format", "parquet")).lower()


def has_header(stream: Stream) -> bool:
    """Whether the first line of each file names its columns."""
    return format_of(stream) == "csv" and bool(stream.source.options.get("header", False))


def _is_format(value: OptionValue) -> str | None:
    return None if str(value).lower() in _FORMATS else f"one of {', '.join(_FORMATS)}"


def _is_bad_file_choice(value: OptionValue) -> str | None:
    return None if value in _BAD_FILE_CHOICES else f"one of {', '.join(_BAD_FILE_CHOICES)}"


def is_ordered_by_name(stream: Stream) -> bool:
    """Whether files are taken in by name; else by the time of their last change, and by name where that is the
    same."""
    return stream.source.kind == "FILES" and stream.source.options.get("order") == "name"


def _is_order(value: OptionValue) -> str | None:
    return None if value in _ORDERS else f"one of {', '.join(_ORDERS)}"


def _is_generator(value: OptionValue) -> str | None:
    return None if value in _GENERATORS else f"one of {', '.join(_GENERATORS)}"


def _up_to(most: int) -> Callable[[OptionValue], str | None]:
    def check(value: OptionValue) -> str | None:
        good = isinstance(value, int) and not isinstance(value, bool) and 0 < value <= most
        return None if good else f"a whole number from 1 to {most:,}"

    return check


def _is_text(value: OptionValue) -> str | None:
    return None if isinstance(value, str) and value else "a text"


def _is_flag(value: OptionValue) -> str | None:
    return None if isinstance(value, bool) else "TRUE or FALSE"


def _check_options(stream: Stream, known: dict[str, Callable[[OptionValue], str | None]]) -> None:
    for name, value in stream.source.options.items():
        if name not in known:
            raise SourceError(
                f"stream {stream.name!r}: FROM {stream.source.kind} has no option {name!r}; "
                f"it takes {', '.join(known) or 'none'}"
            )
        wanted = known[name](value)
        if wanted:
            raise SourceError(f"stream {stream.name!r}: {name} takes {wanted}, not {value!r}")


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
