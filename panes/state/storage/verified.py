"""Files that this process has verified against the checksum that a record has of them.

A file is read once to be verified. After that a look at its size, its time of change and its inode tells whether
it is still the same file: reading a large window at every epoch must not cost a pass over it each time.
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import pyarrow as pa

_verified: dict[tuple[Path, int, int], tuple[int, int, int]] = {}
"""The stamps of files, by path, and by offset and checksum of the part that was verified."""
_MOST_VERIFIED = 100_000
"""Then it begins to forget: files come and go for as long as a process lives."""


def file_checksum(path: Path) -> tuple[int, int]:
    """The bytes and the CRC-32 of a file; FileNotFoundError or OSError when it cannot be read."""
    if os.stat(path).st_size == 0:
        return 0, 0
    with pa.memory_map(str(path)) as file:
        content = file.read_buffer()
        return int(content.size), zlib.crc32(content)


def verified_difference(
    path: Path, size: int, crc32: int, content: pa.Buffer | None = None, offset: int = 0
) -> str | None:
    """In what a file, or a part of it, differs from the one of that size and checksum; None when it does not.

    `content` are its bytes, if somebody has them; of a part, which begins at `offset`, they must be given.
    FileNotFoundError or OSError when it cannot be read.
    """
    stamp = stamp_of(path)
    if _verified.get((path, offset, crc32)) == stamp:
        return None
    found = file_checksum(path) if content is None else (int(content.size), zlib.crc32(content))
    if found != (size, crc32):
        written = f"{size} bytes with checksum {crc32} were written"
        return f"{written}, {found[0]} bytes with checksum {found[1]} are there"
    if len(_verified) >= _MOST_VERIFIED:
        _verified.clear()
    _verified[path, offset, crc32] = stamp
    return None


def stamp_of(path: Path) -> tuple[int, int, int]:
    """What tells that a file is still the same: its size, its time of change and its inode."""
    stat = os.stat(path)
    return stat.st_size, stat.st_mtime_ns, stat.st_ino
