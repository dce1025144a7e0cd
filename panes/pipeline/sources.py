"""Sources: where the tuples of a base stream come from, as streaming DataFrames.

Every source gives the declared columns, `_ts`, the time of arrival in microseconds where that is the event time,
and `_bad`: the text of a row that does not parse, mostly NULL.
"""

from __future__ import annotations

import glob
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlparse

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from panes.delta.delta import TS
from panes.errors import SourceError
from panes.history.parts import stream_folder
from panes.pipeline.batch import BAD
from panes.pipeline.batch_files import source_name
from panes.pipeline.traffic import TRAFFIC
from panes.pipeline.types import column, spark_schema, spark_type
from panes.plan.stream import OptionValue, Stream
from panes.plan.types import BIGINT, DOUBLE, INT, STRING, Type

_FORMATS = ("parquet", "csv", "json")
_BYTES_PER_RECORD = 200
"""Of a topic, where only records can be counted."""
_UNREADABLE = "_unreadable"
"""Where Spark leaves the text of a record that does not parse."""


def check_source(stream: Stream) -> None:
    """Raises SourceError, before anything is stored, when the source cannot be what the statement says."""
    _SOURCES[stream.source.kind].check(stream)


def read_source(
    session: SparkSession,
    stream: Stream,
    pushed: Path,
    epoch_bytes: int,
    *,
    by_tasks: bool,
) -> DataFrame:
    """The rows of a stream; `pushed` is where pushes go.

    An epoch takes in all that is there when it begins, so it is small while the stream is live and grows with the
    backlog, up to `epoch_bytes` of each source.
    """
    rows = _SOURCES[stream.source.kind].read(session, stream, pushed, epoch_bytes)
    columns = [column(field.name) for field in stream.columns]
    ts = _arrival_time(stream)
    reason = F.lit(None).cast("string")
    if by_tasks:
        # Spark only says which files: if it has to read them, as little as possible.
        return rows.select(ts.alias(TS), reason.alias(BAD))
    if _UNREADABLE in rows.columns:
        unreadable = F.col(_UNREADABLE)
        reason = F.when(unreadable.isNotNull(), F.concat(F.lit("does not parse: "), unreadable))
    return rows.select(*columns, ts.alias(TS), reason.alias(BAD))


def is_read_by_tasks(stream: Stream) -> bool:
    """Whether the source is local Parquet files that hold all columns: tasks read them into Arrow themselves.

    For Spark to read them means to turn columns into rows, and for Python to turn rows into columns again: that
    costs more than all the rest of an epoch.
    """
    if stream.timestamp is None:
        return False
    if stream.source.kind == "PUSH":
        return True
    if stream.source.kind != "FILES" or _format(stream) != "parquet":
        return False
    place = urlparse(str(stream.source.location))
    return place.scheme in ("", "file") and not _has_columns_in_folders(place.path)


def _has_columns_in_folders(location: str) -> bool:
    """Whether values of columns stand in the names of folders, as in `day=2026-01-05/`: Spark reads those."""
    return any(next(Path(folder).glob("*=*/"), None) is not None for folder in glob.glob(location))


def _arrival_time(stream: Stream) -> Column:
    """NULL where the event time is a column: tasks compute and check it, for all kinds of sources alike."""
    if stream.timestamp is None:
        # The time at which Spark planned the epoch is in the checkpoint: an epoch done again has it again.
        return F.unix_micros(F.current_timestamp())
    return F.lit(None).cast("bigint")


