"""How far the streams have come, and so how far time has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from panes.delta.delta import BEGINNING, TS
from panes.language.statements import CreateStream
from panes.pipeline.batch import BAD, STREAM
from panes.state.epochs import StreamProgress

Progress = dict[str, StreamProgress]


def measure(
    batch: DataFrame,
    streams: Sequence[CreateStream],
    before: Mapping[str, StreamProgress],
    since: int,
    now_us: int,
) -> Progress:
    """What each stream has brought by now, this batch included. One small Spark job, or two."""
    good = F.col(BAD).isNull()
    counted = batch.groupBy(STREAM).agg(
        F.count("*").alias("rows"),
        F.min(F.when(good, F.col(TS))).alias("min_ts"),
        F.max(F.when(good, F.col(TS))).alias("max_ts"),
        F.count_if(~good).alias("bad"),
    )
    found = {row[STREAM]: row for row in counted.toArrow().to_pylist()}
    # Late rows are rare, and a job that compares with the clock is compiled anew at every epoch: only then.
    late: dict[int, int] = {}
    if any(row["min_ts"] is not None and row["min_ts"] <= since for row in found.values()):
        too_late = batch.where(good & (F.col(TS) <= since)).groupBy(STREAM).count()
        late = {row[STREAM]: row["count"] for row in too_late.toArrow().to_pylist()}
    progress = {}
    for number, stream in enumerate(streams):
        so_far = before.get(stream.name) or StreamProgress(last_us=now_us)
        row = found.get(number)
        if row is not None:
            so_far = StreamProgress(
                rows=so_far.rows + row["rows"],
                max_ts=max(so_far.max_ts, BEGINNING if row["max_ts"] is None else row["max_ts"]),
                late=so_far.late + late.get(number, 0),
                bad=so_far.bad + row["bad"],
                last_us=now_us,
            )
        progress[stream.name] = so_far
    return progress


def rows_since(progress: Progress, before: Mapping[str, StreamProgress]) -> int:
    """How many rows came between two measurements."""
    return sum(now.rows - before.get(name, StreamProgress()).rows for name, now in progress.items())


def complete_to(
    streams: Sequence[CreateStream], progress: Mapping[str, StreamProgress], now_us: int, idle_after_us: int
) -> int:
    """The instant up to which all streams have brought everything: the slowest one decides.

    A stream that has been silent for `idle_after_us` of wall time holds nobody back, unless all are.
    """
    active = [s for s in streams if now_us - progress[s.name].last_us < idle_after_us] or streams
    return min(_complete_to(stream, progress[stream.name].max_ts) for stream in active)


def _complete_to(stream: CreateStream, max_ts: int) -> int:
    if max_ts == BEGINNING or stream.timestamp is None:
        return max_ts
    # More tuples of the last one's time may follow.
    return max_ts - stream.slack_us - 1


def with_arrival_times(streams: Sequence[CreateStream], progress: Progress, now_us: int) -> Progress:
    """The progress after a moment of silence: whatever arrives from now on arrives after `now_us`."""
    return {
        stream.name: replace(progress[stream.name], max_ts=max(progress[stream.name].max_ts, now_us))
        if stream.timestamp is None
        else progress[stream.name]
        for stream in streams
    }
