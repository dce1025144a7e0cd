"""What a failure of the file system means to the user of a database."""

from __future__ import annotations

from panes.errors import PanesError, StateError
from panes.state.storage.epoch_log import EpochRecord


def last_success(last: EpochRecord | None) -> str:
    """Says which epoch was the last that succeeded."""
    return f"epoch {last.epoch} was the last that succeeded" if last else "none has succeeded yet"


def explained_failure(error: BaseException, where: str) -> BaseException:
    """Returns a StateError for an error of the file system that ended an epoch; other errors as they are.

    `where` is what `last_success` returns.
    """
    if not isinstance(error, OSError) or isinstance(error, PanesError):
        return error
    place = error.filename or "a file of the database"
    return StateError(
        f"an epoch failed ({where}): {place}: {error.strerror or error}; see that there is space and "
        "that the folder can be written to, then run again: nothing is lost"
    )
