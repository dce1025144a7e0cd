"""Files that are there wholly or not at all: written under another name, flushed, then renamed.

An object store needs no other name: it shows a file when all of it has come.

Flushing takes a disk milliseconds for each file, and hardly longer for many at once. Where nobody will look at the
files before all of them are there, as with those of a task, `flushed_together` waits once for all of them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from panes.crash_points import reach
from panes.errors import StateError
from panes.state.storage.locations import Location, UriPath

_FLUSHES_AT_ONCE = 32

_unflushed = threading.local()
"""`paths` are those that this thread has written inside of `flushed_together`."""


@contextmanager
def flushed_together() -> Iterator[None]:
    """What is written inside is safely stored at its end; before that it may be lost, but only with the power."""
    if getattr(_unflushed, "paths", None) is not None:
        yield
        return
    _unflushed.paths = []
    try:
        yield
        _flush(_unflushed.paths)
    finally:
        _unflushed.paths = None


def write_atomically(path: Location, write: Callable[[BinaryIO], None]) -> None:
    """Calls `write` with a file that takes the place of `path` once it is safely stored.

    When that fails, what was there before is there still, and nothing else.
    """
    name = f".{path.name}.{os.getpid()}.tmp"
    try:
        if isinstance(path, Path):
            _write_local(path, path.with_name(name), write)
        else:
            _write_remote(path, path.with_name(name), write)
    except OSError as error:
        raise _unwritable(path, error) from error


def make_folder(folder: Location) -> None:
    """Makes a folder, and those above it, unless it is there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from error


def write_bytes(path: Location, content: bytes) -> None:
    def write(file: BinaryIO) -> None:
        file.write(content)

    write_atomically(path, write)


def _unwritable(path: Location, error: OSError) -> StateError:
    return StateError(
        f"cannot write {path}: {error.strerror or error}; nothing is lost: "
        "see that there is space and that the folder can be written to, then run again"
    )


def _write_local(path: Path, unfinished: Path, write: Callable[[BinaryIO], None]) -> None:
    waiting: list[Path] | None = getattr(_unflushed, "paths", None)
    try:
        with unfinished.open("wb") as file:
            write(file)
            reach("during a write")
            if waiting is None:
                file.flush()
                os.fsync(file.fileno())
        unfinished.replace(path)
        if waiting is None:
            _flush_one(path.parent)
        else:
            waiting.append(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def _flush(paths: list[Path]) -> None:
    """Waits until files, and their names in their folders, are on disk."""
    todo = [*paths, *dict.fromkeys(path.parent for path in paths)]
    if not todo:
        return
    with ThreadPoolExecutor(min(_FLUSHES_AT_ONCE, len(todo))) as threads:
        for path, failure in zip(todo, threads.map(_failure_to_flush, todo), strict=True):
            if failure is not None:
                raise _unwritable(path, failure) from failure


def _failure_to_flush(path: Path) -> OSError | None:
    try:
        _flush_one(path)
    except OSError as error:
        return error
    return None


def _flush_one(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write_remote(path: UriPath, unfinished: UriPath, write: Callable[[BinaryIO], None]) -> None:
    """Closing the stream stores the file: there is nothing to flush."""
    if path.is_object_store:
        with path.file_system.open_output_stream(path.inside) as file:
            write(cast(BinaryIO, file))
        return
    try:
        with unfinished.file_system.open_output_stream(unfinished.inside) as file:
            write(cast(BinaryIO, file))
        unfinished.replace(path)
    except OSError:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise
