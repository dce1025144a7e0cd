"""The manifests of one stream's history: which files an epoch brought, and which are kept up to an epoch.

The manifests of epochs are a chain: each names the one before it with its checksum, and the record of an epoch
names the last one. A base stands for the manifests up to its epoch, and names the last of those. So what is read
is all that there was, or an error: a manifest that is missing, or of another copy of the database, breaks the
chain.
"""

from __future__ import annotations

import os
import re
import threading
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from panes.delta.delta import BEGINNING
from panes.errors import StateError
from panes.history.history_file import HistoryFile
from panes.state.storage.records import FIRST, WHAT_TO_DO, damaged, read_record, write_record


class Head(NamedTuple):
    """The last manifest of a chain: its epoch and its checksum."""

    epoch: int
    checksum: str

    def __str__(self) -> str:
        return f"{self.epoch}:{self.checksum}"

    @classmethod
    def of(cls, text: str) -> Head:
        epoch, _, checksum = text.partition(":")
        return cls(int(epoch), checksum)


NO_HEAD = Head(-1, FIRST)
"""Before the first manifest."""


@dataclass(frozen=True)
class Manifest:
    files: tuple[HistoryFile, ...] = ()
    """In order of arrival."""
    dropped: int = 0
    """How many rows came before these and are not kept."""
    dropped_to: int = BEGINNING
    """The last time of a row that is not kept; later ones are all there."""

    def followed_by(self, later: Manifest) -> Manifest:
        return Manifest(
            self.files + later.files,
            self.dropped + later.dropped,
            max(self.dropped_to, later.dropped_to),
        )

    def youngest(self, rows: int, clock: int) -> list[HistoryFile]:
        """The files that may hold one of the `rows` youngest rows that can be seen at the clock.

        Rows that are seen later are younger, and of those seen at once the ones that came later.
        """
        seen = sorted(
            (file.first_seen, place, file.rows)
            for place, file in enumerate(self.files)
            if file.last_seen <= clock
        )
        younger = [0, *accumulate(size for _, _, size in reversed(seen))]
        return [
            file
            for place, file in enumerate(self.files)
            if younger[len(seen) - bisect_right(seen, (file.last_seen, place, file.rows))] < rows
        ]

    def as_json(self) -> dict[str, Any]:
        files = [file.as_json() for file in self.files]
        return {"files": files, "dropped": self.dropped, "dropped_to": self.dropped_to}

    @classmethod
    def from_json(cls, content: dict[str, Any], folder: Path) -> Manifest:
        files = tuple(HistoryFile.from_json(file, folder) for file in content["files"])
        return cls(files, content["dropped"], content["dropped_to"])


class _Link(NamedTuple):
    """A manifest as it was read, with its checksum and the one before it."""

    manifest: Manifest
    checksum: str
    before: Head


