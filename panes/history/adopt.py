"""Taking over the files of a source as they are."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from panes.errors import StateError
from panes.state.storage.files import write_atomically


def adopt_file(source: Path, target: Path) -> None:
    """Makes a file of a source one of ours, at no cost per row; copies it where it cannot be linked."""
    link = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        link.unlink(missing_ok=True)
        os.link(source, link)
        link.replace(target)
    except FileNotFoundError as error:
        # A source that cleans up after an epoch may have done so before the epoch is done again.
        if not target.exists():
            raise StateError(f"{source} is gone before its rows could be kept; put it back") from error
    except OSError:
        _copy(source, target)
    finally:
        link.unlink(missing_ok=True)  # a rename between two names of one file leaves both


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as file:
        write_atomically(target, lambda to: shutil.copyfileobj(file, to))
