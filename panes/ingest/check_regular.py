"""Things in a folder that are no files of rows: pipes, sockets and devices. Reading one could wait for ever."""

from __future__ import annotations

import stat
from pathlib import Path

from panes.errors import SourceError

_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}


def check_regular(path: Path) -> None:
    """Raises SourceError for a path, or the target of a link, that is no regular file; OSError when it is gone."""
    kind = stat.S_IFMT(path.stat().st_mode)
    if kind != stat.S_IFREG:
        raise SourceError(f"it is {_KINDS.get(kind, 'no regular file')}, not a file")
