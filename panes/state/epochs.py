"""The log of committed epochs: one small file each, written last, so that an epoch counts wholly or not.

Readers take the latest file and see the manifests of that epoch alone. The file is written before Spark's own
commit: an epoch that Spark does again after a crash writes the same file again.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from panes.delta.delta import BEGINNING
from panes.state.files import read_json, write_json


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
    streams: dict[str, StreamProgress] = field(default_factory=dict)
    queries: dict[int, QueryProgress] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> EpochRecord:
        streams = {name: StreamProgress(**progress) for name, progress in content.pop("streams").items()}
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
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def commit(self, record: EpochRecord) -> None:
        write_json(self._path(record.epoch), record.as_json())

    def latest(self, before_batch: int | None = None) -> EpochRecord | None:
        """The last committed epoch, or the last one that does not hold a given micro-batch yet."""
        for epoch in reversed(self._epochs()):
            record = self._read(epoch)
            if before_batch is None or record.batch < before_batch:
                return record
        return None

    def recent(self, count: int) -> list[EpochRecord]:
        """The last committed epochs, the latest last."""
        return [self._read(epoch) for epoch in self._epochs()[-count:]]

    def collect(self, oldest_epoch: int) -> None:
        for epoch in self._epochs():
            if epoch < oldest_epoch:
                self._path(epoch).unlink(missing_ok=True)

    def _read(self, epoch: int) -> EpochRecord:
        return EpochRecord.from_json(read_json(self._path(epoch)))

    def _epochs(self) -> list[int]:
        return sorted(int(path.stem.removeprefix("epoch-")) for path in self._folder.glob("epoch-*.json"))

    def _path(self, epoch: int) -> Path:
        return self._folder / f"epoch-{epoch:010d}.json"
