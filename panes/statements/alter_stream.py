"""ALTER STREAM name SET (…): other clauses for a base stream."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from panes.delta.delta import BEGINNING
from panes.errors import CatalogError
from panes.language.statements import AlterStream, CreateStream
from panes.plan.stream import Stream
from panes.statements.context import Context

_FIELDS = {
    "slack": "slack_us",
    "ahead": "ahead_us",
    "idle_advance": "idle_advance",
    "retain": "retain_us",
}


def alter_stream(statement: AlterStream, context: Context) -> None:
    """Changes what the statement names from the next epoch on; a background run goes on with it at once.

    Clocks do not move back, and what was not kept does not come back.
    """
    old = base_stream(statement.name, context)
    changes: dict[str, Any] = {_FIELDS[name]: value for name, value in statement.options}
    new = replace(old, **changes)
    if new.idle_advance and new.timestamp is None:
        raise CatalogError(
            f"IDLE ADVANCE is for streams with TIMESTAMP BY, and {old.name!r} has none: "
            "times of arrival go on by themselves"
        )
    context.runs.change_streams(
        lambda: context.catalog.definitions.alter(CreateStream(new), _keeps_more_from(old, new, context))
    )


def base_stream(name: str, context: Context) -> Stream:
    """Raises CatalogError unless the name is that of a stream with a source."""
    found = context.catalog.stream(name)
    if isinstance(found, CreateStream):
        return found.stream
    if found is not None:
        raise CatalogError(
            f"{found.name!r} is derived from other streams; alter those, or drop it and create it anew"
        )
    known = ", ".join(stream.name for stream in context.catalog.base_streams()) or "none yet"
    raise CatalogError(f"there is no stream named {name!r}; there are {known}")


def _keeps_more_from(old: Stream, new: Stream, context: Context) -> int | None:
    """The clock of the stream, when it may keep more than before from now on; None when it does not."""
    if old.retain_us == new.retain_us:
        return None
    if old.retain_us is not None and new.retain_us is not None and new.retain_us < old.retain_us:
        return None
    latest = context.connection.log.latest()
    progress = None if latest is None else latest.streams.get(old.number)
    return BEGINNING if progress is None else progress.clock
