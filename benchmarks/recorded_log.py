"""A log of epochs that records reads: from these the history of a live run is made."""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident

import panes
from panes.state.storage.epoch_log import BEFORE_ALL, EpochLog
from tests.reference.histories import RecordedRead


class RecordedLog(EpochLog):
    """Notes for each thread what it was told when it asked for the last epoch.

    That says when it asked: after the commit of that epoch, and before the next one. So no clock is needed to tell
    in which order reads and commits were.
    """

    looks: dict[int, list[int]]

    @property
    def last(self) -> int:
        found = super().last
        self.looks.setdefault(get_ident(), []).append(found)
        return found

    def recorded(self, read: Callable[[], panes.Answer]) -> RecordedRead:
        """What a read of this thread saw: the last epoch at its first look and at its last one, and its own."""
        looks = self.looks[get_ident()] = []
        epoch = read().epoch
        return RecordedRead(looks[0], looks[-1], BEFORE_ALL if epoch is None else epoch)


def record_reads(db: panes.Database) -> RecordedLog:
    """Lets the log of a database that is open be recorded from now on."""
    log = db._log
    log.__class__ = RecordedLog
    assert isinstance(log, RecordedLog)
    log.looks = {}
    return log
