"""The settings of a Spark context in which epochs run well."""

from __future__ import annotations

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
