"""The index of a task: the manifests of its places at the end of an epoch, and the objects that each place uses.

Of thousands of queries most may sleep. So an index is whole, or it has the changes since an earlier one that is,
its *base*, which it pins by its checksum, and which a process reads once. A task that changes few places reads and
writes these few; when the changes are a quarter of the base, it writes a whole index again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from panes.state.storage.locations import Location
from panes.state.storage.manifest import Place, RecordRef
from panes.state.storage.object_cache import read_object
from panes.state.storage.recently_used import RecentlyUsed
from panes.state.storage.records import damaged, encode_record
from panes.state.storage.verified import stamp_of

_MOST_CHANGED = 0.25
"""The most changes in an index, as a share of the places of its base."""
_PLACES_IN_MEMORY = 100_000
"""Of the bases that a process remembers."""


class IndexEntry(NamedTuple):
    """Where the manifest of a place is, and the objects that its segments are in."""

    manifest: RecordRef
    segments: frozenset[str]

    @property
    def objects(self) -> frozenset[str]:
        return self.segments | {self.manifest.object}


@dataclass(frozen=True)
class Index:
    """What a task has."""

    level: int
    task: int
    own: Mapping[str, IndexEntry]
    """All places; with a base, those that have changed since."""
    base: Index | None = None
    """A whole index, of an earlier epoch."""
    gone: frozenset[str] = frozenset()
    """The places of the base that are no longer there."""
    ref: RecordRef | None = field(default=None, compare=False)
    """Where it lies, once it is written."""

    def entry(self, place: str) -> IndexEntry | None:
        """What there is of a place; None when it is not there."""
        found = self.own.get(place)
        if found is not None or self.base is None or place in self.gone:
            return found
        return self.base.own.get(place)

    @cached_property
    def places(self) -> Mapping[str, IndexEntry]:
        """Of all places."""
        if self.base is None:
            return self.own
        return {place: entry for place, entry in self.base.own.items() if place not in self._replaced} | dict(
            self.own
        )

    def places_beside(self, running: Set[int]) -> Iterator[str]:
        """The places of all plans but these."""
        for index in (self,) if self.base is None else (self.base, self):
            for plan in index._of_plans.keys() - running:
                yield from (p for p in index._of_plans[plan] if index is self or p not in self._replaced)

    def changed(self, new: Mapping[str, IndexEntry], gone: Set[str]) -> Index:
        """The index after an epoch in which these places have changed, and these have gone."""
        base = self if self.base is None else self.base
        kept = {} if base is self else {place: e for place, e in self.own.items() if place not in gone}
        own = {**kept, **new}
        lost = frozenset(((self.gone | gone) - own.keys()) & base.own.keys())
        after = Index(self.level, self.task, own, base, lost)
        if base.ref is None or len(own) + len(lost) > _MOST_CHANGED * len(base.own):
            return Index(self.level, self.task, after.places)
        return after

    @cached_property
    def objects(self) -> frozenset[str]:
        """The objects without which it cannot be read, or its places cannot."""
        return frozenset((*self._records, *_objects(self.places.values())))

    def needs(self, name: str) -> bool:
        """Whether it cannot be read without an object, or one of its places cannot."""
        if name in self._uses or name in self._records:
            return True
        return self.base is not None and self.base._uses[name] > self._hidden[name]

    def released(self, after: Index) -> frozenset[str]:
        """The objects that it needs, and the index that was made of it does not."""
        base = after.base
        if base is None:
            return self.objects - after.objects
        looked_at = set(self._records)
        hidden = after._replaced
        if base is not self:
            looked_at.update(self._uses)
            hidden = hidden - self._replaced
        looked_at.update(_objects(base.own[place] for place in hidden))
        return frozenset(name for name in looked_at if not after.needs(name))

    @property
    def _records(self) -> set[str]:
        """The objects in which it lies itself, and its base."""
        refs = (index.ref for index in (self, self.base) if index is not None)
        return {ref.object for ref in refs if ref is not None}

    @cached_property
    def _replaced(self) -> frozenset[str]:
        """The places of the base of which it has something else, or nothing."""
        assert self.base is not None
        return frozenset(self.gone | (self.own.keys() & self.base.own.keys()))

    @cached_property
    def _uses(self) -> Counter[str]:
        """How many of its own places use each object."""
        return Counter(_objects(self.own.values()))

    @cached_property
    def _hidden(self) -> Counter[str]:
        """How many places of the base that are replaced use each object."""
        assert self.base is not None
        return Counter(_objects(self.base.own[place] for place in self._replaced))

    @cached_property
    def _of_plans(self) -> Mapping[int, list[str]]:
        """Its own places, by the number of the plan."""
        found: dict[int, list[str]] = {}
        for place in self.own:
            found.setdefault(Place.of(place).running, []).append(place)
        return found

    def encoded(self) -> tuple[bytes, str]:
        """Its record, and the checksum of that."""
        names = sorted(set(_objects(self.own.values())))
        number = {name: place for place, name in enumerate(names)}
        places = {
            place: [
                number[entry.manifest.object],
                *entry.manifest[1:],
                sorted(number[name] for name in entry.segments),
            ]
            for place, entry in self.own.items()
        }
        content: dict[str, Any] = {"objects": names, "places": places}
        if self.base is not None:
            content |= {"base": str(self.base.ref), "gone": sorted(self.gone)}
        return encode_record(_name(self.level, self.task), content)

    def at(self, ref: RecordRef) -> Index:
        """The same, once it is written."""
        return replace(self, ref=ref)

    @classmethod
    def read(cls, states: Location, level: int, task: int, ref: RecordRef, *, whole: bool = False) -> Index:
        """The index of a task that lies there."""
        content = ref.read(states, _name(level, task), whole=whole).content
        try:
            names = content["objects"]
            own = {place: _entry(names, *entry) for place, entry in content["places"].items()}
            base_ref = RecordRef.of(content["base"]) if "base" in content else None
            gone = frozenset(content.get("gone", ()))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise damaged(f"{states / ref.object} at {ref.offset}", f"not an index: {error}") from error
        base = None if base_ref is None else cls._base(states, level, task, base_ref, whole=whole)
        return cls(level, task, own, base, gone, ref)

    @classmethod
    def _base(cls, states: Location, level: int, task: int, ref: RecordRef, *, whole: bool) -> Index:
        """A base, as this process remembers it while its object is the same file."""

        def read() -> Index:
            return cls.read(states, level, task, ref, whole=whole)

        try:
            path, _ = read_object(states / ref.object, ref.offset, ref.bytes, whole=whole)
            stamp = stamp_of(path)
        except OSError:
            return read()  # which says what is wrong
        return _bases.get((str(path), stamp, ref), read)


_bases: RecentlyUsed[tuple[str, tuple[int, int, int], RecordRef], Index] = RecentlyUsed(
    _PLACES_IN_MEMORY, lambda index: len(index.own)
)


def _objects(entries: Iterable[IndexEntry]) -> Iterator[str]:
    return (name for entry in entries for name in entry.objects)


def _entry(names: list[str], manifest: int, offset: int, size: int, checksum: str, uses: list[int]) -> Any:
    ref = RecordRef(names[manifest], int(offset), int(size), str(checksum))
    return IndexEntry(ref, frozenset(names[number] for number in uses))


def _name(level: int, task: int) -> str:
    return f"index of task {pin_of_task(level, task)}"


def pin_of_task(level: int, task: int) -> str:
    """Under which name the record of an epoch holds the index of a task."""
    return f"{level}/{task}"
