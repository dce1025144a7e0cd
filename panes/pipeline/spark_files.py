"""Files of an epoch that Spark reads: CSV, JSON, and Parquet on other file systems.

Spark's streaming source only says which files an epoch has. They are read as a table of their own, so that those
that cannot be read can be left out, and CSV files with a header can have their columns in any order.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from panes.errors import SourceError
from panes.pipeline.batch_files import local_path
from panes.pipeline.csv_header import column_places, read_header
from panes.pipeline.failures import SPARK_ERRORS, innermost
from panes.pipeline.file_location import FileLocation
from panes.pipeline.sources import UNREADABLE, format_of, has_header, with_event_time, with_unreadable
from panes.pipeline.types import spark_schema, spark_type
from panes.plan.stream import Stream

_GONE = ("PATH_NOT_FOUND", "FAILED_READ_FILE.FILE_NOT_EXIST")


@dataclass(frozen=True)
class SparkFile:
    """A file, and the names of its columns when it is CSV with a header."""

    uri: str
    header: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """What Spark and people call it."""
        local = local_path(self.uri)
        return unquote(self.uri) if local is None else str(local)


def checked(stream: Stream, uri: str) -> SparkFile:
    """The file, as far as a short look tells; raises OSError or SourceError when it cannot be read."""
    path = local_path(uri)
    if path is None:
        return SparkFile(uri)
    path.stat()
    if not os.access(path, os.R_OK):
        raise PermissionError(f"{path} must not be read")
    header = read_header(path) if has_header(stream) else ()
    if header:
        column_places(stream, header)
    return SparkFile(uri, header)


def rows_of(session: SparkSession, stream: Stream, files: Sequence[SparkFile], arrival_us: int) -> DataFrame:
    """The columns of the stream, `_ts` and `_bad`; files whose columns stand in one order are read together."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for file in files:
        alike.setdefault(file.header, []).append(file.path)
    frames = [_read(session, stream, header, paths) for header, paths in alike.items()]
    arrival = F.lit(arrival_us).cast("bigint")
    together = frames[0]
    for frame in frames[1:]:
        together = together.union(frame)
    return with_event_time(stream, together, arrival)


def why_unreadable(session: SparkSession, stream: Stream, file: SparkFile) -> Exception | None:
    """What goes wrong when the file is read alone; None when nothing does."""
    try:
        checked(stream, file.uri)
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


def _read(session: SparkSession, stream: Stream, header: tuple[str, ...], paths: list[str]) -> DataFrame:
    form = format_of(stream)
    reader = session.read.format(form).options(**_options(stream, paths))
    if form == "parquet":
        return reader.schema(spark_schema(stream.columns)).load(paths)
    if not header:
        rows = reader.schema(with_unreadable(spark_schema(stream.columns))).load(paths)
    else:
        places = column_places(stream, header)
        schema = StructType(
            [
                StructField(name, spark_type(stream.columns[name].type))
                if (name := places.get(place)) is not None
                else StructField(f"_undeclared_{place}", StringType())
                for place in range(len(header))
            ]
        )
        rows = reader.schema(with_unreadable(schema)).load(paths)
    return rows.select(*(F.col(f"`{name}`") for name in (*stream.columns.names, UNREADABLE)))


def _options(stream: Stream, paths: Sequence[str]) -> Mapping[str, str]:
    options = {
        # A path is a path here, whatever characters are in it.
        "__globPaths__": "false",
        "columnNameOfCorruptRecord": UNREADABLE,
        # A row with too few or too many values is bad, also when no query reads the ones concerned.
        "columnPruning": "false",
        "header": str(has_header(stream)).lower(),
    }
    place = FileLocation.of(str(stream.source.location))
    depth = len(PurePosixPath(place.text).parts)
    if any(len(PurePosixPath(path).parts) > depth + 1 for path in paths):
        # Columns stand in the names of folders, from here on.
        first = PurePosixPath(paths[0])
        options["basePath"] = str(Path(*first.parts[:depth])) if place.is_local else place.text
    return options
