"""Verifying the files of a history: each is checked when a process first reads it."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from panes.errors import StateError
from panes.history.history_file import HistoryFile
from panes.state.storage.locations import Location
from panes.state.storage.object_cache import forget_object, local_copy
from panes.state.storage.records import WHAT_TO_DO, missing
from panes.state.storage.verified import file_checksum, verified_difference

_AT_ONCE = 4
"""The number of files that are read at a time; checksums are computed without Python's lock."""


def sealed(files: Iterable[HistoryFile]) -> list[HistoryFile]:
    """The files with their sizes and checksums: a pass over each of them."""
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        return list(threads.map(_sealed, files))


def check(file: HistoryFile) -> None:
    """Raises StateError when a file of the history is missing, or is not as it was kept."""
    if file.crc32 is None:
        return
    try:
        wrong = _difference(file.path, file.bytes, file.crc32)
    except FileNotFoundError as error:
        raise missing(file.path) from error
    except (OSError, pa.ArrowException) as error:
        raise StateError(f"{file.path} cannot be read: {error}; {WHAT_TO_DO}") from error
    if wrong is None:
        return
    if file.is_raw and isinstance(file.path, Path) and file.path.stat().st_nlink > 1:
        raise StateError(
            f"{file.path} is damaged or was changed after it was taken in ({wrong}): it is one file with that of "
            "the source, which must not be written to in place; put the file as it was in its place"
        )
    raise StateError(f"{file.path} is damaged ({wrong}); {WHAT_TO_DO}")


def _sealed(file: HistoryFile) -> HistoryFile:
    size, crc32 = file_checksum(local_copy(file.path))
    return replace(file, bytes=size, crc32=crc32)


def _difference(path: Location, size: int, crc32: int) -> str | None:
    wrong = verified_difference(local_copy(path), size, crc32)
    if wrong is not None and forget_object(path, 0, size):
        return verified_difference(local_copy(path), size, crc32)  # it was the copy that was damaged
    return wrong
