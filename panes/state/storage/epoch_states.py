"""The states of all queries at the end of an epoch: an index for each task, which names the manifests of its
places.

The record of the epoch pins the index of each task of each level. An index also says which objects each place
uses, so that whoever replaces it knows what nobody needs any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from panes.state.buffers.chunk import Chunk
from panes.state.storage.index import Index, pin_of_task
from panes.state.storage.locations import Location
from panes.state.storage.manifest import Manifest, Place, RecordRef
from panes.state.storage.segments import open_segment


class StagePlace(NamedTuple):
    """A stage of what runs, and on which tasks of which level its shards are."""

    running: int
    stage: int
    level: int
    is_sharded: bool

    def shard(self, number: int) -> Place:
        return Place(self.running, self.stage, number)

    def shards(self, spread: int) -> int:
        """How many shards it has when its query is spread over that many."""
        return spread if self.is_sharded else 1

    def task_of(self, shard: int, tasks: int) -> int:
        """The task that has a shard; the stages that have only one are spread over all tasks."""
        return shard if self.is_sharded else self.running % tasks


class EpochStates:
    """What can be read of the states of an epoch, by tasks of the next one and by readers.

    Manifests and indexes never change, so what was read is kept.
    """

    def __init__(self, states: Location, pins: Mapping[str, str], tasks: int, *, whole: bool = False) -> None:
        """`states` is the folder of all states, `pins` and `tasks` are those of the record of the epoch. With
        `whole`, objects that lie elsewhere are fetched whole."""
        self.states = states
        self.tasks = tasks
        self._pins = pins
        self._whole = whole
        self._indexes: dict[str, Index | None] = {}

    def index(self, level: int, task: int) -> Index | None:
        """What a task had at the end of the epoch; None when it had nothing."""
        name = pin_of_task(level, task)
        if name not in self._indexes:
            pin = self._pins.get(name)
            ref = None if pin is None else RecordRef.of(pin)
            self._indexes[name] = (
                None if ref is None else Index.read(self.states, level, task, ref, whole=self._whole)
            )
        return self._indexes[name]

    def load(self, stage: StagePlace, shard: int) -> Manifest | None:
        """The manifest of a shard; None when there is none."""
        index = self.index(stage.level, stage.task_of(shard, self.tasks))
        place = stage.shard(shard)
        entry = None if index is None else index.entry(str(place))
        return None if entry is None else self.manifest(place, entry.manifest)

    def manifest(self, place: Place, ref: RecordRef) -> Manifest:
        """A manifest of a place, of this or an earlier epoch."""
        return Manifest.read(self.states, place, ref, whole=self._whole)

    def chunks(self, manifest: Manifest, buffer: str) -> list[Chunk]:
        entries = manifest.buffers.get(buffer, ())
        return [open_segment(self.states, entry, whole=self._whole) for entry in entries]
