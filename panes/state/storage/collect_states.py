"""Removing the objects of states that nobody reads any more, and what failed attempts have left."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from panes.state.storage.epoch_log import EpochLog, EpochRecord
from panes.state.storage.locations import Location, names_in, remove_files
from panes.state.storage.manifest import RecordRef
from panes.state.storage.task_states import ObjectName


class StateCollector:
    """Follows the epochs of a log. To be used by the driver, between epochs.

    Every record says what its epoch no longer needs. An object for readers goes with that record: until then
    somebody may ask what the epoch changed. The record after it says so too: a removal that was cut short is
    finished later.
    """

    def __init__(self, states: Location, log: EpochLog) -> None:
        self._states = states
        self._log = log
        self._swept = log.epochs.start - 1 if log.epochs else -1
        """The last epoch whose objects for operators have been removed."""
        self._is_resumed = False
        """Whether what an earlier process left undone has been done."""

    def collect(self, oldest: int, oldest_state: int) -> None:
        """Removes what only epochs before `oldest` need, and of operators what only those before `oldest_state`
        do."""
        kept = self._log.epochs
        for epoch in range(max(self._swept + 1, kept.start), min(oldest_state + 1, kept.stop)):
            self._remove(self._log.record(epoch).released, for_readers=False)
            self._swept = epoch
        if kept and not self._is_resumed:
            self._remove(self._log.record(kept.start).released_before, for_readers=True)
            self._is_resumed = True
        for epoch in range(kept.start, min(oldest, kept.stop - 1)):
            self._remove(self._left_behind(self._log.record(epoch)), for_readers=None)
            following = self._log.record(epoch + 1)
            # First its name: should this be cut short, nobody looks for what is gone.
            self._log.collect(epoch + 1)
            self._remove(following.released_before, for_readers=True)
            self._remove_folder(epoch)

    def _left_behind(self, record: EpochRecord) -> list[str]:
        """What attempts have written in an epoch that did not come to be part of it."""
        folder = f"{record.epoch:010d}"
        writers = {_attempt(RecordRef.of(pin).object) for pin in record.states.values()}
        names = (f"{folder}/{name}" for name in names_in(self._states / folder))
        return [name for name in names if ObjectName.of(name) and _attempt(name) not in writers]

    def _remove(self, names: Iterable[str], *, for_readers: bool | None) -> None:
        """Removes objects: those for readers, those for operators, or all."""
        found = [
            name
            for name in names
            if (parts := ObjectName.of(name)) and for_readers in (None, parts.is_for_readers)
        ]
        if not found:
            return
        remove_files(self._states / name for name in found)
        for epoch in {name.partition("/")[0] for name in found}:
            self._remove_folder(int(epoch))

    def _remove_folder(self, epoch: int) -> None:
        folder = self._states / f"{epoch:010d}"
        if isinstance(folder, Path):
            with suppress(OSError):  # there is something in it still
                folder.rmdir()


def _attempt(name: str) -> ObjectName | None:
    """What the objects of one attempt of a task have in common."""
    parts = ObjectName.of(name)
    return None if parts is None else parts._replace(is_for_readers=True)
