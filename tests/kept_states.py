"""States as the tasks of epochs keep them: kept by hand, and looked at in a database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from panes.catalog import Catalog
from panes.stages.running_query import RunningQuery
from panes.state.buffers.chunk import Chunk
from panes.state.storage.epoch_log import EpochLog
from panes.state.storage.epoch_states import EpochStates, StagePlace
from panes.state.storage.index import pin_of_task
from panes.state.storage.locations import Location
from panes.state.storage.manifest import FOR_READERS, Manifest, Place
from panes.state.storage.segments import SegmentEntry
from panes.state.storage.task_states import TaskStates

STAGE = StagePlace(7, 0, 0, True)


class KeptStates:
    """The states of a stage, moved on epoch by epoch."""

    def __init__(self, states: Location, stage: StagePlace = STAGE, shards: int = 1) -> None:
        self.states = states
        self.stage = stage
        self.shards = shards
        self.pins: dict[str, str] = {}
        self.released: list[str] = []

    @property
    def now(self) -> EpochStates:
        """What is there at the end of the last epoch."""
        return EpochStates(self.states, dict(self.pins), self.shards)

    def manifest(self, shard: int = 0) -> Manifest | None:
        return self.now.load(self.stage, shard)

    def chunks(self, buffer: str, shard: int = 0) -> list[Chunk]:
        manifest = self.manifest(shard)
        return [] if manifest is None else self.now.chunks(manifest, buffer)

    def save(self, epoch: int, *chunks: Mapping[str, Sequence[Chunk]], writer: str = "a_1") -> dict[str, Any]:
        """An epoch that leaves these chunks on each shard; gives what its record has of the states."""
        before = self.now
        released: list[str] = []
        for shard, mine in enumerate(chunks):
            task = TaskStates(before, epoch, self.stage.level, shard, writer)
            task.save(self.stage.shard(shard), mine, before.load(self.stage, shard))
            saved = task.finish()
            assert saved is not None
            self.pins[pin_of_task(self.stage.level, shard)] = saved.pin
            released += saved.released
        before_that, self.released = self.released, released
        return {
            "states": dict(self.pins),
            "tasks": self.shards,
            "released": released,
            "released_before": before_that,
        }

    def objects(self) -> list[str]:
        """The objects that are there."""
        assert isinstance(self.states, Path)
        return sorted(str(path.relative_to(self.states)) for path in self.states.rglob("*.arrow"))


def last_states(database: Path) -> EpochStates:
    """The states of the last epoch of a database."""
    with closing(Catalog(database / "catalog.sqlite", read_only=True)) as catalog:
        record = EpochLog(database / "epochs", catalog.database).latest()
    assert record is not None
    return EpochStates(database / "states", record.states, record.tasks)


def places_in(states: EpochStates, running: int | None = None) -> Iterator[tuple[Place, Manifest]]:
    """What runs in a database, and the manifests of its shards; of one query, or of all."""
    for pin in states._pins:
        index = states.index(*map(int, pin.split("/")))
        assert index is not None
        for text, entry in index.places.items():
            place = Place.of(text)
            if running in (None, place.running):
                yield place, states.manifest(place, entry.manifest)


def segments_in(database: Path, running: int, *, for_readers: bool) -> list[SegmentEntry]:
    """The segments of the last epoch of a query, of its answer or of its operators."""
    return [
        entry
        for _, manifest in places_in(last_states(database), running)
        for name, entries in manifest.buffers.items()
        if (name in FOR_READERS) == for_readers
        for entry in entries
    ]


def overwrite(path: Path, offset: int, size: int) -> None:
    """Damages a part of a file."""
    content = bytearray(path.read_bytes())
    content[offset : offset + size] = bytes(byte ^ 0xFF for byte in content[offset : offset + size])
    path.write_bytes(content)


def answer_place(query: RunningQuery) -> StagePlace:
    """Where the answer of a query is."""
    return query.place_of(query.plan.last)
