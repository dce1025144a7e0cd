"""The manifests of one stream's history: which files an epoch brought, and which are kept up to an epoch."""

from __future__ import annotations

import os
import threading
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from panes.delta.delta import BEGINNING
from panes.errors import StateError
from panes.history.file import HistoryFile
from panes.state.files import read_json, write_json


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
        """The files that may hold one of so many youngest rows, of those that can be seen at the clock.

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


class Manifests:
    """The folder of one stream.

    What was read is remembered: manifests are small, but an answer in a millisecond cannot read ten files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._read: dict[str, Manifest] = {}

    def put(self, epoch: int, manifest: Manifest) -> None:
        """What an epoch brought; a base that has the epoch is no longer true, if the epoch is done again."""
        for base in self._numbers("base"):
            if base >= epoch:
                self._path("base", base).unlink(missing_ok=True)
        if manifest == Manifest():
            self._path("epoch", epoch).unlink(missing_ok=True)
        else:
            self._write("epoch", epoch, manifest)

    def put_base(self, epoch: int, manifest: Manifest) -> None:
        self._write("base", epoch, manifest)

    def at(self, epoch: int) -> Manifest:
        """All that is kept of the epochs up to one."""
        try:
            return self._at(epoch)
        except StateError:
            return self._at(epoch)  # a base may have taken the place of what was listed

    def _at(self, epoch: int) -> Manifest:
        manifest = Manifest()
        for kind, number in self._needed(epoch):
            manifest = manifest.followed_by(self._load(kind, number))
        return manifest

    def since_base(self, epoch: int) -> int:
        """How many manifests a reader of an epoch has to read besides the base."""
        return sum(kind == "epoch" for kind, _ in self._needed(epoch))

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
            for file in self._load(kind, number).files
        }
        for path in self._folder.glob("*.parquet"):
            if path.name not in named and int(path.stem.split("-")[1]) <= epoch:
                path.unlink(missing_ok=True)
        for path in self._folder.glob(".*.tmp"):
            path.unlink(missing_ok=True)

    def _needed(self, epoch: int) -> Iterator[tuple[str, int]]:
        names = self._names()
        base = max((number for number in _numbers(names, "base") if number <= epoch), default=None)
        if base is not None:
            yield "base", base
        for number in _numbers(names, "epoch"):
            if (base is None or number > base) and number <= epoch:
                yield "epoch", number

    def _numbers(self, kind: str) -> list[int]:
        return _numbers(self._names(), kind)

    def _names(self) -> list[str]:
        return os.listdir(self._folder) if self._folder.is_dir() else []

    def _load(self, kind: str, number: int) -> Manifest:
        path = self._path(kind, number)
        with self._lock:
            found = self._read.get(path.name)
        if found is not None:
            return found
        manifest = Manifest.from_json(read_json(path), self._folder)
        with self._lock:
            self._read[path.name] = manifest
        return manifest

    def _write(self, kind: str, number: int, manifest: Manifest) -> None:
        path = self._path(kind, number)
        write_json(path, manifest.as_json())
        with self._lock:
            self._read[path.name] = manifest

    def _path(self, kind: str, number: int) -> Path:
        return self._folder / f"{kind}-{number:010d}.json"


def _numbers(names: Sequence[str], kind: str) -> list[int]:
    """The epochs of which there are manifests of a kind, in order."""
    return sorted(
        int(name.removeprefix(f"{kind}-").removesuffix(".json"))
        for name in names
        if name.startswith(f"{kind}-") and name.endswith(".json")
    )
