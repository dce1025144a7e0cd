"""The directory of a database: who holds it."""

from __future__ import annotations

import fcntl
import time
from pathlib import Path
from typing import TextIO

from panes.errors import DatabaseInUse, StateError

_ATTEMPTS = 20
_PAUSE_S = 0.01


def lock_directory(path: Path) -> TextIO:
    """Makes the directory, and holds it for this connection alone, for as long as the file stays open."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = (path / "lock").open("w")
    except OSError as error:
        raise StateError(
            f"{path} cannot hold a database: {error.strerror or error}; choose a folder that can be written to, "
            "or connect with read_only=True"
        ) from error
    for attempt in range(_ATTEMPTS):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if attempt < _ATTEMPTS - 1:
                time.sleep(_PAUSE_S)  # `is_in_use` holds it for a moment
                continue
            lock.close()
            raise DatabaseInUse(
                f"{path} is in use by another connection; close that one, connect to another directory, "
                "or connect with read_only=True"
            ) from error
        break
    return lock


def is_in_use(path: Path) -> bool:
    """Whether a connection that may write holds the directory."""
    try:
        with (path / "lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