class Manifests:
    """The folder of one stream.

    What was read is remembered: manifests are small, but an answer in a millisecond cannot read ten files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._read: dict[str, _Link] = {}

    def put(self, epoch: int, manifest: Manifest, before: Head) -> Head:
        """What an epoch brought after those that end with `before`; gives the new end.

        A base that has the epoch is no longer true, if the epoch is done again.
        """
        for base in self._numbers("base"):
            if base >= epoch:
                self._path("base", base).unlink(missing_ok=True)
        if manifest == Manifest():
            self._path("epoch", epoch).unlink(missing_ok=True)
            return before
        return Head(epoch, self._write("epoch", epoch, manifest, before))

    def put_base(self, epoch: int, manifest: Manifest, head: Head) -> None:
        """All that is kept up to an epoch, at which the chain ends with `head`."""
        self._write("base", epoch, manifest, head)

    def at(self, epoch: int, head: Head) -> Manifest:
        """All that is kept of the epochs up to one, at which the chain ends with `head`."""
        try:
            return self._at(epoch, head)
        except StateError:
            return self._at(epoch, head)  # a base may have taken the place of what was listed

    def _at(self, epoch: int, head: Head) -> Manifest:
        base, chain = self._chain(epoch, head)
        manifest = Manifest() if base is None else base
        for later in reversed(chain):
            manifest = manifest.followed_by(later)
        return manifest

    def since_base(self, epoch: int, head: Head) -> int:
        """How many manifests a reader of an epoch has to read besides the base."""
        return len(self._chain(epoch, head)[1])

    def last(self, epoch: int) -> Head:
        """The last manifest up to an epoch, of those that are there."""
        number = max((found for found in self._numbers("epoch") if found <= epoch), default=None)
        if number is not None:
            return Head(number, self._load("epoch", number, None).checksum)
        base = max((found for found in self._numbers("base") if found <= epoch), default=None)
        return NO_HEAD if base is None else self._load("base", base, None).before

    def collect(self, epoch: int, retain_epochs: int) -> None:
        """Removes what no reader of the last epochs needs; nothing may be written meanwhile."""
        # Not the base of the oldest epoch itself: a reader may have begun before there was one.
        oldest = max((base for base in self._numbers("base") if base < epoch - retain_epochs), default=None)
        if oldest is None:
            return
        gone = [("base", number) for number in self._numbers("base") if number < oldest]
        gone += [("epoch", number) for number in self._numbers("epoch") if number <= oldest]
        if not gone:
            return
        for kind, number in gone:
            self._path(kind, number).unlink(missing_ok=True)
        with self._lock:
            for kind, number in gone:
                self._read.pop(self._path(kind, number).name, None)
        named = {
            file.path.name
            for kind in ("base", "epoch")
            for number in self._numbers(kind)
            for file in self._load(kind, number, None).manifest.files
        }
        for path in self._folder.glob("*.parquet"):
            ours = _ROWS.fullmatch(path.name)
            if ours and path.name not in named and int(ours[1]) <= epoch:
                path.unlink(missing_ok=True)
        for path in self._folder.glob(".*.tmp"):
            path.unlink(missing_ok=True)

    def _chain(self, epoch: int, head: Head) -> tuple[Manifest | None, list[Manifest]]:
        """The last base up to an epoch, and the manifests after it, the last first."""
        number = max((found for found in self._numbers("base") if found <= epoch), default=-1)
        chain: list[Manifest] = []
        while head != NO_HEAD and head.epoch > number:
            link = self._load("epoch", head.epoch, head.checksum)
            if link.before.epoch >= head.epoch:
                raise damaged(self._path("epoch", head.epoch), "it names no earlier one before it")
            chain.append(link.manifest)
            head = link.before
        if number < 0:
            return None, chain
        base = self._load("base", number, None)
        if base.before != head:
            raise StateError(
                f"{self._path('base', number)} does not belong to the epochs after it: it ends with epoch "
                f"{base.before.epoch}, and they follow epoch {head.epoch}; {WHAT_TO_DO}"
            )
        return base.manifest, chain

    def _numbers(self, kind: str) -> list[int]:
        """The epochs of which there are manifests of a kind, in order."""
        names = os.listdir(self._folder) if self._folder.is_dir() else []
        found = (_RECORD.fullmatch(name) for name in names)
        return sorted(int(match[2]) for match in found if match and match[1] == kind)

    def _load(self, kind: str, number: int, checksum: str | None) -> _Link:
        path = self._path(kind, number)
        with self._lock:
            known = self._read.get(path.name)
        if known is not None and checksum in (None, known.checksum):
            return known
        record = read_record(path, self._record_name(kind, number), checksum)
        try:
            manifest = Manifest.from_json(record.content, self._folder)
            link = _Link(manifest, record.checksum, Head(int(record.content["after"]), record.before))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise damaged(path, f"not a manifest: {error}") from error
        with self._lock:
            self._read[path.name] = link
        return link

    def _write(self, kind: str, number: int, manifest: Manifest, before: Head) -> str:
        path = self._path(kind, number)
        content = manifest.as_json() | {"after": before.epoch}
        checksum = write_record(path, self._record_name(kind, number), content, before.checksum)
        with self._lock:
            self._read[path.name] = _Link(manifest, checksum, before)
        return checksum

    def _record_name(self, kind: str, number: int) -> str:
        return f"{kind} {number} of history {self._folder.name}"

    def _path(self, kind: str, number: int) -> Path:
        return self._folder / f"{kind}-{number:010d}.json"


_RECORD = re.compile(r"(base|epoch)-(\d{10})\.json")
_ROWS = re.compile(r"(?:raw|part|merged)-(\d{10})-\d+\.parquet")
