"""The Spark session that epochs run in."""

from __future__ import annotations

import atexit
import functools
import os
import signal
import sys
import threading
import warnings
from contextlib import suppress

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from panes.errors import EnvironmentMissing, PanesError
from panes.java import find_java
from panes.runtime.uninterrupted import uninterrupted
from panes.spark.java_process import JavaProcess, log_level
from panes.spark.py4j_log import own_py4j_log

__all__ = [
    "CONTEXT_CONF",
    "SparkSession",
    "epoch_session",
    "forget_spark",
    "is_spark_lost",
    "local_session",
    "runs_here",
    "set_epoch_conf",
    "spark_settings",
    "why_spark_was_lost",
]

_SETTINGS = {
    # Telling Java where in Python each column was made takes longer than making it, at every epoch.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Workers that are forked from this module have imported everything already.
    "spark.python.daemon.module": "panes.spark.daemon",
    # One task works on one core; the kernels' own threads would only fight over it.
    "spark.executorEnv.POLARS_MAX_THREADS": "1",
    "spark.executorEnv.OMP_NUM_THREADS": "1",
    # A task that waits for the machine with most of its input waits longer than it takes to fetch that.
    "spark.locality.wait": "0s",
    # Rows and states are in Python, beside Java's heap: it needs as much again.
    "spark.executor.memoryOverheadFactor": "1.0",
}


def spark_settings() -> dict[str, str]:
    """The settings for a Spark session of your own, on a cluster or not.

    They belong to the context, so they are made before it starts:
    `SparkSession.builder.config(map=panes.spark_settings())`. Size, master and storage are yours to add.

    >>> spark_settings()["spark.python.daemon.module"]
    'panes.spark.daemon'
    """
    return dict(_SETTINGS)


# What epochs rely on, set on a session of our own over the caller's context, so that nobody else's change.
_EPOCH_CONF = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    # An epoch is planned once and runs for less than a second: re-planning in the middle only costs.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000000",
    # A task that is done again gives the same rows, but other names of files and other measures. Spark would take
    # that for other rows, and fail the epoch because tasks that have ended cannot be done again.
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "false",
    # Streams can be added and dropped over one checkpoint, because every source has a name.
    "spark.sql.streaming.queryEvolution.enableSourceEvolution": "true",
    # Answers are read from the epochs' files; nothing asks Spark for the past of a stream.
    "spark.sql.streaming.minBatchesToRetain": "10",
    # The files of a source are listed one by one, in their order; a Spark job to list them takes longer.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000000",
}

CONTEXT_CONF = spark_settings() | {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "4g",
    "spark.sql.shuffle.partitions": "2",
}
"""Of a session that is started here."""


_java: JavaProcess | None = None
"""The one that was started here; None while there is none, or when the caller has started Spark."""

_GATEWAY = ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET")
"""What tells PySpark that Java is up already, and how to reach it."""


def local_session() -> SparkSession:
    """A Spark session in this process, on all its cores: the one that there is, or a new one.

    Ctrl-C while Spark starts ends the Java process too.
    """
    if _java is not None and not _java.is_alive:
        forget_spark()
    if SparkContext._gateway is not None:
        return uninterrupted(lambda: _builder().getOrCreate())
    java = JavaProcess()
    try:
        return uninterrupted(lambda: _new_session(java), when_interrupted=java.kill)
    except PanesError:
        _give_up(java)
        raise
    except Exception as error:
        _give_up(java)
        raise EnvironmentMissing(f"Spark did not start: {error}{java.last_words()}") from None
    except BaseException:
        _give_up(java)
        raise


def _new_session(java: JavaProcess) -> SparkSession:
    global _java
    own_py4j_log()
    os.environ["JAVA_HOME"] = str(find_java().home)
    # Workers must be this Python, with its packages, and not the first one on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = {
        "spark.master": "local[*]",
        "spark.app.name": "panes",
        "spark.log.level": log_level(),
    } | CONTEXT_CONF
    found = dict(zip(_GATEWAY, map(str, java.start(conf, os.environ)), strict=True))
    _java = java
    _end_java_at_exit()
    os.environ.update(found)
    try:
        gateway = launch_gateway()  # type: ignore[no-untyped-call]
    finally:
        for name in _GATEWAY:
            os.environ.pop(name, None)
    context = SparkContext(gateway=gateway, conf=SparkConf().setAll(list(conf.items())))
    # It prints a traceback when Java ends before it does.
    setattr(context._accumulatorServer, "handle_error", lambda *_: None)  # noqa: B010
    session = _builder().getOrCreate()
    java.came_up()
    return session


def _builder() -> SparkSession.Builder:
    builder = SparkSession.builder.master("local[*]").appName("panes")
    for name, value in CONTEXT_CONF.items():
        builder = builder.config(name, value)
    return builder


def _give_up(java: JavaProcess) -> None:
    """Leaves nothing behind of a Spark that did not come up."""
    java.kill()
    if SparkContext._active_spark_context is not None or _java is java:
        forget_spark()


def is_spark_lost(session: SparkSession) -> bool:
    """Whether the Java process of a session has ended, or its Spark context was stopped."""
    context = session.sparkContext
    if context._jsc is None or SparkContext._active_spark_context is not context:
        return True
    if _java is not None and not _java.is_alive:
        return True
    try:
        return bool(context._jsc.sc().isStopped())
    except (Py4JError, OSError):
        return True


def why_spark_was_lost() -> str:
    """The last words of the Java process that was started here, to be put behind a message."""
    return "" if _java is None else _java.last_words()


def forget_spark() -> None:
    """Lets PySpark forget a Java process that has ended, so that a new one can be started."""
    global _java
    context = SparkContext._active_spark_context
    if _java is not None:
        _java.kill()
        _java = None
    if context is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # that Spark did not shut down in order
            with suppress(Exception):
                context.stop()
    gateway = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
    if gateway is not None:
        with suppress(Exception):
            gateway.shutdown_callback_server()


@functools.cache
def _end_java_at_exit() -> None:
    atexit.register(_end_java)


def _end_java() -> None:
    """Ends the Java process before this one, so that none is left behind."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if _java is not None:
        _java.end()


def epoch_session(session: SparkSession) -> SparkSession:
    """A session over the same Spark context, with the settings that epochs rely on."""
    use_this_python(session)
    own = session.newSession()
    set_epoch_conf(own)
    return own


def use_this_python(session: SparkSession) -> None:
    """Has the workers of a session on this machine run this Python, unless its owner chose another one.

    Spark takes the first `python3` on the PATH, which need not be the one that Panes is installed for.
    """
    context = session.sparkContext
    is_chosen = "PYSPARK_PYTHON" in os.environ or context.getConf().contains("spark.pyspark.python")
    if runs_here(session) and not is_chosen:
        context.pythonExec = sys.executable


def runs_here(session: SparkSession) -> bool:
    """Whether all executors run on the driver's machine."""
    return str(session.sparkContext.master).startswith("local")


def set_epoch_conf(session: SparkSession) -> None:
    for name, value in _EPOCH_CONF.items():
        session.conf.set(name, value)
