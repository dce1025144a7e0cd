"""The log of epochs that another process writes, for those who only read.

Nothing that is read can be held here: whoever runs the epochs knows nothing of readers in other processes, and
removes what is older than `retain_epochs`. But it removes the record of an epoch before anything else of it. So a
reader that finds the record of its epoch still there when it is done has read all of that epoch, as it was.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from panes.errors import EpochGone, StateError
from panes.state.storage.bell import Bell
from panes.state.storage.epoch_log import EpochLog, EpochRecord
from panes.state.storage.leases import Lease, Leases
from panes.state.storage.locations import Location, names_in

_POLL_S = 0.1
"""How often those who wait for an epoch look for one."""


class FollowedLog(EpochLog):
    """The records of the epochs that are kept at this moment: the folder is listed whenever it is asked for."""

    def __init__(self, folder: Location, database: str = "") -> None:
        super().__init__(folder, database)
        self._refreshing = threading.Lock()
        self._names: list[str] = []
        self._now: EpochLog = self
        self.holds = _Watches(self)
        self.bell = _LookingBell(self)

    @property
    def epochs(self) -> range:
        return self._listed().epochs

    @property
    def last(self) -> int:
        epochs = self.epochs
        return epochs[-1] if epochs else -1

    def record(self, epoch: int) -> EpochRecord:
        try:
            return self._listed().record(epoch)
        except StateError as error:
            if self.is_kept(epoch):
                raise
            raise _gone(epoch) from error

    def latest(self) -> EpochRecord | None:
        """The last committed epoch; that one is never removed."""
        return self._listed().latest()

    def recent(self, count: int) -> list[EpochRecord]:
        found: list[EpochRecord] = []
        for epoch in self.epochs[-count:]:
            try:
                found.append(self.record(epoch))
            except EpochGone:
                found = []  # the later ones are still there
        return found

    def is_kept(self, epoch: int) -> bool:
        """Whether an epoch, and so all that belongs to it, is still there."""
        return self._listed().path(epoch).exists()

    def names(self) -> list[str]:
        """The files of the log at this moment."""
        return sorted(name for name in names_in(self._folder) if name.startswith("epoch-"))

    def _listed(self) -> EpochLog:
        """The log as it is at this moment."""
        names = self.names()
        with self._refreshing:
            if names != self._names or self._now is self:
                self._now = EpochLog(self._folder, self._database)
                self._names = names
            return self._now


class _Watches(Leases):
    """In place of holds: they keep nothing, and say at the end whether it stayed."""

    def __init__(self, log: FollowedLog) -> None:
        super().__init__()
        self._log = log

    def hold(self, epoch: int) -> Lease:
        return _Watch(self, self._log, epoch)


class _Watch(Lease):
    def __init__(self, watches: Leases, log: FollowedLog, epoch: int) -> None:
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


class _LookingBell(Bell):
    """Looks for new epochs while somebody listens: no other process rings here."""

    def __init__(self, log: FollowedLog) -> None:
        super().__init__()
        self._log = log

    @contextmanager
    def heard_by(self, listener: Callable[[], object]) -> Iterator[None]:
        is_over = threading.Event()

        def look() -> None:
            seen = self._log.names()
            listener()
            while not is_over.wait(_POLL_S):
                names = self._log.names()
                if names != seen:
                    seen = names
                    listener()

        with super().heard_by(listener):
            looking = threading.Thread(target=look, name="panes-looking", daemon=True)
            looking.start()
            try:
                yield
            finally:
                is_over.set()


def _gone(epoch: int) -> EpochGone:
    return EpochGone(
        f"epoch {epoch} was removed while it was being read; ask again, or SET retain_epochs to a larger number"
    )
