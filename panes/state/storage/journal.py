"""A journal in the home of a database: a base, and what changed since, to make something again elsewhere.

    catalog/00000005-3f2a91c0-000002/base          what there was
    catalog/00000005-3f2a91c0-000002/0000000001    what changed then: each names the one before it

A change costs one small file, whatever there is already. Now and then the changes outweigh their base: then a new
part begins, with a base that stands for all before it, and older parts are removed. A part has the term of its
driver in its name: no other driver adds to it, and the parts of the last driver sort last.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from panes.state.storage.files import make_folder
from panes.state.storage.locations import Location, names_in, remove_tree
from panes.state.storage.records import FIRST, Record, damaged, read_record, write_record

_BASE = "base"
_MOST_ENTRIES = 256
"""To read as many files takes an object store a few seconds."""
_LEAST_BYTES = 64_000
_READS_AT_ONCE = 16


class Position(NamedTuple):
    """Where a journal ends: its part, the number of entries after the base, and the checksum of the last one."""

    part: str
    entries: int
    checksum: str

    def __str__(self) -> str:
        return f"{self.part}:{self.entries}:{self.checksum}"

    @classmethod
    def of(cls, text: str) -> Position:
        part, entries, checksum = text.split(":")
        return cls(part, int(entries), checksum)


@dataclass(frozen=True)
class Written:
    """What a journal holds."""

    base: bytes
    entries: list[dict[str, Any]]


class Journal:
    """A journal that one driver writes."""

    def __init__(self, folder: Location, term: str) -> None:
        self._folder = folder
        self._term = term
        self._parts = 0
        self._end = Position("", 0, FIRST)
        """Without a part when nobody knows what is at the end."""
        self._base_bytes = 0
        self._bytes = 0
        """Of the entries after the base."""
        self._known: list[str] | None = None
        """The parts that are there; None before somebody has looked."""

    @property
    def is_broken(self) -> bool:
        """Whether a new part must begin, before anything can be added."""
        return not self._end.part

    @property
    def is_due(self) -> bool:
        """Whether a new base is worth its bytes, or must be."""
        if self.is_broken or self._end.entries >= _MOST_ENTRIES:
            return True
        return self._bytes >= max(_LEAST_BYTES, self._base_bytes)

    def begin(self, base: bytes) -> Position:
        """Begins a new part with all that there is."""
        packed = base64.b64encode(pa.Codec("zstd").compress(base, asbytes=True)).decode()
        part = f"{self._term}-{self._parts:06d}"
        self._parts += 1
        make_folder(self._folder / part)
        content = {"bytes": len(base), "base": packed}
        checksum = write_record(self._folder / part / _BASE, _name(part, 0), content)
        if self._known is not None:
            self._known.append(part)
        self._end = Position(part, 0, checksum)
        self._base_bytes, self._bytes = len(packed), 0
        return self._end

    def add(self, content: dict[str, Any]) -> Position:
        """Adds what has changed. Should this fail, a new part must begin: nobody knows whether it was stored."""
        before, self._end = self._end, Position("", 0, FIRST)
        number = before.entries + 1
        # Another driver may have removed it: whether this one has been replaced is for others to find out.
        make_folder(self._folder / before.part)
        path = self._folder / before.part / f"{number:010d}"
        checksum = write_record(path, _name(before.part, number), content, before.checksum)
        self._end = Position(before.part, number, checksum)
        self._bytes += sum(len(str(value)) for value in content.values())
        return self._end

    def doubt(self) -> None:
        """Says that the last entry may not count: a new part must begin."""
        self._end = Position("", 0, FIRST)

    def forget_before(self, end: Position) -> None:
        """Removes the parts before the one in which a position lies."""
        if self._known is None:
            self._known = parts_in(self._folder)
        for part in [part for part in self._known if part < end.part]:
            self._known.remove(part)
            remove_tree(self._folder / part)


def parts_in(folder: Location) -> list[str]:
    """The parts that are there, those of the last driver last."""
    return sorted(names_in(folder))


def read_last(folder: Location) -> Written | None:
    """What the last part holds; None when there is none."""
    for part in reversed(parts_in(folder)):
        names = names_in(folder / part)
        if _BASE in names:
            entries = [int(name) for name in names if name.isdigit()]
            return _read(folder, part, max(entries, default=0))
    return None


def read_to(folder: Location, end: Position) -> Written:
    """What a journal holds up to a position: exactly what was written."""
    return _read(folder, end.part, end.entries, end.checksum)


def _read(folder: Location, part: str, entries: int, checksum: str | None = None) -> Written:
    def read(number: int) -> Record:
        name = f"{number:010d}" if number else _BASE
        return read_record(folder / part / name, _name(part, number), checksum if number == entries else None)

    with ThreadPoolExecutor(_READS_AT_ONCE) as threads:
        base, *later = threads.map(read, range(entries + 1))
    _check_chain(folder / part, [base, *later])
    try:
        packed = base64.b64decode(base.content["base"])
        content = pa.Codec("zstd").decompress(packed, base.content["bytes"], asbytes=True)
    except (KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise damaged(folder / part / _BASE, error) from error
    return Written(content, [record.content for record in later])


def _check_chain(folder: Location, records: Iterable[Record]) -> None:
    before = FIRST
    for number, record in enumerate(records):
        if record.before != before:
            raise damaged(folder / f"{number:010d}", "it does not follow the one before it")
        before = record.checksum


def _name(part: str, number: int) -> str:
    return f"{number} of journal {part}"
