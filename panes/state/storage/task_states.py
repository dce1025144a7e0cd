"""What a task writes in an epoch: two objects for all of its queries, one for readers and one for operators.

The object for readers has the answers and changes, the manifests, and at its end the index. It is kept for as
long as its epoch is readable. That for operators goes sooner. A large segment is an object of its own, so that
it can go alone. The names have the epoch, the level, the task and the writer, which is another one for every
attempt of every task: no attempt can overwrite what another has written, and only that of the attempt which the
commit names counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

import pyarrow as pa

from panes.crash_points import reach
from panes.errors import StateError
from panes.state.buffers.chunk import Chunk
from panes.state.storage.epoch_states import EpochStates, StagePlace
from panes.state.storage.files import make_folder
from panes.state.storage.index import Index, IndexEntry
from panes.state.storage.locations import Location, parent_of
from panes.state.storage.manifest import FOR_READERS, Manifest, Place, RecordRef
from panes.state.storage.object_cache import write_object
from panes.state.storage.segments import SegmentEntry, encode_segment, entry_of

_ALONE = 1_000_000
"""A segment of this many bytes or more is an object of its own."""
_COPIED_AFTER = 64
"""After this many epochs a small segment is copied into the object of the moment, so that few live segments do not
keep many old objects."""
_ALIGNED = 64
"""Columns must begin at a multiple of this to be used where they lie."""

_NAME = re.compile(r"(\d{10})/(\d+)-(\d+)-(\w+)-(answers|states)(?:-\d+)?\.arrow")


class ObjectName(NamedTuple):
    """The parts of the name of an object."""

    epoch: int
    level: int
    task: int
    writer: str
    is_for_readers: bool

    @classmethod
    def of(cls, name: str) -> ObjectName | None:
        """None when it is not the name of an object of the states."""
        found = _NAME.fullmatch(name)
        if found is None:
            return None
        return cls(int(found[1]), int(found[2]), int(found[3]), found[4], found[5] == "answers")

    def text(self, number: int | None = None) -> str:
        """The name; with a number, that of a segment which is an object of its own."""
        kind = "answers" if self.is_for_readers else "states"
        last = "" if number is None else f"-{number:04d}"
        return f"{self.epoch:010d}/{self.level}-{self.task:05d}-{self.writer}-{kind}{last}.arrow"


@dataclass(frozen=True)
class Saved:
    """What a task has written: its index, and the objects that it needs no longer."""

    pin: str
    released: tuple[str, ...]


class TaskStates:
    """Takes the states of the places of a task from an epoch to the next."""

    def __init__(self, before: EpochStates, epoch: int, level: int, task: int, writer: str) -> None:
        self._before = before
        self._epoch = epoch
        self._level = level
        self._task = task
        self._for_readers = _Object(ObjectName(epoch, level, task, writer, True), before.states)
        self._for_operators = _Object(ObjectName(epoch, level, task, writer, False), before.states)
        self._saved: dict[Place, Manifest] = {}
        self._kept: set[str] = set()
        """The places that stay as they are."""
        self._asleep: Set[int] = frozenset()
        """The plans of which all places stay as they are."""
        self._index = Index(level, task, {})
        with suppress(StateError):  # whoever asks for a place that it had is told
            self._index = before.index(level, task) or self._index

    def save(self, place: Place, chunks: Mapping[str, Sequence[Chunk]], before: Manifest | None) -> Manifest:
        """The manifest of a place after the epoch. Chunks that `before` has stay where they are."""
        held = {} if before is None else {entry.name: entry for entry in before.entries}
        buffers: dict[str, tuple[SegmentEntry, ...]] = {}
        for name, parts in chunks.items():
            target = self._for_readers if name in FOR_READERS else self._for_operators
            buffers[name] = tuple(self._entry(chunk, held, target) for chunk in parts)
        ref = None if before is None else before.ref
        self._saved[place] = Manifest(self._epoch, buffers, ref)
        return self._saved[place]

    def keep(self, stage: StagePlace, shard: int) -> None:
        """The state of a place is as it was, if it has one."""
        place = stage.shard(shard)
        if self._index.entry(str(place)) is not None:
            self._kept.add(str(place))
            return
        manifest = self._before.load(stage, shard)
        if manifest is not None:
            # It was another task's, which is about to forget it.
            chunks = {name: self._before.chunks(manifest, name) for name in manifest.buffers}
            moved = self.save(place, chunks, None)
            self._saved[place] = replace(moved, epoch=manifest.epoch, before=manifest.before)

    def keep_all(self, running: Set[int]) -> None:
        """The states of these plans are as they were: all that this task has of them."""
        self._asleep = running

    def finish(self) -> Saved | None:
        """Writes everything; None when nothing has changed."""
        stay = self._kept | {str(place) for place in self._saved}
        gone = {place for place in self._index.places_beside(self._asleep) if place not in stay}
        if not self._saved and not gone:
            return None
        reach("before segment")
        self._for_operators.write()
        reach("after segment")
        index = self._index.changed(self._entries(), gone)
        ref = self._for_readers.add_record(*index.encoded())
        reach("before manifest")
        self._for_readers.write()
        reach("after manifest")
        released = self._index.released(index.at(ref))
        return Saved(str(ref), tuple(sorted(released)))

    def _entries(self) -> dict[str, IndexEntry]:
        found = {}
        for place, manifest in self._saved.items():
            ref = self._for_readers.add_record(*manifest.encoded(place))
            found[str(place)] = IndexEntry(ref, frozenset(entry.object for entry in manifest.entries))
        return found

    def _entry(self, chunk: Chunk, held: Mapping[str, SegmentEntry], target: _Object) -> SegmentEntry:
        entry = held.get(chunk.segment or "")
        if entry is not None and self._stays(entry):
            # A buffer may relabel a chunk that it keeps; the rows stay where they are.
            return replace(entry, labels=dict(chunk.labels))
        return target.add_segment(chunk)

    def _stays(self, entry: SegmentEntry) -> bool:
        """Whether a segment stays in its object: one of this task, and not an old one with little else in it."""
        name = ObjectName.of(entry.object)
        if name is None or (name.level, name.task) != (self._level, self._task):
            return False
        return entry.bytes >= _ALONE or name.epoch > self._epoch - _COPIED_AFTER


class _Object:
    """An object that grows in memory, and is written once."""

    def __init__(self, name: ObjectName, states: Location) -> None:
        self._name = name
        self._states = states
        self._parts: list[pa.Buffer | bytes] = []
        self._size = 0
        self._alone = 0

    def add_segment(self, chunk: Chunk) -> SegmentEntry:
        content = encode_segment(chunk)
        if content.size >= _ALONE:
            name = self._name.text(self._alone)
            self._alone += 1
            self._put(name, content)
            return entry_of(chunk, content, name, 0)
        return entry_of(chunk, content, self._name.text(), self._append(content, content.size))

    def add_record(self, content: bytes, checksum: str) -> RecordRef:
        return RecordRef(self._name.text(), self._append(content, len(content)), len(content), checksum)

    def write(self) -> None:
        """Stores it, unless it is empty."""
        if self._parts:
            self._put(self._name.text(), pa.py_buffer(b"".join(self._parts)))

    def _append(self, content: pa.Buffer | bytes, size: int) -> int:
        gap = -self._size % _ALIGNED
        self._parts += [b"\0" * gap, content]
        offset = self._size + gap
        self._size = offset + size
        return offset

    def _put(self, name: str, content: pa.Buffer) -> None:
        location = self._states / name
        make_folder(parent_of(location))
        write_object(location, content)
