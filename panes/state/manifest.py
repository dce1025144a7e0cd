"""The state of one query on one shard: a manifest per epoch that names immutable segments.

The manifest of epoch e is made from the one of e-1 alone: chunks that stayed keep their segments, new ones
are written first, the manifest last, by rename. Doing an epoch again therefore writes the same names again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from panes.crash_points import reach
from panes.state.base import State
from panes.state.chunk import Chunk
from panes.state.files import read_json, write_json
from panes.state.segments import SegmentEntry, open_segment, write_segment

Chunks = Mapping[str, Sequence[Chunk]]


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


def shard_folder(query_folder: Path, shard: int) -> Path:
    return query_folder / f"shard-{shard:04d}"


class ShardState:
    """The folder of one shard: `manifest-0000000012.json` and the segments it names."""

    def __init__(self, folder: Path) -> None:
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

    def save(self, epoch: int, chunks: Chunks, before: Manifest | None) -> Manifest:
        """Writes the chunks that no segment holds yet, then the manifest of the epoch."""
        self.folder.mkdir(parents=True, exist_ok=True)
        held = {entry.segment: entry for entry in before.entries} if before else {}
        buffers: dict[str, tuple[SegmentEntry, ...]] = {}
        written = 0
        for name, parts in chunks.items():
            entries = []
            for chunk in parts:
                if chunk.segment is None:
                    path = self.folder / f"segment-{epoch:010d}-{written:04d}.arrow"
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

    def collect(self, oldest_epoch: int) -> None:
        """Removes the manifests before `oldest_epoch`, the segments that only those name, and what failed
        epochs left behind. To be called between epochs, when nothing writes here."""
        epochs = sorted(_epoch_of(path) for path in self.folder.glob("manifest-*.json"))
        gone = [epoch for epoch in epochs if epoch < oldest_epoch]
        if not gone or gone == epochs:
            return
        oldest = epochs[len(gone)]
        # A segment that has left the manifests never comes back: the oldest manifest that stays names all of
        # the segments up to its epoch that are still in use.
        kept = {entry.segment for entry in self.load(oldest).entries}
        for path in self.folder.glob("segment-*.arrow"):
            if _epoch_of(path) <= oldest and path.name not in kept:
                path.unlink(missing_ok=True)
        for path in self.folder.glob(".*.tmp"):
            path.unlink(missing_ok=True)
        for epoch in gone:
            self._manifest_path(epoch).unlink(missing_ok=True)

    def _manifest_path(self, epoch: int) -> Path:
        return self.folder / f"manifest-{epoch:010d}.json"


def _epoch_of(path: Path) -> int:
    """The epoch in the name of a manifest or a segment."""
    return int(path.stem.split("-")[1])
