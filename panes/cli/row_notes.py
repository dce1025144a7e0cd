"""Telling people that rows came late or could not be used, and where they are."""

from __future__ import annotations

from collections.abc import Iterator

from panes.state.storage.epoch_log import StreamProgress
from panes.status import Status


def row_notes(before: Status, after: Status) -> Iterator[str]:
    """A sentence for each stream and kind of rows that came late or were rejected between two moments."""
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


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"
