"""At which instants the answer of a query can change."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from panes.clock import to_microseconds
from panes.errors import PanesError
from panes.plan.nodes import Node, TableScan, Window
from panes.plan.walk import walk
from panes.plan.windows import WindowSpec


def last_slide(plan: Node, clock: int) -> int:
    """The last instant not after the clock at which the answer may have changed.

    What is below a window, such as the windows of a derived stream, is seen at the slides of that window alone.
    """
    return max(_last_changes(plan, clock), default=clock)


def _last_changes(plan: Node, clock: int) -> Iterator[int]:
    """The last changes that the topmost windows and relations of a plan may have made to its answer."""
    match plan:
        case Window(spec=spec):
            yield spec.last_slide(clock)
        case TableScan(stream=None):
            yield clock
        case _:
            for child in plan.children:
                yield from _last_changes(child, clock)


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
