"""What a run in the background waits for, in words."""

from __future__ import annotations

from collections.abc import Sequence

from panes.ingest.file_location import FileLocation
from panes.plan.stream import Stream

_MOST = 5
"""How many streams are named."""


def waits_for(streams: Sequence[Stream]) -> str:
    """What brings rows to the base streams of a database.

    >>> waits_for([])
    'a stream: there is none yet, CREATE STREAM makes one'
    """
    if not streams:
        return "a stream: there is none yet, CREATE STREAM makes one"
    more = f", and what {len(streams) - _MOST} more streams take in" if len(streams) > _MOST else ""
    return ", ".join(map(_source, streams[:_MOST])) + more


def _source(stream: Stream) -> str:
    source = stream.source
    match source.kind:
        case "FILES":
            return f"files in {FileLocation.of(str(source.location)).text} ({stream.name})"
        case "PUSH":
            return f"rows pushed to {stream.name} (INSERT INTO {stream.name} …)"
        case "KAFKA":
            return f"records of topic {source.location} ({stream.name})"
        case _:
            return f"rows of the generator of {stream.name}"
