"""Telling people that rows came late, that rows, files or queries could not be used, and where they are."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console

from panes.errors import PanesWarning
from panes.state.storage.epoch_log import StreamProgress
from panes.status import Status

if TYPE_CHECKING:
    from panes.database import Database
    from panes.run_report import RunReport


def row_notes(before: Status, after: Status) -> Iterator[str]:
    """A sentence for each stream and kind of rows or files that came late or were rejected between two moments,
    and for each query that was suspended."""
    for name, progress in after.streams.items():
        earlier = before.streams.get(name, StreamProgress())
        late, bad = progress.late - earlier.late, progress.bad - earlier.bad
        if late:
            yield (
                f"{name}: {_rows(late)} came late, and count only from now on, in windows that are open. "
                f"db.late_rows({name!r}) has them. With SLACK INTERVAL … a stream waits for rows out of order, "
                "until the end of a run."
            )
        if bad:
            yield f"{name}: {_rows(bad)} could not be used. db.bad_rows({name!r}) has them, with the reason."
        files = progress.bad_files - earlier.bad_files
        if files:
            count = "1 file" if files == 1 else f"{files:,} files"
            yield f"{name}: {count} could not be read. db.bad_files({name!r}) has them, with the reason."
    for name, reason in after.failed.items():
        if name not in before.failed:
            yield f"{name} is suspended: {reason}"


def told_run(db: Database, *, progress: Console | bool) -> RunReport:
    """Runs; what is left out is in the report, which the caller prints, so Python need not warn of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PanesWarning)
        return db.run(progress=progress)


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"
