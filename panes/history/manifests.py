"""The manifests of one stream's history: which files an epoch brought, and which are kept up to an epoch.

The manifests of epochs are a chain: each names the one before it with its checksum, and the record of an epoch
names the last one. A base stands for the manifests up to its epoch, and names the last of those. So what is read
is all that there was, or an error: a manifest that is missing, or of another copy of the database, breaks the
chain.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from panes.delta.delta import BEGINNING
from panes.errors import StateError
from panes.history.history_file import HistoryFile
from panes.state.storage.heads import NO_HEAD, Head, numbered
from panes.state.storage.locations import Location, names_in, remove_files
from panes.state.storage.records import WHAT_TO_DO, damaged, read_record, write_record


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
    def from_json(cls, content: dict[str, Any], folder: Location) -> Manifest:
        files = tuple(HistoryFile.from_json(file, folder) for file in content["files"])
        return cls(files, content["dropped"], content["dropped_to"])


class _Link(NamedTuple):
    """A manifest as it was read, with its checksum and the one before it."""

    manifest: Manifest
    checksum: str
    before: Head


class _Name(NamedTuple):
    """Which manifest it is: a base or one of an epoch, and the attempt at the epoch that wrote it."""

    kind: str
    epoch: int
    writer: str = ""

    @property
    def file(self) -> str:
        return f"{numbered(*self)}.json"


class Manifests:
    """The folder of one stream.

    What was read is remembered: manifests are small, but an answer in a millisecond cannot read ten files.
    """

    def __init__(self, folder: Location, *, is_ours: bool = False) -> None:
        """`is_ours` says that nobody else writes there: then the folder is listed once."""
        self._folder = folder
        self._is_ours = is_ours
        self._lock = threading.Lock()
        self._listed: set[_Name] | None = None
        self._read: dict[str, _Link] = {}

    def put(self, epoch: int, manifest: Manifest, before: Head, writer: str = "") -> Head:
        """What an epoch brought after those that end with `before`; gives the new end.

        A base that has the epoch is no longer true, if the epoch is done again.
        """
        self._remove([base for base in self._names("base") if base.epoch >= epoch])
        if manifest == Manifest():
            self._remove([name for name in self._names("epoch") if name == ("epoch", epoch, writer)])
            return before
        return Head(epoch, self._write(_Name("epoch", epoch, writer), manifest, before), writer)

    def put_base(self, epoch: int, manifest: Manifest, head: Head, writer: str = "") -> None:
        """All that is kept up to an epoch, at which the chain ends with `head`."""
        self._write(_Name("base", epoch, writer), manifest, head)

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

    def brought(self, after: int, head: Head) -> list[HistoryFile]:
        """The files that the epochs after one brought, up to where the chain ends with `head`, in order of
        arrival: as they came, whatever was merged since."""
        found: list[HistoryFile] = []
        while head != NO_HEAD and head.epoch > after:
            link = self._load(_Name("epoch", head.epoch, head.writer), head.checksum)
            found[:0] = link.manifest.files
            head = link.before
        return found

    def since_base(self, epoch: int, head: Head) -> int:
        """How many manifests a reader of an epoch has to read besides the base."""
        return len(self._chain(epoch, head)[1])

    def last(self, epoch: int) -> Head:
        """The last manifest up to an epoch, of those that are there."""
        name = max((found for found in self._names("epoch") if found.epoch <= epoch), default=None)
        if name is not None:
            return Head(name.epoch, self._load(name, None).checksum, name.writer)
        base = max((found for found in self._names("base") if found.epoch <= epoch), default=None)
        return NO_HEAD if base is None else self._load(base, None).before

    def collect(self, epoch: int, retain_epochs: int) -> None:
        """Removes what no reader of the last epochs needs; nothing may be written meanwhile."""
        # Not the base of the oldest epoch itself: a reader may have begun before there was one.
        bases = self._names("base")
        oldest = max((base.epoch for base in bases if base.epoch < epoch - retain_epochs), default=None)
        if oldest is None:
            return
        gone = [base for base in bases if base.epoch < oldest]
        gone += [name for name in self._names("epoch") if name.epoch <= oldest]
        if not gone:
            return
        self._remove(gone)
        named = {
            file.path.name
            for kind in ("base", "epoch")
            for name in self._names(kind)
            for file in self._load(name, None).manifest.files
        }
        left = []
        for file in names_in(self._folder):
            ours = _ROWS.fullmatch(file)
            is_left_over = ours is not None and file not in named and int(ours[1]) <= epoch
            if is_left_over or (file.startswith(".") and file.endswith(".tmp")):
                left.append(self._folder / file)
        remove_files(left)

    def _chain(self, epoch: int, head: Head) -> tuple[Manifest | None, list[Manifest]]:
        """The last base up to an epoch, and the manifests after it, the last first."""
        last = max((found for found in self._names("base") if found.epoch <= epoch), default=None)
        chain: list[Manifest] = []
        while head != NO_HEAD and (last is None or head.epoch > last.epoch):
            name = _Name("epoch", head.epoch, head.writer)
            link = self._load(name, head.checksum)
            if link.before.epoch >= head.epoch:
                raise damaged(self._folder / name.file, "it names no earlier one before it")
            chain.append(link.manifest)
            head = link.before
        if last is None:
            return None, chain
        base = self._load(last, None)
        if base.before != head:
            raise StateError(
                f"{self._folder / last.file} does not belong to the epochs after it: it ends with epoch "
                f"{base.before.epoch}, and they follow epoch {head.epoch}; {WHAT_TO_DO}"
            )
        return base.manifest, chain

    def _names(self, kind: str) -> list[_Name]:
        """The manifests of a kind that are there, in order."""
        with self._lock:
            listed = self._listed
        if listed is None:
            found = (_RECORD.fullmatch(name) for name in names_in(self._folder))
            listed = {_Name(match[1], int(match[2]), match[3] or "") for match in found if match}
            if self._is_ours:
                with self._lock:
                    self._listed = listed
        return sorted(name for name in listed if name.kind == kind)

    def _remove(self, names: list[_Name]) -> None:
        remove_files(self._folder / name.file for name in names)
        with self._lock:
            for name in names:
                self._read.pop(name.file, None)
            if self._listed is not None:
                self._listed = self._listed.difference(names)

    def _load(self, name: _Name, checksum: str | None) -> _Link:
        path = self._folder / name.file
        with self._lock:
            known = self._read.get(name.file)
        if known is not None and checksum in (None, known.checksum):
            return known
        record = read_record(path, self._record_name(name), checksum)
        content = record.content
        try:
            manifest = Manifest.from_json(content, self._folder)
            before = Head(int(content["after"]), record.before, str(content["after_writer"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise damaged(path, f"not a manifest: {error}") from error
        link = _Link(manifest, record.checksum, before)
        with self._lock:
            self._read[name.file] = link
        return link

    def _write(self, name: _Name, manifest: Manifest, before: Head) -> str:
        content = manifest.as_json() | {"after": before.epoch, "after_writer": before.writer}
        checksum = write_record(self._folder / name.file, self._record_name(name), content, before.checksum)
        with self._lock:
            self._read[name.file] = _Link(manifest, checksum, before)
            if self._listed is not None:
                self._listed = self._listed | {name}
        return checksum

    def _record_name(self, name: _Name) -> str:
        return f"{name.file} of history {self._folder.name}"


_RECORD = re.compile(r"(base|epoch)-(\d{10})(?:-([\w-]+))?\.json")
_ROWS = re.compile(r"(?:raw|part|merged)-(\d{10})-\d+(?:-[\w-]+)?\.parquet")
