"""The segments that readers have looked at last, kept open."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress

from panes.errors import StateError
from panes.state.buffers.chunk import Chunk
from panes.state.storage.epoch_log import EpochLog, EpochRecord
from panes.state.storage.epoch_states import EpochStates, StagePlace
from panes.state.storage.locations import Location
from panes.state.storage.manifest import ANSWER, FOR_READERS, Manifest
from panes.state.storage.recently_used import RecentlyUsed
from panes.state.storage.records import missing

_EPOCHS_IN_MEMORY = 512
_STATES_IN_MEMORY = 16
_SEGMENTS_IN_MEMORY = 2_048
_LATELY = 64
"""For this many epochs after a lookup the segments of its answer are opened ahead of the next one."""


class OpenSegments:
    """The chunks of shards by epoch. What was used last stays open: manifests and segments never change.

    To open a segment takes as long as its checksum does, some milliseconds for a few megabytes. A lookup by key
    takes less, so where there were some lately, what an epoch has written is opened before readers see the epoch.
    """

    def __init__(self, log: EpochLog, states: Location) -> None:
        """The records of epochs say which manifests are theirs; `states` is the folder of all states."""
        self._log = log
        self._states = states
        self._indexes: RecentlyUsed[int, EpochStates] = RecentlyUsed(_STATES_IN_MEMORY)
        self._epochs: RecentlyUsed[Hashable, Mapping[str, Sequence[Chunk]]] = RecentlyUsed(_EPOCHS_IN_MEMORY)
        self._chunks: RecentlyUsed[Hashable, Chunk] = RecentlyUsed(_SEGMENTS_IN_MEMORY)
        self._looked_up: dict[tuple[StagePlace, int], int] = {}
        """The shards of answers that keys were looked up in, with the epoch of the last lookup."""
        log.ahead.append(self._open_ahead)

    def chunks(self, stage: StagePlace, shard: int, epoch: int) -> Mapping[str, Sequence[Chunk]]:
        """The chunks that a shard had for readers at the end of an epoch that ran its query, by buffer."""
        return self._epochs.get((stage, shard, epoch), lambda: self._open(stage, shard, epoch))

    def expect_lookups(self, stage: StagePlace, shard: int) -> None:
        """Lets what the next epochs write of a shard be open by the time that readers see it."""
        self._looked_up[stage, shard] = self._log.last

    def _open_ahead(self, record: EpochRecord) -> None:
        """Opens what an epoch has written of the answers that keys were looked up in lately."""
        states = EpochStates(self._states, record.states, record.tasks)
        for (stage, shard), last in list(self._looked_up.items()):
            if record.epoch - last > _LATELY:
                self._looked_up.pop((stage, shard), None)
                continue
            # A damaged file concerns whoever reads it, and no epoch.
            with suppress(StateError):
                manifest = states.load(stage, shard)
                if manifest is not None and manifest.epoch == record.epoch:
                    opened = self._opened(states, manifest)
                    self._epochs.put((stage, shard, record.epoch), opened)
                    for chunk in opened[ANSWER]:
                        chunk.open()

    def _open(self, stage: StagePlace, shard: int, epoch: int) -> Mapping[str, Sequence[Chunk]]:
        return self._opened(*self._manifest(stage, shard, epoch))

    def _opened(self, states: EpochStates, manifest: Manifest) -> Mapping[str, Sequence[Chunk]]:
        return {
            buffer: [self._once(chunk) for chunk in states.chunks(manifest, buffer)] for buffer in FOR_READERS
        }

    def _manifest(self, stage: StagePlace, shard: int, epoch: int) -> tuple[EpochStates, Manifest]:
        """The manifest that an epoch wrote.

        A query that had nothing to do lately has its manifest of an epoch whose record may be gone; then the first
        record that is kept names it, or names one that was made from it.
        """
        first = self._log.epochs[0]
        try:
            states = self._states_of(max(epoch, first))
            found = states.load(stage, shard)
            while found is not None and found.epoch > epoch and found.before is not None:
                found = states.manifest(stage.shard(shard), found.before)
        except StateError:
            if self._log.epochs[0] == first:
                raise
            return self._manifest(stage, shard, epoch)  # it was collected just now
        if found is None or found.epoch != epoch:
            raise missing(f"the manifest of {stage.shard(shard)} at epoch {epoch}")
        return states, found

    def _states_of(self, epoch: int) -> EpochStates:
        def opened() -> EpochStates:
            record = self._log.record(epoch)
            return EpochStates(self._states, record.states, record.tasks)

        return self._indexes.get(epoch, opened)

    def _once(self, chunk: Chunk) -> Chunk:
        # The same segment may come under other labels later.
        return self._chunks.get((chunk.segment, tuple(chunk.labels.items())), lambda: chunk)
