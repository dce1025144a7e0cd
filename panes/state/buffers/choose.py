"""Which state holds what: the only place that makes buffers, each with the reason for its layout.

The rows of an edge that an operator keeps go by the one table, by the pattern of the edge and the strategy:

| strategy | MONOTONIC, WEAKEST | WEAK | STRICT, few leave early | STRICT, many do |
| --- | --- | --- | --- | --- |
| upa | list | calendar queue | calendar queue | keyed |
| nt | keyed | keyed | keyed | keyed |
| direct | scan | scan | refused | refused |

Under upa the rows of a STRICT edge still carry the time at which they are to leave, and a calendar drops
them by it; those that leave early come as rows of weight -1 and the same `_exp`, into the same day.

For whatever else an operator remembers there is one function per need. The states of aggregates are made in
`panes/aggregates/choose_state.py`, because aggregates are built on this package and not the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pyarrow as pa

from panes.delta.delta import WEIGHT
from panes.errors import SettingError
from panes.plan.patterns import Pattern
from panes.state.buffers.calendar import Calendar
from panes.state.buffers.chunked import ChunkedBuffer, Combine, sum_weights
from panes.state.buffers.fifo import Fifo
from panes.state.buffers.keyed import Keyed
from panes.state.buffers.keyed_versions import KeyedVersions
from panes.state.buffers.lazy_expiration import LazyExpiration
from panes.state.buffers.lent import Lent
from panes.state.buffers.scan import Scan
from panes.state.buffers.timer_queue import TimerQueue

STRATEGIES = ("upa", "nt", "direct")


class Layout(NamedTuple):
    """What EXPLAIN says of a buffer."""

    kind: str
    reason: str


_LIST = Layout(Fifo.kind, "rows leave first in, first out")
_CALENDAR = Layout(Calendar.kind, "rows leave at a known time in any order")
_SCAN = Layout(Scan.kind, "read whole (direct)")

_LAYOUTS: dict[tuple[str, Pattern], Layout] = {
    ("upa", Pattern.MONOTONIC): Layout(Fifo.kind, "rows never leave"),
    ("upa", Pattern.WEAKEST): _LIST,
    ("upa", Pattern.WEAK): _CALENDAR,
    ("upa", Pattern.STRICT): Layout(Keyed.kind, "retractions find their row"),
    **{("nt", pattern): Layout(Keyed.kind, "every row leaves by a retraction (nt)") for pattern in Pattern},
    **{("direct", pattern): _SCAN for pattern in Pattern if pattern < Pattern.STRICT},
}
FEW_LEAVE_EARLY = Layout(Calendar.kind, "rows leave at a known time, few are retracted before")


def layout_of(pattern: Pattern, strategy: str, *, leaves_early: bool = True) -> Layout:
    """The layout of the rows of an edge, and the reason.

    `leaves_early` says of a STRICT edge whether its rows mostly leave by a negative tuple, not at `_exp`.
    """
    if strategy not in STRATEGIES:
        raise SettingError(f"there is no strategy {strategy!r}; there are {', '.join(STRATEGIES)}")
    if strategy == "upa" and pattern is Pattern.STRICT and not leaves_early:
        return FEW_LEAVE_EARLY
    layout = _LAYOUTS.get((strategy, pattern))
    if layout is None:
        raise SettingError(
            "strategy 'direct' finds what leaves by its known time, and rows of a STRICT edge leave at times "
            "that nobody knows before; use 'upa' or 'nt' for this query"
        )
    return layout


def choose_buffer(
    pattern: Pattern,
    strategy: str,
    keys: Sequence[str],
    *,
    leaves_early: bool = True,
    nulls_equal: bool = False,
    calendar_days: int = 10,
    lazy_expiration: str | None = None,
) -> ChunkedBuffer:
    """An empty buffer for the rows of an edge, to be probed by `keys`."""
    kind, reason = layout_of(pattern, strategy, leaves_early=leaves_early)
    # Whoever reads rows of an edge without weights does not look at weights: equal rows stay apart.
    combine = sum_weights if pattern is Pattern.STRICT else None
    buffer: ChunkedBuffer
    if kind == Keyed.kind:
        buffer = Keyed(keys, reason=reason, nulls_equal=nulls_equal, combine=combine)
    elif kind == Calendar.kind:
        days = _days_to_probe(calendar_days)
        buffer = Calendar(keys, reason=reason, calendar_days=days, nulls_equal=nulls_equal, combine=combine)
    elif kind == Scan.kind:
        buffer = Scan(keys, reason=reason, nulls_equal=nulls_equal, combine=combine)
    else:
        buffer = Fifo(keys, reason=reason, nulls_equal=nulls_equal, combine=combine)
    if lazy_expiration is not None:
        buffer.lazy_expiration = LazyExpiration.of(lazy_expiration)
    return buffer


def choose_for_duplicates(
    strategy: str,
    keys: Sequence[str],
    *,
    combine: Combine,
    updates: Callable[[pa.Table], int],
    calendar_days: int,
) -> ChunkedBuffer:
    """For the one row that is kept of each value, and what is known of its duplicates."""
    if strategy == "direct":
        return Scan(keys, reason=_SCAN.reason, nulls_equal=True, combine=combine)
    return Calendar(
        keys,
        reason="a shown row leaves at a known time, its duplicates are found by value",
        calendar_days=_days_to_probe(calendar_days),
        nulls_equal=True,
        combine=combine,
        updates=updates,
    )


def choose_for_expiry(
    keys: Sequence[str] | None,
    reason: str,
    *,
    combine: Combine | None = None,
    nulls_equal: bool = False,
    calendar_days: int = 10,
) -> Calendar:
    """For rows that are needed when they leave, in any order, at times that are known when they come."""
    return Calendar(
        keys,
        reason=reason,
        calendar_days=calendar_days if keys is None else _days_to_probe(calendar_days),
        nulls_equal=nulls_equal,
        combine=combine,
    )


def choose_for_retractions(
    keys: Sequence[str],
    reason: str,
    *,
    combine: Combine = sum_weights,
    weight: str = WEIGHT,
    nulls_equal: bool = False,
) -> Keyed:
    """For rows that are found by key, and leave or change at times that nobody knows before."""
    return Keyed(keys, reason=reason, nulls_equal=nulls_equal, combine=combine, weight=weight)


def choose_to_read(lender: ChunkedBuffer, name: str) -> Lent:
    """For rows that another operator keeps already."""
    return Lent(lender, name)


def choose_for_versions(keys: Sequence[str], reason: str) -> KeyedVersions:
    """For the rows of a table that are looked up by key, as they were at an instant."""
    return KeyedVersions(keys, reason=reason)


def choose_for_waiting(schema: pa.Schema, reason: str) -> TimerQueue:
    """For rows that are needed once, at an instant that is known when they come, and nothing before."""
    return TimerQueue(schema, reason)


def _days_to_probe(calendar_days: int) -> int:
    """The days of a calendar that is probed: every key is looked up in each of them, so a few wide ones are better
    than many."""
    return max(1, calendar_days // 3)
