"""A micro-batch of Spark's streaming query as the batch of an epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from panes.ingest.bad_files import set_aside
from panes.ingest.file_sources import brings_files
from panes.plan.stream import Stream
from panes.runtime.arrivals import Arrivals
from panes.runtime.engine_file import EngineFile
from panes.runtime.epoch_files import EpochFiles
from panes.runtime.unseen_files import unseen_file
from panes.spark.spark_failures import SPARK_ERRORS, hosts_in
from panes.spark.spark_files import is_missing_in, is_of_a_file, rows_of, why_unreadable
from panes.spark.union_streams import union_streams


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
        frames = [self._rows(streams)]
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
        """Returns the batch without the files that Spark cannot read; None when that was not the reason.

        Each file is read alone: Spark names one file at most, and there may be several. Raises SourceError when a
        task does not find a file that the driver sees.
        """
        if not isinstance(error, SPARK_ERRORS) or not is_of_a_file(error):
            return None
        good: dict[int, tuple[EngineFile, ...]] = {}
        bad = []
        for stream in streams:
            files = self.files.by_engine.get(stream.number, ())
            problems = {file: why_unreadable(self.frame.sparkSession, stream, file) for file in files}
            for file, why in problems.items():
                # Read alone, it may have been read by a machine that sees it.
                is_missing = isinstance(why, FileNotFoundError) or (
                    why is None and is_missing_in(error, file)
                )
                if is_missing and file.is_seen:
                    raise unseen_file(stream.name, file.path, hosts_in(str(error)))
            good[stream.number] = tuple(file for file in files if problems[file] is None)
            bad += [set_aside(stream, file.path, why) for file, why in problems.items() if why]
        if not bad:
            return None
        return replace(self, files=replace(self.files, by_engine=good, bad=(*self.files.bad, *bad)))

    def _rows(self, streams: Sequence[Stream]) -> DataFrame | None:
        """The rows of the files that Spark reads, as one DataFrame; None when it reads no file."""
        frames = {
            place: rows_of(self.frame.sparkSession, stream, files, self.files.arrival_us)
            for place, stream in enumerate(streams)
            if (files := self.files.by_engine.get(stream.number))
        }
        return union_streams(frames) if frames else None
