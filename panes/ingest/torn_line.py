"""The last line of a text file that was cut off: its writer has not ended, or the copy of it was interrupted."""

from __future__ import annotations

import os
import re
from pathlib import Path

_TAIL = 1 << 20
_ESCAPED = re.compile(r"\\.")
_PACKED = (".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate")


def torn_line(path: Path) -> str | None:
    """The last line of a CSV file, where it has no line end and cannot be whole: a value is missing after its last
    comma, or a quote is not closed. None where nothing shows that, and for compressed files, which have checksums.

    Raises OSError when the file cannot be read.
    """
    if path.suffix.lower() in _PACKED:
        return None
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL))
        tail = file.read()
    line = tail[max(tail.rfind(b"\n"), tail.rfind(b"\r")) + 1 :].decode("utf-8", errors="replace")
    is_open = _ESCAPED.sub("", line).count('"') % 2 == 1
    return line if is_open or line.rstrip(" \t").endswith(",") else None
