"""A micro-batch of Spark's streaming query as the batch of an epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from panes.plan.stream import Stream
from panes.runtime.arrivals import Arrivals
from panes.spark.epoch_files import EpochFiles
from panes.spark.sources import brings_files
from panes.spark.spark_failures import SPARK_ERRORS


@dataclass(frozen=True)
class SparkBatch:
    """The rows of sources without files, as a DataFrame, and the files that Spark listed."""

    number: int
    frame: DataFrame
    files: EpochFiles

    @property
    def is_last(self) -> bool:
        return self.files.is_last

    @property
    def begun(self) -> Mapping[int, int]:
        return self.files.begun

    def arrivals(self, streams: Sequence[Stream], *, keeps_files: bool) -> Arrivals:
        frames = [self.files.rows(self.frame.sparkSession, streams)]
        if self.files.has_rest and not all(map(brings_files, streams)):
            frames.append(self.frame)
        return Arrivals(
            streams,
            self.files.by_tasks,
            self.files.arrival_us,
            [frame for frame in frames if frame is not None],
            are_history=frozenset(s.number for s in streams if keeps_files and self.files.can_be_history(s)),
            bad_files=self.files.bad,
        )

    def without_unreadable(self, streams: Sequence[Stream], error: Exception) -> SparkBatch | None:
        if not isinstance(error, SPARK_ERRORS):
            return None
        files = self.files.without_unreadable(self.frame.sparkSession, streams, error)
        return None if files is None else replace(self, files=files)
