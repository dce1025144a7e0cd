"""The files of pushed rows that wait for their epoch.

They lie under the home of the database. Spark's source of files lists a local folder: where the home is elsewhere,
that folder has a marker for each of them, an empty file of the same name and size, and tasks read the file itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Set
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from panes.errors import PanesError
from panes.history.parts import stream_folder
from panes.state.storage.files import make_folder
from panes.state.storage.locations import Location, names_in, remove_files, remove_tree
from panes.state.storage.object_cache import write_object

_PUSHED = "pushed"


class PushedFiles:
    """The pushed files of all streams of a database."""

    def __init__(self, home: Location, folder: Path, check: Callable[[], None] = lambda: None) -> None:
        """`folder` is the working folder; it may be the home itself. `check` raises when another driver has taken
        over: it looks for files when it begins, and not again."""
        self._check = check
        self._files = home / _PUSHED
        self.listed = folder / _PUSHED
        """The folder that Spark lists, with one for each stream."""
        self._is_elsewhere = self._files != self.listed

    def add(self, stream: int, name: str, rows: pa.Table) -> None:
        """Stores rows under a name that was never used before; they are safe when this returns."""
        sink = pa.BufferOutputStream()
        pq.write_table(rows, sink)
        content = sink.getvalue()
        folder = stream_folder(self._files, stream)
        make_folder(folder)
        write_object(folder / name, content)
        if self._is_elsewhere:
            try:
                self._check()
            except PanesError:
                (folder / name).unlink(missing_ok=True)
                raise
            self._mark(stream, name, int(content.size))

    def location(self, stream: int, name: str) -> Location:
        """Where tasks read a file that Spark has listed."""
        return stream_folder(self._files, stream) / name

    def make_markers(self, taken: Mapping[int, Set[str]]) -> None:
        """Has Spark list the files that no epoch has taken in, in the order in which they were pushed; removes
        those that one has: `taken` has their names by stream."""
        if not self._is_elsewhere:
            return
        remove_tree(self.listed)
        for folder in names_in(self._files):
            stream = int(folder)
            files = sorted(_files_in(self._files / folder))
            gone = taken.get(stream, set())
            remove_files(self.location(stream, name) for _, name, _ in files if name in gone)
            for _, name, size in files:
                if name not in gone:
                    self._mark(stream, name, size)

    def remove(self, files: Iterable[Location]) -> None:
        """Removes files that an epoch has taken in, once it is committed. Spark removes local ones."""
        if self._is_elsewhere:
            remove_files(files)

    def forget(self, stream: int) -> None:
        """Removes everything that was pushed to a stream: it was dropped."""
        remove_tree(stream_folder(self._files, stream))
        remove_tree(stream_folder(self.listed, stream))

    def _mark(self, stream: int, name: str, size: int) -> None:
        marker = self.listed / f"{stream:06d}" / name
        make_folder(marker.parent)
        with marker.open("wb") as file:
            file.truncate(size)


def _files_in(folder: Location) -> list[tuple[int, str, int]]:
    """When each file was written, its name, and its size."""
    if isinstance(folder, Path):
        found = [(entry, entry.stat()) for entry in os.scandir(folder) if entry.name.endswith(".parquet")]
        return [(status.st_mtime_ns, entry.name, status.st_size) for entry, status in found]
    listed = folder.file_system.get_file_info(fs.FileSelector(folder.inside, allow_not_found=True))
    return [(f.mtime_ns, f.base_name, f.size) for f in listed if f.base_name.endswith(".parquet")]
