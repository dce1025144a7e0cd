"""The floor under any system that runs on Spark's micro-batches: the same files and batches, and only a count."""

from __future__ import annotations

import tempfile
import time

from benchmarks.engine import Outcome
from benchmarks.engines.spark_session import session, stream
from benchmarks.traffic import dataset


class SparkFloor:
    def __init__(self) -> None:
        self._spark = session()

    def run(self, workload: str, rows: int, files: int) -> Outcome:
        """`workload` is the number of files in a micro-batch."""
        data = dataset(rows, files, ahead_ms=1)
        counted: list[int] = []
        with tempfile.TemporaryDirectory(prefix="panes-bench-") as checkpoint:
            writer = stream(self._spark, data, int(workload)).writeStream.trigger(availableNow=True)
            writer = writer.option("checkpointLocation", checkpoint)
            began = time.perf_counter()
            query = writer.foreachBatch(lambda batch, _: counted.append(batch.count())).start()
            query.awaitTermination()
            seconds = time.perf_counter() - began
        assert sum(counted) == rows, f"{sum(counted)} of {rows} rows came"
        return Outcome(seconds, None, {"batches": len(counted)})

    def close(self) -> None:
        self._spark.stop()


def engine() -> SparkFloor:
    return SparkFloor()
