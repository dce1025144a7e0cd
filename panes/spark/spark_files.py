"""Files of an epoch that Spark reads: CSV, JSON, and Parquet on other file systems.

Spark's streaming source only says which files an epoch has. They are read as a table of their own, so that those
that cannot be read can be left out, and CSV files with a header can have their columns in any order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from panes.errors import SourceError
from panes.ingest.arrived_file import columns_in_folders
from panes.ingest.csv_header import column_places, first_line
from panes.ingest.file_sources import format_of, has_header
from panes.plan.stream import Stream
from panes.runtime.batch_files import local_path
from panes.runtime.engine_file import EngineFile, checked_file
from panes.spark.sources import UNREADABLE, with_reasons, with_unreadable
from panes.spark.spark_failures import SPARK_ERRORS, innermost
from panes.spark.spark_types import column, spark_schema, text_schema, text_type

_GONE = ("PATH_NOT_FOUND", "FAILED_READ_FILE.FILE_NOT_EXIST")
_MISSING = re.compile(r"\[FAILED_READ_FILE.FILE_NOT_EXIST\] Encountered error while reading file (\S+)\. ")


def rows_of(session: SparkSession, stream: Stream, files: Sequence[EngineFile], arrival_us: int) -> DataFrame:
    """The columns of the stream, `_ts` and `_bad`; files whose columns stand in one order are read together."""
    alike: dict[tuple[tuple[str, ...], str | None], list[str]] = {}
    frames = []
    for file in files:
        if file.torn is not None and file.base is None:
            frames.append(_read_torn(session, stream, file, file.torn))
        else:
            alike.setdefault((file.header, file.base), []).append(file.path)
    frames += [_read(session, stream, header, base, paths) for (header, base), paths in alike.items()]
    arrival = F.lit(arrival_us).cast("bigint")
    together = frames[0]
    for frame in frames[1:]:
        together = together.union(frame)
    return with_reasons(stream, together, arrival)


def why_unreadable(session: SparkSession, stream: Stream, file: EngineFile) -> Exception | None:
    """What goes wrong when the file is read alone; None when nothing does."""
    try:
        checked_file(stream, file.uri)
        rows_of(session, stream, [file], 0).write.format("noop").mode("overwrite").save()
    except (OSError, SourceError) as error:
        return error
    except SPARK_ERRORS as error:
        if not is_of_a_file(error):
            raise
        text = str(error)
        is_gone = any(code in text for code in _GONE)
        return FileNotFoundError(file.path) if is_gone else SourceError(innermost(text))
    return None


def is_of_a_file(error: Exception) -> bool:
    """Whether Spark has failed because a file could not be read."""
    return any(code in str(error) for code in ("FAILED_READ_FILE", *_GONE))


def is_missing_in(error: Exception, file: EngineFile) -> bool:
    """Whether Spark has failed because a task did not find this file."""
    missing = _MISSING.search(str(error))
    return missing is not None and local_path(missing[1]) == local_path(file.uri)


def _read(
    session: SparkSession, stream: Stream, header: tuple[str, ...], base: str | None, paths: list[str]
) -> DataFrame:
    options = {
        # A path is a path here, whatever characters are in it.
        "__globPaths__": "false",
        "columnNameOfCorruptRecord": UNREADABLE,
        # A row with too few or too many values is bad, also when no query reads the ones concerned.
        "columnPruning": "false",
        "header": str(has_header(stream)).lower(),
    }
    if base is not None:
        options["basePath"] = base
    if has_header(stream) and not header:
        # Of another file system: the header is not known beforehand, and must be as declared.
        options["enforceSchema"] = "false"
    reader = session.read.format(format_of(stream)).options(**options)
    if format_of(stream) == "parquet":
        return reader.schema(spark_schema(stream.columns)).load(paths)
    columns = text_schema(stream.columns)
    schema = with_unreadable(_in_order_of(header, stream, Path(paths[0])) if header else columns)
    rows = reader.schema(schema).load(paths)
    return rows.select(*(column(name) for name in (*stream.columns.names, UNREADABLE)))


def _read_torn(session: SparkSession, stream: Stream, file: EngineFile, torn: str) -> DataFrame:
    """The rows of a CSV file whose last line was cut off, which does not parse, however it looks.

    Lines are read as text, because only the text tells them apart. Others may be the same as the last one: one of
    them is taken for it.
    """
    columns = (
        _in_order_of(file.header, stream, Path(file.path)) if file.header else text_schema(stream.columns)
    )
    line = F.col("value")
    lines = session.read.option("__globPaths__", "false").text(file.path).where(F.trim(line) != "")
    if file.header:
        lines = lines.where(line != first_line(Path(file.path)))
    alike = lines.where(line == torn).withColumn("number", F.row_number().over(Window.orderBy(F.lit(0))))
    lines = lines.where(line != torn).withColumn("number", F.lit(0)).union(alike)
    parsed = F.from_csv(
        line, with_unreadable(columns).simpleString(), {"columnNameOfCorruptRecord": UNREADABLE}
    )
    rows = lines.select(parsed.alias("row"), line.alias("line"), "number").select("row.*", "line", "number")
    unreadable = F.when(F.col("number") == 1, F.col("line")).otherwise(column(UNREADABLE))
    return rows.select(*(column(name) for name in stream.columns.names), unreadable.alias(UNREADABLE))


def _in_order_of(header: tuple[str, ...], stream: Stream, path: Path) -> StructType:
    """The columns as they stand in a file, then those that stand in the names of its folders."""
    in_folders = [name for name in columns_in_folders(path) if name in stream.columns]
    places = column_places(stream, header, in_folders)
    names = [places.get(place) for place in range(len(header))]
    names += [name for name in in_folders if name not in places.values()]
    return StructType(
        [
            StructField(f"_undeclared_{place}", StringType())
            if name is None
            else StructField(name, text_type(stream.columns[name].type))
            for place, name in enumerate(names)
        ]
    )
