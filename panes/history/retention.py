"""How much of a stream is kept: what RETAIN says, or what the registered queries would need to begin anew."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

from panes.delta.delta import BEGINNING, FOREVER
from panes.plan.begin_end import is_begin_end
from panes.plan.nodes import Node, Project, StreamScan, Union, Window, Wstream
from panes.plan.stream import Stream
from panes.plan.walk import walk
from panes.plan.windows import WindowSpec

Span = tuple[int, int]
"""Two instants, both included."""


@dataclass(frozen=True)
class Retained:
    """Rows that are kept: those of the last `us`, those of some spans of time, and the youngest `rows`."""

    us: int | None = 0
    """Those with `ts > clock - us`; None: all of them."""
    spans: tuple[Span, ...] = ()
    """What BEGIN … END windows with a constant begin need, without overlaps and in order of time. A landmark needs
    the time from its begin to FOREVER, a snapshot that from its begin to its end."""
    rows: int = 0

    @property
    def is_nothing(self) -> bool:
        return self.us == 0 and not self.spans and self.rows == 0

    def oldest_ts(self, clock: int) -> int:
        """The earliest time that is kept when the clock is here."""
        if self.us is None or clock == BEGINNING:
            return BEGINNING
        oldest = max(clock - self.us + 1, BEGINNING)
        return min([oldest, *(begin for begin, _ in self.spans[:1])])

    def keeps(self, min_ts: int, max_ts: int, clock: int) -> bool:
        """Whether a row with a time between these two is kept when the clock is here, whatever its age in rows."""
        if self.us is None or clock == BEGINNING or max_ts > clock - self.us:
            return True
        return any(begin <= max_ts and min_ts <= end for begin, end in self.spans)

    def __or__(self, other: Retained) -> Retained:
        us = None if self.us is None or other.us is None else max(self.us, other.us)
        return Retained(us, _without_overlaps([*self.spans, *other.spans]), max(self.rows, other.rows))


def _without_overlaps(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The same instants in as few spans as possible."""
    found: list[Span] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((begin, end))
    return tuple(found)


_EVERYTHING = Retained(None)


def retained(stream: Stream, plans: Iterable[Node]) -> Retained:
    """What a stream keeps, given the plans of all registered queries.

    With RETAIN that, and what queries need for which the history is asked, as for BEGIN … END. Without,
    the longest window in use that ends: one that does not would let the history grow for ever, though the query
    itself may need no more than a counter. Nothing when there is none.
    """
    return together(stream, (kept_for(plan, stream) for plan in plans))


def together(stream: Stream, kept: Iterable[Retained]) -> Retained:
    """What a stream keeps, given what it keeps for each query."""
    declared = Retained() if stream.retain_us is None else Retained(stream.retain_us)
    return reduce(Retained.__or__, kept, declared)


def kept_for(plan: Node, stream: Stream, is_asked_anew: bool = False) -> Retained:
    """What a stream keeps because of one query; `is_asked_anew` says whether the history is asked for its
    answer."""
    more = needed(plan, stream.name)
    counts = is_asked_anew or is_begin_end(plan) or (stream.retain_us is None and more.us is not None)
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
        own = held_by(node.spec) if node.spec.is_timed or counts_all(node) else _EVERYTHING
        above = _together(above, own)
    needed = Retained()
    for child in node.children:
        needed |= _needed(child, stream, above)
    return needed


def held_by(spec: WindowSpec) -> Retained:
    """Which rows of its stream a window may hold."""
    us = spec.retained()
    if us is not None:
        return Retained(us)
    if spec.begins_at is not None:
        return Retained(spans=((spec.begins_at, FOREVER if spec.ends_at is None else spec.ends_at),))
    return _EVERYTHING if spec.youngest is None else Retained(rows=spec.youngest)


def counts_all(node: Window | Wstream) -> bool:
    """Whether a count window counts every tuple of its streams: of those that pass a test, or of the groups that
    PARTITION BY makes, the youngest may be of any age."""
    return all(child is node or isinstance(child, (Project, StreamScan, Union)) for child in walk(node))


def _together(above: Retained, below: Retained) -> Retained:
    """How far back the lower of two windows reaches, seen from the top of the plan."""
    if above.is_nothing:
        return below
    if above.us is None or below.us is None or above.rows or below.rows or above.spans:
        return _EVERYTHING
    return Retained(above.us + below.us, below.spans)
