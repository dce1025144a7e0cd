"""The Spark session of the engines that are Spark alone."""

from __future__ import annotations

import os
import sys

from pyspark.sql import DataFrame, SparkSession

from benchmarks.traffic import Dataset
from panes.java import find_java

SCHEMA = "ts BIGINT, link INT, src INT, dst INT, proto STRING, bytes INT"
STORES = {
    "rocksdb": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "memory": "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
}
"""Both write the state to files at every batch; the second, Spark's default, also holds all of it in memory."""


def session() -> SparkSession:
    os.environ["JAVA_HOME"] = str(find_java().home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    made = (
        SparkSession.builder.master("local[2]")
        .appName("benchmark")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "8g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.streaming.numRecentProgressUpdates", "1000")
        .getOrCreate()
    )
    made.sparkContext.setLogLevel("ERROR")
    return made


def stream(spark: SparkSession, data: Dataset, files_per_batch: int) -> DataFrame:
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files_per_batch)
    return reader.parquet(str(data.folder))
