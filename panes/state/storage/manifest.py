"""The state of one query on one shard: a manifest per epoch that names immutable segments.

The manifest of epoch e is made from the one of e-1 alone: chunks that stayed keep their segments, new ones
are written first, the manifest last, by rename. Doing an epoch again therefore writes the same names again. The
record of the epoch holds the checksums of its manifests: one of another epoch, or of a copy, is not taken for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from panes.crash_points import reach
from panes.state.buffers.base import State
from panes.state.buffers.chunk import Chunk
from panes.state.storage.files import flushed_together, make_folder
from panes.state.storage.locations import Location, names_in
from panes.state.storage.records import FIRST, damaged, read_record, write_record
from panes.state.storage.segments import SegmentEntry, open_segment, write_segment

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
_OURS = re.compile(r"manifest-\d{10}\.json|(answer|segment)-\d{10}-\d+\.arrow|\..*\.tmp")


@dataclass(frozen=True)
class Manifest:
    epoch: int
    buffers: dict[str, tuple[SegmentEntry, ...]]
    checksum: str
    """Of the record that holds the manifest."""
    before: str = FIRST
    """The checksum of the manifest that it was made from."""

    @property
    def pin(self) -> str:
        """What the record of an epoch holds of it: the epoch that wrote it, and its checksum."""
        return f"{self.epoch}:{self.checksum}"

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

    @property
    def place(self) -> str:
        """The folder below that of all states, such as `000002/shard-0000`."""
        folder = self.folder
        parts = folder.parts if isinstance(folder, Path) else folder.path.split("/")
        is_stage = len(parts) > 1 and parts[-2].startswith("stage-")
        return "/".join(parts[-3 if is_stage else -2 :])

    def load(self, epoch: int, checksum: str | None = None) -> Manifest:
        """The manifest of an epoch; with a checksum, as the record of the epoch has it, exactly that one."""
        path = self._manifest_path(epoch)
        record = read_record(path, self._record_name(epoch), checksum)
        try:
            buffers = {
                name: tuple(SegmentEntry(**entry) for entry in entries)
                for name, entries in record.content["buffers"].items()
            }
        except (KeyError, TypeError, AttributeError) as error:
            raise damaged(path, f"not a manifest: {error}") from error
        return Manifest(epoch, buffers, record.checksum, record.before)

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
        content = {name: [entry.as_json() for entry in entries] for name, entries in buffers.items()}
        reach("before manifest")
        last = FIRST if before is None else before.checksum
        name, path = self._record_name(epoch), self._manifest_path(epoch)
        checksum = write_record(path, name, {"buffers": content}, last)
        reach("after manifest")
        return Manifest(epoch, buffers, checksum, last)

    def collect(self, oldest_epoch: int, oldest_state: int | None = None) -> None:
        """Removes the manifests before `oldest_epoch`, the segments that only those name, and what failed
        epochs left behind. To be called between epochs, when nothing writes here.

        Nobody reads the states of operators but the next epoch, or the same one when it is done again: those
        that only epochs before `oldest_state` name are removed as well.
        """
        # What others have put here stays where it is.
        names = [name for name in names_in(self.folder) if _OURS.fullmatch(name)]
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

    def _record_name(self, epoch: int) -> str:
        return f"manifest of {self.place} at epoch {epoch}"

    def _manifest_path(self, epoch: int) -> Location:
        return self.folder / f"manifest-{epoch:010d}.json"


def pinned(pin: str | None, epoch: int) -> str | None:
    """The checksum that a pin has for the manifest of an epoch; None when it is of another epoch."""
    written, _, checksum = (pin or "").partition(":")
    return checksum if written == str(epoch) else None


def _epoch_of(name: str) -> int:
    """The epoch in the name of a manifest or a segment."""
    return int(name.removesuffix(".json").split("-")[1])
