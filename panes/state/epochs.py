"""The log of committed epochs: one small file each, written last, so that an epoch counts wholly or not.

Readers take the latest file and see the manifests of that epoch alone. The file is written before Spark's own
commit: a micro-batch that Spark brings again after a crash, though it is in the log, is passed over.
"""

from __future__ import annotations

import threading
from bisect import insort
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from panes.delta.delta import BEGINNING
from panes.errors import EpochGone
from panes.state.bell import Bell
from panes.state.files import make_folder, read_json, write_json
from panes.state.holds import Hold, Holds
from panes.state.recently_used import RecentlyUsed

_RECORDS_IN_MEMORY = 16
"""With thousands of queries a record is not small."""


@dataclass(frozen=True)
class StreamProgress:
    """What a stream has brought so far."""

    rows: int = 0
    max_ts: int = BEGINNING
    late: int = 0
    bad: int = 0
    last_us: int = 0
    """Wall time at which it last brought rows."""


@dataclass(frozen=True)
class QueryProgress:
    """What one epoch did to a registered query."""

    shards: int
    changes: int
    """Rows of the delta of its answer."""
    bytes: int
    segments: int


@dataclass(frozen=True)
class EpochRecord:
    epoch: int
    batch: int
    """The last micro-batch of Spark that is in; -1 before the first. An epoch without rows adds none."""
    clock: int
    rows: int
    seconds: float
    finished_us: int
    """Wall time of the commit."""
    since: int = BEGINNING
    """The clock of the epoch before."""
    phases: dict[str, float] = field(default_factory=dict)
    """How many seconds each part of the work took."""
    streams: dict[int, StreamProgress] = field(default_factory=dict)
    """By their numbers."""
    queries: dict[int, QueryProgress] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> EpochRecord:
        streams = {
            int(stream): StreamProgress(**progress) for stream, progress in content.pop("streams").items()
        }
        queries = {
            int(query): QueryProgress(**progress) for query, progress in content.pop("queries").items()
        }
        return cls(**content, streams=streams, queries=queries)

    @property
    def state_bytes(self) -> int:
        return sum(query.bytes for query in self.queries.values())


NOTHING = EpochRecord(epoch=-1, batch=-1, clock=BEGINNING, rows=0, seconds=0.0, finished_us=0)
"""The record before the first epoch."""


class EpochLog:
    """The records of the epochs that are kept. Only one process at a time has the folder: it is listed once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._epochs = sorted(int(path.stem.removeprefix("epoch-")) for path in folder.glob("epoch-*.json"))
        self._used: RecentlyUsed[int, EpochRecord] = RecentlyUsed(_RECORDS_IN_MEMORY)
        self.holds = Holds()
        self.bell = Bell()
        """Rings when an epoch is committed."""

    @property
    def epochs(self) -> tuple[int, ...]:
        """The numbers of the epochs that are kept, in order."""
        with self._lock:
            return tuple(self._epochs)

    def commit(self, record: EpochRecord) -> None:
        make_folder(self._folder)
        write_json(self._path(record.epoch), record.as_json())
        with self._lock:
            if record.epoch not in self._epochs:
                insort(self._epochs, record.epoch)
        self._used.put(record.epoch, record)
        self.bell.ring()

    def latest(self) -> EpochRecord | None:
        """The last committed epoch."""
        epochs = self.epochs
        return self.record(epochs[-1]) if epochs else None

    def record(self, epoch: int) -> EpochRecord:
        """The record of an epoch that is kept."""
        return self._used.get(epoch, lambda: EpochRecord.from_json(read_json(self._path(epoch))))

    def recent(self, count: int) -> list[EpochRecord]:
        """The last committed epochs, the latest last."""
        return [self.record(epoch) for epoch in self.epochs[-count:]]

    def collect(self, oldest_epoch: int) -> None:
        with self._lock:
            gone = [epoch for epoch in self._epochs if epoch < oldest_epoch]
            self._epochs = self._epochs[len(gone) :]
        for epoch in gone:
            self._path(epoch).unlink(missing_ok=True)

    @contextmanager
    def held(self, choose: Callable[[], int | None]) -> Iterator[Hold | None]:
        """Holds the epoch that is chosen, which is chosen anew should it go just then; None when there is none."""
        while (epoch := choose()) is not None:
            try:
                hold = self.holds.hold(epoch)
            except EpochGone:
                continue  # there is a later one
            with hold:
                yield hold
            return
        yield None

    def _path(self, epoch: int) -> Path:
        return self._folder / f"epoch-{epoch:010d}.json"