class _Files:
    @staticmethod
    def check(stream: Stream) -> None:
        _check_options(stream, {"format": _is_format, "files_per_epoch": _is_positive, "header": _is_flag})
        location = stream.source.location
        if location is None:
            raise SourceError(
                f"stream {stream.name!r}: FROM FILES needs a folder or pattern: FROM FILES 'data/in'"
            )
        found = sorted(glob.glob(location))
        if not found:
            raise SourceError(
                f"stream {stream.name!r}: no file or folder matches {location!r} "
                f"(seen from {Path.cwd()}); create the folder first, or mend the path"
            )
        if _format(stream) == "parquet":
            _check_parquet(stream, Path(found[0]))

    @staticmethod
    def read(session: SparkSession, stream: Stream, _: Path, epoch_bytes: int) -> DataFrame:
        options = stream.source.options
        schema = spark_schema(stream.columns)
        if _format(stream) != "parquet":
            schema = _with_unreadable(schema)
        reader = session.readStream.name(source_name(stream)).format(_format(stream)).schema(schema)
        reader = reader.option("columnNameOfCorruptRecord", _UNREADABLE)
        if "files_per_epoch" in options:
            reader = reader.option("maxFilesPerTrigger", int(options["files_per_epoch"]))
        else:
            reader = reader.option("maxBytesPerTrigger", epoch_bytes)
        if "header" in options:
            reader = reader.option("header", str(options["header"]).lower())
        return reader.load(str(Path(str(stream.source.location)).absolute()))


class _Rate:
    """Spark's rate source: rows numbered from 0, so many per second, the same again after a restart."""

    @staticmethod
    def check(stream: Stream) -> None:
        _check_options(stream, {"rows_per_second": _is_positive, "generator": _is_generator})
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
        reader = (
            session.readStream.name(source_name(stream))
            .format("parquet")
            .schema(spark_schema(stream.columns))
        )
        reader = reader.option("maxBytesPerTrigger", epoch_bytes)
        return reader.option("cleanSource", "delete").load(str(folder))


class _Kafka:
    """A topic of JSON records, through Spark's own connector when the session has it."""

    @staticmethod
    def check(stream: Stream) -> None:
        _check_options(stream, {"servers": _is_text, "starting": _is_text, "rows_per_epoch": _is_positive})
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
        schema = _with_unreadable(spark_schema(stream.columns))
        parsed = F.from_json(
            F.col("value").cast("string"), schema, {"columnNameOfCorruptRecord": _UNREADABLE}
        )
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


def _with_unreadable(schema: StructType) -> StructType:
    return StructType([*schema.fields, StructField(_UNREADABLE, StringType())])


def _format(stream: Stream) -> str:
    return str(stream.source.options.get("format", "parquet")).lower()


def _is_format(value: OptionValue) -> str | None:
    return None if str(value).lower() in _FORMATS else f"one of {', '.join(_FORMATS)}"


def _is_generator(value: OptionValue) -> str | None:
    return None if value in _GENERATORS else f"one of {', '.join(_GENERATORS)}"


def _is_positive(value: OptionValue) -> str | None:
    good = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return None if good else "a whole number above 0"


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


def _check_parquet(stream: Stream, path: Path) -> None:
    """Compares the declared columns with those of the first file: a slip shows now, not in Spark."""
    file = path if path.is_file() else next(iter(sorted(path.glob("*.parquet"))), None)
    if file is None:
        return
    there = pq.read_schema(file)
    for field in stream.columns:
        index = there.get_field_index(field.name)
        if index < 0:
            raise SourceError(
                f"stream {stream.name!r}: {file} has no column {field.name!r}; "
                f"it has {', '.join(there.names)}"
            )
        if not _readable(there.field(index).type, field.type):
            raise SourceError(
                f"stream {stream.name!r}: column {field.name!r} is declared {field.type}, "
                f"but {file} holds {there.field(index).type}; declare it as that"
            )


def _readable(stored: pa.DataType, declared: Type) -> bool:
    if pa.types.is_integer(stored):
        small = bool(stored.bit_width < 32 or stored.equals(pa.int32()))
        return declared == BIGINT or (declared == INT and small)
    if pa.types.is_floating(stored):
        return declared == DOUBLE
    if pa.types.is_large_string(stored):
        return declared == STRING
    if pa.types.is_timestamp(stored):
        return bool(pa.types.is_timestamp(declared.arrow))
    return bool(stored.equals(declared.arrow))
