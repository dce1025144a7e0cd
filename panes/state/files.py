"""Files that are there wholly or not at all: written under another name, flushed, then renamed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from panes.errors import StateError


def write_atomically(path: Path, write: Callable[[BinaryIO], None]) -> None:
    """Calls `write` with a file that takes the place of `path` once it is safely on disk."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with unfinished.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise StateError(f"cannot write {path}: {error.strerror or error}; is the disk full?") from error


def write_json(path: Path, content: dict[str, Any]) -> None:
    text = json.dumps(content, separators=(",", ":"), sort_keys=True)
    write_atomically(path, lambda file: _write_bytes(file, text.encode()))


def read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise StateError(f"{path} is missing: the database is damaged; restore it from a copy") from error
    except ValueError as error:
        raise StateError(f"{path} is damaged ({error}); restore it from a copy") from error
    if not isinstance(content, dict):
        raise StateError(f"{path} is damaged (not an object); restore it from a copy")
    return content


def _write_bytes(file: BinaryIO, content: bytes) -> None:
    file.write(content)
