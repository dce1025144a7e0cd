"""The segments that readers have looked at last, kept open."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from panes.state.chunk import Chunk
from panes.state.locations import Location
from panes.state.manifest import FOR_READERS, ShardState
from panes.state.recently_used import RecentlyUsed

_EPOCHS_IN_MEMORY = 512
_SEGMENTS_IN_MEMORY = 2_048


class OpenSegments:
    """The chunks of shards by epoch. What was used last stays open: manifests and segments never change."""

    def __init__(self, pins: Callable[[int], Mapping[str, str]]) -> None:
        """`pins` gives the checksums of the manifests of an epoch, by place."""
        self._pins = pins
        self._epochs: RecentlyUsed[tuple[Location, int], Mapping[str, Sequence[Chunk]]] = RecentlyUsed(
            _EPOCHS_IN_MEMORY
        )
        self._chunks: RecentlyUsed[Hashable, Chunk] = RecentlyUsed(_SEGMENTS_IN_MEMORY)

    def chunks(self, folder: Location, epoch: int) -> Mapping[str, Sequence[Chunk]]:
        """The chunks that a shard had for readers at the end of an epoch, by buffer."""
        return self._epochs.get((folder, epoch), lambda: self._open(folder, epoch))

    def _open(self, folder: Location, epoch: int) -> Mapping[str, Sequence[Chunk]]:
        state = ShardState(folder)
        manifest = state.load(epoch, self._pins(epoch).get(state.place))
        return {
            buffer: [self._once(folder, chunk) for chunk in state.chunks(manifest, buffer)]
            for buffer in FOR_READERS
        }

    def _once(self, folder: Location, chunk: Chunk) -> Chunk:
        # The same segment may come under other labels later.
        return self._chunks.get((folder, chunk.segment, tuple(chunk.labels.items())), lambda: chunk)
