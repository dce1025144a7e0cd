"""At which instants the answer of a query can change."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from panes.clock import to_microseconds
from panes.errors import PanesError
from panes.plan.nodes import Node, Window
from panes.plan.walk import has_relation, walk
from panes.plan.windows import WindowSpec


def last_slide(plan: Node, clock: int) -> int:
    """The last instant not after the clock at which the answer may have changed."""
    if has_relation(plan):
        return clock
    return max((window.last_slide(clock) for window in _windows(plan)), default=clock)


def whole_from(plan: Node, since: int) -> int:
    """The first instant after `since` by which all windows of a plan have moved on."""
    return max((window.next_slide(since) for window in _windows(plan)), default=since + 1)


def _windows(plan: Node) -> Iterator[WindowSpec]:
    return (node.spec for node in walk(plan) if isinstance(node, Window))


def instant_of(moment: datetime | str) -> int:
    """A moment in microseconds; text is read as ISO 8601, and what has no time zone is UTC.

    >>> instant_of("1970-01-01T00:00:02")
    2000000
    """
    try:
        return to_microseconds(datetime.fromisoformat(moment) if isinstance(moment, str) else moment)
    except ValueError as error:
        raise PanesError(f"{moment!r} is no instant; write it as '2026-01-05T10:00:00'") from error
