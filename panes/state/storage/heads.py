"""The end of a chain of records: the record of an epoch pins it, and so all records before it."""

from __future__ import annotations

from typing import NamedTuple

from panes.state.storage.records import FIRST


class Head(NamedTuple):
    """The last record of a chain: the epoch that wrote it, its checksum, and whose attempt at the epoch it was."""

    epoch: int
    checksum: str
    writer: str = ""
    """Part of the name of the record: two attempts at an epoch write two records, and one of them is pinned."""

    def __str__(self) -> str:
        return ":".join([str(self.epoch), self.checksum, *([self.writer] if self.writer else [])])

    @classmethod
    def of(cls, text: str | None) -> Head:
        """The head that was pinned; `NO_HEAD` when nothing was."""
        if text is None:
            return NO_HEAD
        epoch, checksum, *writer = text.split(":", 2)
        return cls(int(epoch), checksum, *writer)


NO_HEAD = Head(-1, FIRST)
"""Before the first record."""


def numbered(kind: str, epoch: int, writer: str) -> str:
    """The name of what an attempt at an epoch writes, without its ending."""
    return f"{kind}-{epoch:010d}{f'-{writer}' if writer else ''}"
