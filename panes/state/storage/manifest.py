"""A manifest: the segments that make up the state of a stage on one shard at the end of an epoch.

It is a record in the object for readers that a task wrote in that epoch. It names the manifest from which it was
made, so that a reader finds what an epoch changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from panes.errors import StateError
from panes.state.storage.locations import Location
from panes.state.storage.object_cache import forget_object, read_object
from panes.state.storage.records import Record, damaged, decode_record, encode_record, missing
from panes.state.storage.segments import SegmentEntry

ANSWER = "answer"
"""The buffer that adds up to the answer at the clock of the epoch."""
CHANGES = "changes"
"""The buffer with the delta of the answer in the epoch."""
TUPLES, MATCHES = "tuples", "matches"
"""The buffers of selections that share their stream: its tuples, and which of them each has."""
PANES, INTERVALS, SUMS = "panes", "intervals", "sums"
"""The buffers of a synopsis: its panes, and beside them the intervals of several panes or the sums up to each."""
TIMED = "timed"
"""The buffer of BEGIN … END aggregates: tuples by group and time."""
REFRESHED = "refreshed"
"""The buffer of the answers that are read from a synopsis and refreshed by deadline."""
FOR_READERS = (ANSWER, CHANGES, TUPLES, MATCHES, PANES, INTERVALS, SUMS, REFRESHED, TIMED)
"""The buffers that readers may ask for while their epoch is kept; the others are those of operators."""
COUNTED = (ANSWER, TUPLES, PANES, TIMED)
"""Those of them whose rows tell how much is kept."""


class Place(NamedTuple):
    """A shard of a stage of what runs: a query, or the plan that several share."""

    running: int
    stage: int
    shard: int

    def __str__(self) -> str:
        return f"{self.running:06d}/{self.stage:02d}/{self.shard:04d}"

    @classmethod
    def of(cls, text: str) -> Place:
        return cls(*map(int, text.split("/")))


class RecordRef(NamedTuple):
    """Where a record lies in the objects of the states, and its checksum."""

    object: str
    offset: int
    bytes: int
    checksum: str

    def __str__(self) -> str:
        return ":".join(map(str, self))

    @classmethod
    def of(cls, text: str) -> RecordRef:
        name, offset, size, checksum = text.rsplit(":", 3)
        return cls(name, int(offset), int(size), checksum)

    def read(self, states: Location, name: str, *, whole: bool = False) -> Record:
        """The record, which must have that name; StateError says where it is missing or damaged."""
        location = states / self.object
        where = f"{location} at {self.offset}"
        try:
            return self._decoded(location, where, name, whole)
        except StateError:
            if not forget_object(location, self.offset, self.bytes):
                raise
            return self._decoded(location, where, name, whole)

    def _decoded(self, location: Location, where: str, name: str, whole: bool) -> Record:
        try:
            _, content = read_object(location, self.offset, self.bytes, whole=whole)
        except FileNotFoundError as error:
            raise missing(location) from error
        except OSError as error:
            raise StateError(f"{location} cannot be read: {error.strerror or error}") from error
        return decode_record(content.to_pybytes(), where, name, self.checksum)


@dataclass(frozen=True)
class Manifest:
    epoch: int
    """The epoch that wrote it."""
    buffers: dict[str, tuple[SegmentEntry, ...]]
    before: RecordRef | None = None
    """The manifest that it was made from."""
    ref: RecordRef | None = None
    """Where it lies, once it is written."""

    @property
    def entries(self) -> tuple[SegmentEntry, ...]:
        return tuple(entry for entries in self.buffers.values() for entry in entries)

    @property
    def size(self) -> int:
        """The bytes of its segments."""
        return sum(entry.bytes for entry in self.entries)

    def encoded(self, place: Place) -> tuple[bytes, str]:
        """Its record, and the checksum of that."""
        buffers = {name: [entry.as_json() for entry in entries] for name, entries in self.buffers.items()}
        content: dict[str, Any] = {
            "epoch": self.epoch,
            "buffers": buffers,
            "before": None if self.before is None else str(self.before),
        }
        return encode_record(_name(place), content)

    @classmethod
    def read(cls, states: Location, place: Place, ref: RecordRef, *, whole: bool = False) -> Manifest:
        """The manifest of a place that lies there."""
        content = ref.read(states, _name(place), whole=whole).content
        try:
            buffers = {
                name: tuple(SegmentEntry(*entry) for entry in entries)
                for name, entries in content["buffers"].items()
            }
            before = None if content["before"] is None else RecordRef.of(content["before"])
            return cls(int(content["epoch"]), buffers, before, ref)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise damaged(f"{states / ref.object} at {ref.offset}", f"not a manifest: {error}") from error


def _name(place: Place) -> str:
    return f"manifest of {place}"
