"""The horizon of a stream: how far back somebody may ask what a table was."""

from __future__ import annotations

from collections.abc import Iterable

from panes.delta.delta import ALWAYS, BEGINNING
from panes.history.history_file import HistoryFile
from panes.history.retention import Retained
from panes.plan.stream import Stream


def horizon(stream: Stream, clock: int, retained: Retained, files: Iterable[HistoryFile]) -> int:
    """The instant before which no tuple of a stream lies that may yet come, or that its history keeps.

    What was changed before a stream had begun has always been so for it.
    """
    if clock == BEGINNING:
        return ALWAYS
    reaches = [clock - stream.slack_us, retained.oldest_ts(clock) - stream.slack_us]
    return max(ALWAYS, min(reaches + [file.min_ts for file in files]))
