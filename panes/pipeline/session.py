"""The Spark session that epochs run in."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

from panes.errors import EnvironmentMissing
from panes.java import find_java

__all__ = ["SparkSession", "epoch_session", "local_session", "set_epoch_conf"]

# What epochs rely on, set on a session of our own over the caller's context, so that nobody else's change.
_EPOCH_CONF = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    # An epoch is planned once and runs for less than a second: re-planning in the middle only costs.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000000",
    # Streams can be added and dropped over one checkpoint, because every source has a name.
    "spark.sql.streaming.queryEvolution.enableSourceEvolution": "true",
    # Answers are read from the epochs' files; nothing asks Spark for the past of a stream.
    "spark.sql.streaming.minBatchesToRetain": "10",
}

_CONTEXT_CONF = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "4g",
    "spark.sql.shuffle.partitions": "2",
    # Telling Java where in Python each column was made takes longer than making it, at every epoch.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Workers that are forked from this module have imported everything already.
    "spark.python.daemon.module": "panes.pipeline.daemon",
    # One task works on one core; the kernels' own threads would only fight over it.
    "spark.executorEnv.POLARS_MAX_THREADS": "1",
    "spark.executorEnv.OMP_NUM_THREADS": "1",
}


def local_session() -> SparkSession:
    """A Spark session in this process, on all its cores."""
    os.environ["JAVA_HOME"] = str(find_java().home)
    # Workers must be this Python, with its packages, and not the first one on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[*]").appName("panes")
    for name, value in _CONTEXT_CONF.items():
        builder = builder.config(name, value)
    try:
        session = builder.getOrCreate()
    except Exception as error:
        raise EnvironmentMissing(f"Spark did not start: {error}") from error
    session.sparkContext.setLogLevel("ERROR")
    return session


def epoch_session(session: SparkSession) -> SparkSession:
    """A session over the same Spark context, with the settings that epochs rely on."""
    own = session.newSession()
    set_epoch_conf(own)
    return own


def set_epoch_conf(session: SparkSession) -> None:
    for name, value in _EPOCH_CONF.items():
        session.conf.set(name, value)
