"""What this machine has read and written of other file systems, kept as local files by name.

The names of packs and of files of a history are never given to another content, so a copy never grows stale.
Workers of one machine share the copies: a task mostly reads what one of the epoch before has written there.
What is read through here is verified by whoever reads it, as local files are.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from panes.state.storage.files import write_atomically
from panes.state.storage.locations import Location, UriPath

_MOST_BYTES = 4_000_000_000
_PUTS_PER_LOOK = 256
"""How many files are kept between two looks at how much there is."""
_puts = 0


def write_object(location: Location, content: pa.Buffer) -> None:
    """Stores a file, wholly or not at all, and keeps a copy of one that goes elsewhere."""

    def write(file: BinaryIO) -> None:
        file.write(content)

    write_atomically(location, write)
    if isinstance(location, UriPath):
        _keep(_copy_of(location), write)


def read_object(location: Location, offset: int, size: int, *, whole: bool) -> tuple[Path, pa.Buffer]:
    """Bytes of a file, and the local file from which they were read.

    Of a file that lies elsewhere just these bytes are fetched, or with `whole` all of it, for those who will read
    the rest too. There are fewer bytes when the file is shorter. FileNotFoundError or OSError when it cannot be
    read.
    """
    path, place = _fetched(location, offset, size, whole)
    with pa.memory_map(str(path)) as file:
        there = file.size()
        file.seek(min(place, there))
        return path, file.read_buffer(max(0, min(size, there - place)))


def _fetched(location: Location, offset: int, size: int, whole: bool) -> tuple[Path, int]:
    """The local file in which bytes of a file lie, and where in it."""
    if isinstance(location, Path) or whole or _is_there(_copy_of(location)):
        return local_copy(location), offset
    part = _part_of(location, offset, size)
    if not _is_there(part):
        content = location.read_buffer(offset, size)
        _keep(part, lambda file: file.write(content))
    return part, 0


def forget_object(location: Location, offset: int, size: int) -> bool:
    """Removes the copies of a file, or of a part, that are here; False when there are none, as of a local file."""
    if isinstance(location, Path):
        return False
    copies = [path for path in (_copy_of(location), _part_of(location, offset, size)) if path.exists()]
    for path in copies:
        path.unlink(missing_ok=True)
    return bool(copies)


def local_copy(location: Location) -> Path:
    """A local file with the content of a file: the file itself, or a copy of one that lies elsewhere."""
    if isinstance(location, Path):
        return location
    copy = _copy_of(location)
    if not _is_there(copy):
        content = location.read_buffer()
        _keep(copy, lambda file: file.write(content))
    return copy


def _keep(path: Path, write: Callable[[BinaryIO], object]) -> None:
    global _puts
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name[-100:]}.{os.getpid()}.tmp")
    # A copy need not be flushed: one that did not survive the machine is fetched again.
    with unfinished.open("wb") as file:
        write(file)
    unfinished.replace(path)
    _puts += 1
    if _puts % _PUTS_PER_LOOK == 0:
        _make_room(path.parent)


def _is_there(path: Path) -> bool:
    """Whether there is a copy; then it counts as used just now."""
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    return True


def _make_room(folder: Path) -> None:
    """Removes the copies that were not used for longest, when there are too many bytes of them."""
    found = []
    for entry in os.scandir(folder):
        with suppress(FileNotFoundError):
            status = entry.stat()
            found.append((status.st_mtime_ns, status.st_size, entry.path))
    held = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if held <= _MOST_BYTES:
            return
        with suppress(FileNotFoundError):
            os.unlink(path)
        held -= size


def _copy_of(location: UriPath) -> Path:
    name = location.path.replace("/", "~")
    return _folder_of(location.root) / name


def _part_of(location: UriPath, offset: int, size: int) -> Path:
    copy = _copy_of(location)
    return copy.with_name(f"{copy.name}@{offset}+{size}")


def _folder_of(root: str) -> Path:
    digest = hashlib.sha256(root.encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"panes-cache-{os.getuid()}" / digest
