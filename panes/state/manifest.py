"""The state of one query on one shard: a manifest per epoch that names immutable segments.

The manifest of epoch e is made from the one of e-1 alone: chunks that stayed keep their segments, new ones
are written first, the manifest last, by rename. Doing an epoch again therefore writes the same names again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from panes.crash_points import reach
from panes.state.base import State
from panes.state.chunk import Chunk
from panes.state.files import flushed_together, make_folder, read_json, write_json
from panes.state.locations import Location, names_in
from panes.state.segments import SegmentEntry, open_segment, write_segment

Chunks = Mapping[str, Sequence[Chunk]]

ANSWER = "answer"
"""The buffer that adds up to the answer at the clock of the epoch."""
CHANGES = "changes"
"""The buffer with the delta of the answer in the epoch."""
TUPLES, MATCHES = "tuples", "matches"
"""The buffers of selections that share their stream: its tuples, and which of them each has."""
FOR_READERS = (ANSWER, CHANGES, TUPLES, MATCHES)
"""The buffers that readers may ask for while their epoch is kept; the others are those of operators."""

# How the names of segments begin.
_FOR_READERS = "answer"
_FOR_OPERATORS = "segment"


@dataclass(frozen=True)
class Manifest:
    epoch: int
    buffers: dict[str, tuple[SegmentEntry, ...]]

    @property
    def entries(self) -> tuple[SegmentEntry, ...]:
        return tuple(entry for entries in self.buffers.values() for entry in entries)

    @property
    def bytes(self) -> int:
        return sum(entry.bytes for entry in self.entries)


def shard_folder(query_folder: Location, shard: int) -> Location:
    return query_folder / f"shard-{shard:04d}"


class ShardState:
    """The folder of one shard: `manifest-0000000012.json` and the segments it names."""

    def __init__(self, folder: Location) -> None:
        self.folder = folder

    def load(self, epoch: int) -> Manifest:
        content = read_json(self._manifest_path(epoch))
        buffers = {
            name: tuple(SegmentEntry(**entry) for entry in entries)
            for name, entries in content["buffers"].items()
        }
        return Manifest(epoch, buffers)

    def chunks(self, manifest: Manifest, buffer: str) -> list[Chunk]:
        return [open_segment(self.folder, entry) for entry in manifest.buffers.get(buffer, ())]

    def restore(self, manifest: Manifest, buffers: Mapping[str, State]) -> None:
        for name, buffer in buffers.items():
            buffer.restore(self.chunks(manifest, name))

    @flushed_together()
    def save(self, epoch: int, chunks: Chunks, before: Manifest | None) -> Manifest:
        """Writes the chunks that no segment holds yet, then the manifest of the epoch."""
        make_folder(self.folder)
        held = {entry.segment: entry for entry in before.entries} if before else {}
        buffers: dict[str, tuple[SegmentEntry, ...]] = {}
        written = 0
        for name, parts in chunks.items():
            kind = _FOR_READERS if name in FOR_READERS else _FOR_OPERATORS
            entries = []
            for chunk in parts:
                if chunk.segment is None:
                    path = self.folder / f"{kind}-{epoch:010d}-{written:04d}.arrow"
                    reach("before segment")
                    entries.append(write_segment(path, chunk))
                    reach("after segment")
                    written += 1
                else:
                    # A buffer may relabel a chunk that it keeps; the rows stay where they are.
                    entries.append(replace(held[chunk.segment], labels=dict(chunk.labels)))
            buffers[name] = tuple(entries)
        manifest = Manifest(epoch, buffers)
        content = {name: [entry.as_json() for entry in entries] for name, entries in buffers.items()}
        reach("before manifest")
        write_json(self._manifest_path(epoch), {"epoch": epoch, "buffers": content})
        reach("after manifest")
        return manifest

    def collect(self, oldest_epoch: int, oldest_state: int | None = None) -> None:
        """Removes the manifests before `oldest_epoch`, the segments that only those name, and what failed
        epochs left behind. To be called between epochs, when nothing writes here.

        Nobody reads the states of operators but the next epoch, or the same one when it is done again: those
        that only epochs before `oldest_state` name are removed as well.
        """
        names = names_in(self.folder)
        epochs = sorted(_epoch_of(name) for name in names if name.startswith("manifest-"))
        if not epochs:
            return
        oldest = {
            _FOR_READERS: self._first_kept(epochs, oldest_epoch),
            _FOR_OPERATORS: self._first_kept(epochs, max(oldest_epoch, oldest_state or oldest_epoch)),
        }
        # A segment that has left the manifests never comes back: the oldest manifest that stays names all of
        # the segments up to its epoch that are still in use.
        kept = {kind: {entry.segment for entry in self.load(first).entries} for kind, first in oldest.items()}
        for name in names:
            kind = name.partition("-")[0]
            if kind in oldest:
                is_gone = _epoch_of(name) <= oldest[kind] and name not in kept[kind]
            else:
                is_old = kind == "manifest" and _epoch_of(name) < oldest[_FOR_READERS]
                is_gone = is_old or name.endswith(".tmp")
            if is_gone:
                (self.folder / name).unlink(missing_ok=True)

    def _first_kept(self, epochs: Sequence[int], oldest: int) -> int:
        """The epoch whose manifest holds at the oldest one: not every epoch runs the query."""
        return max((epoch for epoch in epochs if epoch <= oldest), default=epochs[0])

    def _manifest_path(self, epoch: int) -> Location:
        return self.folder / f"manifest-{epoch:010d}.json"


def _epoch_of(name: str) -> int:
    """The epoch in the name of a manifest or a segment."""
    return int(name.removesuffix(".json").split("-")[1])
