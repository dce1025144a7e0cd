"""How much of a stream is kept: what RETAIN says, or what the registered queries would need to begin anew."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

from panes.delta.delta import BEGINNING
from panes.plan.begin_end import is_begin_end
from panes.plan.nodes import Node, Project, StreamScan, Union, Window, Wstream
from panes.plan.stream import Stream
from panes.plan.walk import walk
from panes.plan.windows import WindowSpec


@dataclass(frozen=True)
class Retained:
    """Rows that are kept: those of the last `us`, those since an instant, and the youngest `rows`."""

    us: int | None = 0
    """Those with `ts > clock - us`; None: all of them."""
    since: int | None = None
    """The earliest constant begin of a BEGIN … END window."""
    rows: int = 0

    @property
    def is_nothing(self) -> bool:
        return self.us == 0 and self.since is None and self.rows == 0

    def oldest_ts(self, clock: int) -> int:
        """The earliest time that is kept when the clock is here."""
        if self.us is None or clock == BEGINNING:
            return BEGINNING
        oldest = max(clock - self.us + 1, BEGINNING)
        return oldest if self.since is None else min(oldest, self.since)

    def __or__(self, other: Retained) -> Retained:
        us = None if self.us is None or other.us is None else max(self.us, other.us)
        begins = [begin for begin in (self.since, other.since) if begin is not None]
        return Retained(us, min(begins, default=None), max(self.rows, other.rows))


_EVERYTHING = Retained(None)


def retained(stream: Stream, plans: Iterable[Node]) -> Retained:
    """What a stream keeps, given the plans of all registered queries.

    With RETAIN that, and what BEGIN … END windows in use need, because only the history can answer them. Without,
    the longest window in use that ends: one that does not would let the history grow for ever, though the query
    itself may need no more than a counter. Nothing when there is none.
    """
    return together(stream, (kept_for(plan, stream) for plan in plans))


def together(stream: Stream, kept: Iterable[Retained]) -> Retained:
    """What a stream keeps, given what it keeps for each query."""
    declared = Retained() if stream.retain_us is None else Retained(stream.retain_us)
    return reduce(Retained.__or__, kept, declared)


def kept_for(plan: Node, stream: Stream) -> Retained:
    """What a stream keeps because of one query."""
    more = needed(plan, stream.name)
    counts = is_begin_end(plan) or (stream.retain_us is None and more.us is not None)
    return more if counts else Retained()


def needed(plan: Node, stream: str) -> Retained:
    """Which rows of a stream the windows of a plan may hold."""
    return _needed(plan, stream, Retained())


def _needed(node: Node, stream: str, above: Retained) -> Retained:
    """What the scans of a stream under a node must reach back, given how far the windows above it do."""
    if isinstance(node, StreamScan):
        # A scan that no window stands on is seen wholly.
        return (above if not above.is_nothing else _EVERYTHING) if node.stream == stream else Retained()
    if isinstance(node, (Window, Wstream)):
        own = _held(node.spec) if node.spec.is_timed or _counts_all(node) else _EVERYTHING
        above = _together(above, own)
    needed = Retained()
    for child in node.children:
        needed |= _needed(child, stream, above)
    return needed


def _held(spec: WindowSpec) -> Retained:
    us = spec.retained()
    if us is not None:
        return Retained(us)
    if spec.begins_at is not None:
        return Retained(since=spec.begins_at)
    return _EVERYTHING if spec.youngest is None else Retained(rows=spec.youngest)


def _counts_all(node: Window | Wstream) -> bool:
    """Whether a count window counts every tuple of its streams: of those that pass a test, or of the groups that
    PARTITION BY makes, the youngest may be of any age."""
    return all(child is node or isinstance(child, (Project, StreamScan, Union)) for child in walk(node))


def _together(above: Retained, below: Retained) -> Retained:
    """How far back the lower of two windows reaches, seen from the top of the plan."""
    if above.is_nothing:
        return below
    if above.us is None or below.us is None or above.rows or below.rows or above.since is not None:
        return _EVERYTHING
    return Retained(above.us + below.us, below.since)
