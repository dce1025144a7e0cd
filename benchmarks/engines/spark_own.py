"""Spark's own Structured Streaming, as its users write it, with a durable checkpoint.

Where Spark has no streaming operator for a question, it is asked as near to it as Spark can: an anti-join of two
windows as conditional counts, a ranking over each micro-batch. For every workload the best batch size and state
store are used; `python -m benchmarks.engines.spark_own` measures them all.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from benchmarks.checksums import Checksum
from benchmarks.engine import Outcome, files_of
from benchmarks.engines.spark_session import STORES, session, stream
from benchmarks.memory import cpu_seconds
from benchmarks.traffic import Dataset, dataset, standing_queries
from benchmarks.workloads import WORKLOADS, Workload

OBSERVED = "checksum"


@dataclass(frozen=True)
class Best:
    """The settings with which Spark is fastest."""

    store: str
    files_per_batch: int


BEST: Mapping[str, Best] = {name: Best("memory", 10) for name in WORKLOADS}


class SparkOwn:
    def __init__(self) -> None:
        self._spark = session()

    def run(self, workload: str, rows: int, files: int) -> Outcome:
        return self.run_with(workload, rows, files, BEST[workload])

    def run_with(self, workload: str, rows: int, files: int, best: Best) -> Outcome:
        spark = self._spark
        spark.conf.set("spark.sql.streaming.stateStore.providerClass", STORES[best.store])
        data, checksum = dataset(rows, files), Checksum()
        packets = stream(spark, data, best.files_per_batch).withColumn("t", F.timestamp_millis("ts"))
        asked = _Asked(spark, data, WORKLOADS[workload], packets, best.files_per_batch)
        answer = getattr(asked, workload.lower())()
        with tempfile.TemporaryDirectory(prefix="panes-bench-") as checkpoint:
            writer = answer.writeStream.outputMode("append").trigger(availableNow=True)
            writer = writer.option("checkpointLocation", checkpoint)
            if workload == "W6":
                writer = writer.foreachBatch(lambda batch, _: _rank(batch, asked, checksum))
            else:
                writer = writer.format("noop")
            began = time.perf_counter()
            query = writer.start()
            query.awaitTermination()
            seconds = time.perf_counter() - began
            progress = query.recentProgress
        for batch in progress:
            observed = batch["observedMetrics"].get(OBSERVED)
            if observed is not None:
                checksum.add(*(value or 0 for value in observed.asDict().values()))
        more = {"store": best.store, "files_per_batch": best.files_per_batch, "batches": len(progress)}
        return Outcome(seconds, checksum.text, more)

    def close(self) -> None:
        self._spark.stop()


def engine() -> SparkOwn:
    return SparkOwn()


@dataclass(frozen=True)
class _Asked:
    """A workload as a streaming DataFrame whose checksum is observed."""

    spark: SparkSession
    data: Dataset
    workload: Workload
    packets: DataFrame
    files_per_batch: int

    def w1(self) -> DataFrame:
        mixed = F.col("n") + F.col("total") % 9973
        counts = self._per_source(F.count("*").alias("n"), F.sum("bytes").alias("total"))
        return _observed(
            counts,
            F.count("*"),
            F.sum("n"),
            F.sum("total"),
            F.sum((F.col("src") + 1 + 5003 * self.slide()) * mixed),
        )

    def w2(self) -> DataFrame:
        left, right = (
            stream(self.spark, self.data, self.files_per_batch)
            .where(f"link = {link} AND proto = 'ftp'")
            .select(F.col("src").alias(f"src{link}"), F.timestamp_millis("ts").alias(f"t{link}"))
            .withWatermark(f"t{link}", "0 seconds")
            for link in (0, 1)
        )
        near = "t1 BETWEEN t0 - INTERVAL 60 SECONDS AND t0 + INTERVAL 60 SECONDS"
        return _observed(left.join(right, F.expr(f"src0 = src1 AND {near}")), F.count("*"))

    def w3(self) -> DataFrame:
        pair = F.col("src").cast("bigint") * 20_000 + F.col("dst")
        on_link = self.packets.where("link = 0").withWatermark("t", "0 seconds")
        distinct = on_link.groupBy(self._window()).agg(F.size(F.collect_set(pair)).cast("bigint").alias("n"))
        return _observed(distinct, F.sum("n"), F.sum(self.slide() * F.col("n")))

    def w4(self) -> DataFrame:
        on_links = self.packets.where("link IN (0, 1)").withWatermark("t", "0 seconds")
        counts = on_links.groupBy(self._window(), "src").agg(
            F.count_if(F.col("link") == 0).alias("wanted"), F.count_if(F.col("link") == 1).alias("others")
        )
        rest = counts.where("others = 0").groupBy("window").agg(F.sum("wanted").alias("n"))
        return _observed(rest, F.sum("n"), F.sum(self.slide() * F.col("n")))

    def w5(self) -> DataFrame:
        rows = [(i, q.low, q.high, q.first, q.last, q.proto) for i, q in enumerate(standing_queries())]
        bounds = self.spark.createDataFrame(
            rows, "query INT, low INT, high INT, first INT, last INT, wanted STRING"
        )
        matches = self.packets.withWatermark("t", "0 seconds").join(
            F.broadcast(bounds),
            F.expr(
                "bytes >= low AND bytes < high AND dst >= first AND dst < last "
                "AND (wanted IS NULL OR proto = wanted)"
            ),
        )
        counts = matches.groupBy(self._window(), "query").agg(F.count("*").alias("n"))
        return _observed(counts, F.sum("n"), F.sum((F.col("query") + 1 + 1009 * self.slide()) * F.col("n")))

    def w6(self) -> DataFrame:
        return self._per_source(F.count("*").alias("n"))

    def slide(self) -> Column:
        """The number of the slide that a window ends at."""
        passed = F.unix_millis("window.end") - F.lit(self.workload.end_ms(0))
        return (passed / F.lit(self.workload.slide_ms)).cast("bigint")

    def _window(self) -> Column:
        return F.window(
            "t", f"{self.workload.range_ms} milliseconds", f"{self.workload.slide_ms} milliseconds"
        )

    def _per_source(self, *aggregates: Column) -> DataFrame:
        marked = self.packets.withWatermark("t", "0 seconds")
        return marked.groupBy(self._window(), "src").agg(*aggregates)


def _observed(answer: DataFrame, *sums: Column) -> DataFrame:
    return answer.observe(OBSERVED, *(part.alias(f"part{i}") for i, part in enumerate(sums)))


def _rank(batch: DataFrame, asked: _Asked, checksum: Checksum) -> None:
    """Streaming has no ranks: those of the windows that a micro-batch completes are taken batch by batch."""
    rank = F.row_number().over(Window.partitionBy("window").orderBy(F.desc("n"), F.asc("src")))
    hash_ = (F.col("rank") + 11 * (F.col("src") + 1) + 60_000 * asked.slide()) * F.col("n")
    top = batch.withColumn("rank", rank).where("rank <= 10")
    row = top.agg(F.count("*"), F.sum("n"), F.sum(hash_)).collect()[0]
    checksum.add(*(value or 0 for value in row))


def search() -> None:
    """Measures every batch size and state store."""
    parser = argparse.ArgumentParser(description="The best settings for each workload.")
    parser.add_argument("--workloads", nargs="+", default=list(WORKLOADS))
    parser.add_argument("--rows", type=int, default=400_000)
    arguments = parser.parse_args()
    spark = SparkOwn()
    files = max(4, files_of(arguments.rows))
    for workload in arguments.workloads:
        spark.run(workload, 20_000, 2)
        for store in STORES:
            for files_per_batch in sorted({1, max(1, files // 2), files}):
                before = cpu_seconds()
                found = spark.run_with(workload, arguments.rows, files, Best(store, files_per_batch))
                rate, cpu = arguments.rows / found.seconds, cpu_seconds() - before
                print(
                    f"{workload} {store:<8} {files_per_batch:>3} of {files} files in a batch "
                    f"{rate:>12,.0f} rows/s {cpu:>8.1f} CPU seconds",
                    flush=True,
                )
    spark.close()


if __name__ == "__main__":
    search()
