"""The catalog of a database that another process may have open, for those who only read.

SQLite writes beside a file even to read it, and shares its locks with whoever writes. So a copy of the file is
read, which is made anew when the file has changed. A copy that was made while the file changed is thrown away.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, TypeAlias

from panes.catalog import Catalog, check_there
from panes.clock import WallClock
from panes.errors import StateError

_ATTEMPTS = 200
_PAUSE_S = 0.01
_TICK_US = 50_000
"""A file that was changed less than this ago may be changed again without its time telling."""

Stamp: TypeAlias = tuple[tuple[int, int, int] | None, ...]


class FollowedCatalog:
    """Has the methods of `Catalog`; each sees the catalog as it is when it is called."""

    def __init__(self, path: Path) -> None:
        check_there(path)
        self._files = [path, path.with_name(f"{path.name}-wal")]
        self._lock = threading.RLock()
        self._clock = WallClock()
        self._stamp: Stamp | None = None
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._catalog: Catalog | None = None

    def __getattr__(self, name: str) -> Any:
        with self._lock:
            found = getattr(self._now(), name)
        if not callable(found):
            return found

        def call(*args: Any, **options: Any) -> Any:
            with self._lock:
                return getattr(self._now(), name)(*args, **options)

        return call

    def _now(self) -> Catalog:
        if self._catalog is None or self._stamp is None or self._stamp != self._look():
            self._take_copy()
        assert self._catalog is not None
        return self._catalog

    def close(self) -> None:
        with self._lock:
            self._let_go()

    def _take_copy(self) -> None:
        for _ in range(_ATTEMPTS):
            copy = tempfile.TemporaryDirectory(prefix="panes-catalog-")
            before = self._look()
            try:
                for file in self._files:
                    if file.exists():
                        shutil.copyfile(file, Path(copy.name) / file.name)
            except FileNotFoundError:
                pass  # it goes when the writer closes its catalog
            except OSError as error:
                copy.cleanup()
                raise StateError(f"{self._files[0]} cannot be read: {error.strerror or error}") from error
            if before == self._look():
                self._let_go()
                self._catalog, self._copy = Catalog(Path(copy.name) / self._files[0].name), copy
                changed_us = max((stamp[1] // 1000 for stamp in before if stamp is not None), default=0)
                self._stamp = before if self._clock.now_us() - changed_us > _TICK_US else None
                return
            copy.cleanup()
            time.sleep(_PAUSE_S)
        raise StateError(f"{self._files[0]} changes faster than it can be read; try again")

    def _look(self) -> Stamp:
        found: list[tuple[int, int, int] | None] = []
        for file in self._files:
            try:
                status = os.stat(file)
            except FileNotFoundError:
                found.append(None)
            else:
                found.append((status.st_ino, status.st_mtime_ns, status.st_size))
        return tuple(found)

    def _let_go(self) -> None:
        if self._catalog is not None:
            self._catalog.close()
            self._catalog = None
        if self._copy is not None:
            self._copy.cleanup()
            self._copy = None
