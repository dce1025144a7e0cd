"""Which buffer holds the rows of an edge: the one table, by the pattern of the edge and the strategy.

| strategy | MONOTONIC, WEAKEST | WEAK | STRICT, few leave early | STRICT, many do |
| --- | --- | --- | --- | --- |
| upa | list | calendar queue | calendar queue | keyed |
| nt | keyed | keyed | keyed | keyed |
| direct | scan | scan | refused | refused |

Under upa the rows of a STRICT edge still carry the time at which they are to leave, and a calendar drops
them by it; those that leave early come as rows of weight -1 and the same `_exp`, into the same day.
"""

from __future__ import annotations

from collections.abc import Sequence

from panes.errors import SettingError
from panes.plan.patterns import Pattern
from panes.state.buffers.calendar import Calendar
from panes.state.buffers.chunked import ChunkedBuffer, sum_weights
from panes.state.buffers.fifo import Fifo
from panes.state.buffers.keyed import Keyed
from panes.state.buffers.scan import Scan

STRATEGIES = ("upa", "nt", "direct")

_KINDS: dict[tuple[str, Pattern], str] = {
    ("upa", Pattern.MONOTONIC): "list",
    ("upa", Pattern.WEAKEST): "list",
    ("upa", Pattern.WEAK): "calendar",
    ("upa", Pattern.STRICT): "keyed",
    **{("nt", pattern): "keyed" for pattern in Pattern},
    **{("direct", pattern): "scan" for pattern in Pattern if pattern < Pattern.STRICT},
}


def kind_of_buffer(pattern: Pattern, strategy: str, *, leaves_early: bool = True) -> str:
    """`list`, `calendar`, `keyed` or `scan`, for EXPLAIN.

    `leaves_early` says of a STRICT edge whether its rows mostly leave by a negative tuple, not at `_exp`.
    """
    if strategy not in STRATEGIES:
        raise SettingError(f"there is no strategy {strategy!r}; there are {', '.join(STRATEGIES)}")
    if strategy == "upa" and pattern is Pattern.STRICT and not leaves_early:
        return "calendar"
    kind = _KINDS.get((strategy, pattern))
    if kind is None:
        raise SettingError(
            "strategy 'direct' finds what leaves by its known time, and rows of a STRICT edge leave at times "
            "that nobody knows before; use 'upa' or 'nt' for this query"
        )
    return kind


def choose_buffer(
    pattern: Pattern,
    strategy: str,
    keys: Sequence[str],
    *,
    leaves_early: bool = True,
    nulls_equal: bool = False,
    partitions: int = 10,
) -> ChunkedBuffer:
    """An empty buffer for the rows of an edge, to be probed by `keys`."""
    kind = kind_of_buffer(pattern, strategy, leaves_early=leaves_early)
    combine = sum_weights if pattern is Pattern.STRICT else None
    if kind == "keyed":
        return Keyed(keys, nulls_equal=nulls_equal)
    if kind == "calendar":
        return Calendar(keys, partitions=partitions, nulls_equal=nulls_equal, combine=combine)
    if kind == "scan":
        return Scan(keys, nulls_equal=nulls_equal, combine=combine)
    return Fifo(keys, nulls_equal=nulls_equal, combine=combine)
