"""How far the streams have come, and so how far time has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from panes.delta.delta import BEGINNING
from panes.plan.stream import Stream
from panes.state.epochs import StreamProgress

Progress = dict[int, StreamProgress]
"""By the number of the stream."""


@dataclass(frozen=True)
class Measured:
    """What one task found of one stream."""

    stream: int
    """Its number."""
    rows: int = 0
    min_ts: int | None = None
    max_ts: int | None = None
    late: int = 0
    bad: int = 0
    bad_files: int = 0


def progress_after(
    measured: Iterable[Measured],
    streams: Sequence[Stream],
    before: Mapping[int, StreamProgress],
    now_us: int,
) -> Progress:
    """What each stream has brought by now, with what all tasks have found."""
    progress = {
        stream.number: before.get(stream.number) or StreamProgress(last_us=now_us) for stream in streams
    }
    for found in measured:
        so_far = progress[found.stream]
        if found.bad_files:
            so_far = replace(so_far, bad_files=so_far.bad_files + found.bad_files)
            progress[found.stream] = so_far
        if found.rows:
            progress[found.stream] = replace(
                so_far,
                rows=so_far.rows + found.rows,
                max_ts=max(so_far.max_ts, BEGINNING if found.max_ts is None else found.max_ts),
                late=so_far.late + found.late,
                bad=so_far.bad + found.bad,
                last_us=now_us,
            )
    return progress


def rows_since(progress: Progress, before: Mapping[int, StreamProgress]) -> int:
    """How many rows came between two measurements."""
    return sum(now.rows - before.get(stream, StreamProgress()).rows for stream, now in progress.items())


def is_any_file_bad(progress: Progress, before: Mapping[int, StreamProgress]) -> bool:
    """Whether files were set aside between two measurements."""
    return any(
        now.bad_files > before.get(stream, StreamProgress()).bad_files for stream, now in progress.items()
    )


def complete_to(
    streams: Sequence[Stream], progress: Mapping[int, StreamProgress], now_us: int, idle_after_us: int
) -> int:
    """The instant up to which all streams have brought everything: the slowest one decides.

    A stream that has been silent for `idle_after_us` of wall time holds nobody back, unless all are.
    """
    active = [s for s in streams if now_us - progress[s.number].last_us < idle_after_us] or streams
    return min(_complete_to(stream, progress[stream.number].max_ts) for stream in active)


def _complete_to(stream: Stream, max_ts: int) -> int:
    if max_ts == BEGINNING or stream.timestamp is None:
        return max_ts
    # More tuples of the last one's time may follow.
    return max_ts - stream.slack_us - 1


def with_arrival_times(streams: Sequence[Stream], progress: Progress, now_us: int) -> Progress:
    """The progress after a moment of silence: whatever arrives from now on arrives after `now_us`."""
    return {
        stream.number: replace(progress[stream.number], max_ts=max(progress[stream.number].max_ts, now_us))
        if stream.timestamp is None
        else progress[stream.number]
        for stream in streams
    }
