"""What is checked when a database is opened: that the folder is one, and that its parts belong together."""

from __future__ import annotations

from pathlib import Path

from panes.errors import StateError
from panes.state.storage.checkpoint import Checkpoint
from panes.state.storage.epoch_log import EpochLog
from panes.state.storage.home import CHOICE

CATALOG = "catalog.sqlite"
_BEFORE_THE_CATALOG = {"lock"}
"""What a database has before its catalog, should its process end while it is being made."""
_OF_A_DATABASE = (
    "epochs",
    "checkpoint",
    "states",
    "terms",
    "history",
    "readers.sqlite",
    "pushed",
    "aside",
    "measures",
)


def check_place(path: str | Path) -> None:
    """Raises StateError unless there is a database at a path, or one can be made there."""
    if not str(path):
        raise StateError("the path of the database is empty; name a folder, or None for a temporary database")
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise StateError(f"{folder} is a file; a database is a folder: name another one")
    if not folder.exists() or (folder / CATALOG).exists() or (folder / CHOICE).exists():
        return  # a working folder can be made again from the home of its database
    names = sorted(found.name for found in folder.iterdir())
    others = [name for name in names if name not in _BEFORE_THE_CATALOG and not _is_unfinished(name)]
    kept = [name for name in _OF_A_DATABASE if name in others]
    if kept:
        raise StateError(
            f"{folder} holds {', '.join(kept)} of a database, but {CATALOG} is missing; restore it from a copy, "
            "or name another folder to make a new database"
        )
    if others:
        more = ", …" if len(others) > 3 else ""
        raise StateError(
            f"{folder} is not a database: it holds {', '.join(others[:3])}{more}; name an empty or a new folder "
            "to make one"
        )


def check_opening(
    path: Path, log: EpochLog, last_begun: int, last_committed: int, furthest_read: int
) -> None:
    """Raises StateError unless the catalog, the epochs, the readers and Spark's checkpoint are of one time.

    `last_begun` and `last_committed` are what the catalog knows of the epochs, `furthest_read` is the last epoch
    that a reader of changes has read.
    """
    latest = log.latest()
    epoch = -1 if latest is None else latest.epoch
    if epoch < last_committed:
        raise StateError(
            f"the epochs end at {epoch}, and the catalog knows that epoch {last_committed} was committed: "
            f"{log.path(last_committed)} is missing; {_AS_A_WHOLE.format(path)}"
        )
    if epoch > last_begun:
        raise StateError(
            f"the epochs end at {epoch}, and the catalog knows of epoch {last_begun} as the last: "
            f"{path / CATALOG} is older than the epochs; {_AS_A_WHOLE.format(path)}"
        )
    if epoch < furthest_read:
        raise StateError(
            f"the epochs end at {epoch}, and a reader has read epoch {furthest_read}: "
            f"{log.path(furthest_read)} is missing, or readers.sqlite is newer than the epochs; "
            f"{_AS_A_WHOLE.format(path)}"
        )
    pin = None if latest is None else latest.pins.get("checkpoint")
    batch = log.last_batch()
    is_skipped = latest is None or batch != latest.batch
    Checkpoint(path / "checkpoint").check_against(batch, epoch, None if is_skipped else pin)


_AS_A_WHOLE = "restore {} as a whole from a copy, or make a new database from the sources"


def _is_unfinished(name: str) -> bool:
    return name.startswith(".") and name.endswith((".tmp", ".tmp-journal", ".tmp-wal", ".tmp-shm"))
