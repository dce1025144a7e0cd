"""Files that a task does not find though the driver does: nothing was removed, the task's machine lacks a mount.

They are no bad files: who took them for removed would go on without their rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from panes.errors import SourceError
from panes.ingest.bad_files import BAD_FILE, GONE, BadFile
from panes.plan.stream import Stream
from panes.stages.exchange import Message


def bad_files_of_tasks(messages: Iterable[Message], streams: Sequence[Stream]) -> list[BadFile]:
    """The bad files that tasks tell of; raises SourceError when one of them is only not there for its task."""
    names = {stream.number: stream.name for stream in streams}
    found = []
    for message in messages:
        if message.kind == BAD_FILE:
            content = dict(message.content)
            host = content.pop("host")
            bad = BadFile(**content)
            if bad.reason == GONE and os.path.exists(bad.path):
                raise unseen_file(names[bad.stream], bad.path, [host])
            found.append(bad)
    return found


def unseen_file(stream: str, path: str, hosts: Sequence[str]) -> SourceError:
    """What is to be raised for a file that the driver sees and a task on one of the hosts does not."""
    where = f"a task on {' or '.join(hosts)}" if hosts else "a task on another machine"
    return SourceError(
        f"stream {stream!r}: {path} is there for the driver, but {where} does not find it; mount the folder under "
        "the same path on every machine, or put the files where all machines reach them, such as s3://…, then run "
        "again: nothing is lost"
    )
