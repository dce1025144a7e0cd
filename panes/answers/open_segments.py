"""The segments that readers have looked at last, kept open."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from panes.errors import StateError
from panes.state.buffers.chunk import Chunk
from panes.state.storage.epoch_log import EpochLog
from panes.state.storage.locations import Location
from panes.state.storage.manifest import FOR_READERS, ShardState, pinned
from panes.state.storage.recently_used import RecentlyUsed

_EPOCHS_IN_MEMORY = 512
_SEGMENTS_IN_MEMORY = 2_048


class OpenSegments:
    """The chunks of shards by epoch. What was used last stays open: manifests and segments never change."""

    def __init__(self, log: EpochLog) -> None:
        """The records of epochs say which manifests are theirs."""
        self._log = log
        self._epochs: RecentlyUsed[tuple[Location, int], Mapping[str, Sequence[Chunk]]] = RecentlyUsed(
            _EPOCHS_IN_MEMORY
        )
        self._chunks: RecentlyUsed[Hashable, Chunk] = RecentlyUsed(_SEGMENTS_IN_MEMORY)

    def chunks(self, folder: Location, epoch: int) -> Mapping[str, Sequence[Chunk]]:
        """The chunks that a shard had for readers at the end of an epoch, by buffer."""
        return self._epochs.get((folder, epoch), lambda: self._open(folder, epoch))

    def _open(self, folder: Location, epoch: int) -> Mapping[str, Sequence[Chunk]]:
        state = ShardState(folder)
        manifest = state.load(epoch, self._checksum(state, epoch))
        return {
            buffer: [self._once(folder, chunk) for chunk in state.chunks(manifest, buffer)]
            for buffer in FOR_READERS
        }

    def _checksum(self, state: ShardState, epoch: int) -> str | None:
        """The checksum that the manifest of an epoch must have.

        A query that had nothing to do lately has its manifest of an epoch whose record may be gone; then the first
        record that is kept names it, or names one that was made from it.
        """
        first = self._log.epochs[0]
        try:
            pin = self._log.record(max(epoch, first)).pins.get(state.place)
        except StateError:
            if self._log.epochs[0] == first:
                raise
            return self._checksum(state, epoch)  # it was collected just now
        found = pinned(pin, epoch)
        if found is not None or pin is None:
            return found
        later = int(pin.partition(":")[0])
        return state.load(later, pinned(pin, later)).before if later > epoch else None

    def _once(self, folder: Location, chunk: Chunk) -> Chunk:
        # The same segment may come under other labels later.
        return self._chunks.get((folder, chunk.segment, tuple(chunk.labels.items())), lambda: chunk)
