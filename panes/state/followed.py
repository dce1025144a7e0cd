"""The log of epochs that another process writes, for those who only read.

Nothing that is read can be held here: whoever runs the epochs knows nothing of readers in other processes, and
removes what is older than `retain_epochs`. But it removes the record of an epoch before anything else of it. So a
reader that finds the record of its epoch still there when it is done has read all of that epoch, as it was.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from panes.errors import EpochGone, StateError
from panes.state.epochs import EpochLog, EpochRecord, epochs_in
from panes.state.holds import Hold, Holds


class FollowedLog(EpochLog):
    """The records of the epochs that are kept at this moment: the folder is listed whenever it is asked for."""

    def __init__(self, folder: Path, database: str = "") -> None:
        super().__init__(folder, database)
        self.holds = _Watches(self)

    @property
    def epochs(self) -> range:
        return epochs_in(self._folder)

    @property
    def last(self) -> int:
        epochs = self.epochs
        return epochs[-1] if epochs else -1

    def record(self, epoch: int) -> EpochRecord:
        try:
            return super().record(epoch)
        except StateError as error:
            if self.is_kept(epoch):
                raise
            raise _gone(epoch) from error

    def recent(self, count: int) -> list[EpochRecord]:
        found = []
        for epoch in self.epochs[-count:]:
            try:
                found.append(self.record(epoch))
            except EpochGone:
                found = []  # the later ones are still there
        return found

    def is_kept(self, epoch: int) -> bool:
        """Whether an epoch, and so all that belongs to it, is still there."""
        return self.path(epoch).exists()


class _Watches(Holds):
    """In place of holds: they keep nothing, and say at the end whether it stayed."""

    def __init__(self, log: FollowedLog) -> None:
        super().__init__()
        self._log = log

    def hold(self, epoch: int) -> Hold:
        return _Watch(self, self._log, epoch)


class _Watch(Hold):
    def __init__(self, watches: Holds, log: FollowedLog, epoch: int) -> None:
        super().__init__(watches, epoch)
        self._log = log

    def move_to(self, epoch: int) -> None:
        self.epoch = epoch

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        is_in_doubt = kind is None or issubclass(kind, StateError)
        if is_in_doubt and not self._log.is_kept(self.epoch):
            raise _gone(self.epoch) from error


def _gone(epoch: int) -> EpochGone:
    return EpochGone(
        f"epoch {epoch} was removed while it was being read; ask again, or SET retain_epochs to a larger number"
    )
