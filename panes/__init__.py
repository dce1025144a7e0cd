"""Panes answers sliding-window queries over streams, exactly and continuously, on Spark.

The five nouns: a *stream* brings tuples, a *window* says which of them count at an instant, a *query* stands
over windows, an *epoch* takes in what has arrived, and an *answer* is what a query says as of the last epoch.

>>> import panes
>>> with panes.connect() as db:  # a temporary database
...     _ = db.sql("CREATE STREAM ticks (value BIGINT, ts BIGINT) TIMESTAMP BY ts MILLISECONDS FROM RATE")
...     q = db.register("SELECT count(*) AS n FROM ticks [RANGE 1 MINUTE]", name="ticking")
...     len(q.invoke())  # nothing has arrived yet
0
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from panes import errors

if TYPE_CHECKING:
    from panes.answers.answer import Answer
    from panes.answers.changes import Change
    from panes.database import Database
    from panes.ingest.given_rows import Rows
    from panes.query import Query
    from panes.read_block import ReadBlock
    from panes.run_report import RunReport
    from panes.spark.session import SparkSession, spark_settings
    from panes.status import Epoch, Status
    from panes.tables.row_counts import RowCounts

__all__ = [
    "Answer",
    "Change",
    "Database",
    "Epoch",
    "Query",
    "ReadBlock",
    "RowCounts",
    "Rows",
    "RunReport",
    "Status",
    "connect",
    "errors",
    "spark_settings",
]

__version__ = "0.1.0"

# Loaded when first used: Spark's workers import parts of Panes, and have no need of Spark's own interface.
_HOMES = {
    "Answer": "panes.answers.answer",
    "Change": "panes.answers.changes",
    "Database": "panes.database",
    "Epoch": "panes.status",
    "Query": "panes.query",
    "ReadBlock": "panes.read_block",
    "RowCounts": "panes.tables.row_counts",
    "Rows": "panes.ingest.given_rows",
    "RunReport": "panes.run_report",
    "Status": "panes.status",
    "spark_settings": "panes.spark.session",
}


def connect(
    path: str | Path | None = None,
    *,
    state: str | Path | None = None,
    spark: SparkSession | None = None,
    read_only: bool = False,
) -> Database:
    """Opens the database in a directory, making it if need be; None is a temporary one, which leaves `state`.

    `state` names another folder, or a URI that pyarrow knows (`s3://…`, `hdfs://…`): then everything that matters
    lies there, and the directory can be lost. The place is remembered. Where it holds a database already, and the
    directory is empty, this connection goes on with that database, and takes over from whoever ran it before. With
    `spark` the epochs run in that session's Spark context; without, one is started here when needed.

    One connection at a time may write. With `read_only` any number may read beside it, in other processes too:
    they see the committed epochs, follow new ones, and write nothing.
    """
    from panes.database import Database

    return Database(path, state=state, spark=spark, read_only=read_only)


if not TYPE_CHECKING:  # for a type checker every name would exist

    def __getattr__(name: str) -> object:
        if name in _HOMES:
            return getattr(import_module(_HOMES[name]), name)
        raise AttributeError(f"module 'panes' has no attribute {name!r}")
