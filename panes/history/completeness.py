"""Whether the windows of a query hold all that they should, or reach back to rows that were not kept for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from panes.delta.delta import BEGINNING, FOREVER
from panes.history.manifests import Manifest
from panes.history.retention import Retained, counts_all, needed
from panes.plan.nodes import Node, StreamScan, Window, Wstream
from panes.plan.walk import streams_of
from panes.state.storage.epoch_log import MissingRows


def complete_from(
    plan: Node, missing: Mapping[str, MissingRows], now: int, brought: Mapping[str, int]
) -> int | None:
    """The instant from which on a plan has seen all rows; None when its windows reach no further back at `now`.

    `missing` says what it has not seen of each stream, `brought` how many rows each stream has brought until now.
    """
    found = [
        gap.to + 1 for stream, gap in missing.items() if _reaches(plan, stream, gap, now, brought[stream])
    ]
    return max(found, default=None)


def _reaches(plan: Node, stream: str, gap: MissingRows, now: int, brought: int) -> bool:
    if gap.to >= oldest_needed(plan, stream, now):
        return True
    return gap.rows + brought - gap.brought < needed(plan, stream).rows


def oldest_needed(plan: Node, stream: str, now: int) -> int:
    """The earliest time of a row of a stream that is in a window of a plan at an instant.

    Windows that count all rows of a stream need rows, not times, and do not count here.
    """
    return _oldest(plan, stream, now, is_windowed=False)


def _oldest(node: Node, stream: str, now: int, *, is_windowed: bool) -> int:
    if isinstance(node, StreamScan):
        return FOREVER if node.stream != stream else now if is_windowed else BEGINNING
    if isinstance(node, (Window, Wstream)):
        if not node.spec.is_timed:
            is_counted = node.spec.youngest is not None and counts_all(node) and not is_windowed
            return FOREVER if is_counted or stream not in streams_of(node) else BEGINNING
        # What a window over an output stream holds from its begin on depends on what was there just before.
        since = node.spec.reach(now - 1 if is_windowed else now).since
        return min(_oldest(child, stream, since, is_windowed=True) for child in node.children)
    return min((_oldest(c, stream, now, is_windowed=is_windowed) for c in node.children), default=FOREVER)


def missing_in(kept: Manifest, brought: int) -> MissingRows | None:
    """What a query that begins with a history has not seen; None when it has everything."""
    return (
        MissingRows(kept.dropped_to, sum(file.rows for file in kept.files), brought) if kept.dropped else None
    )


def missing_in_store(
    wanted: Retained, guaranteed: Iterable[tuple[Retained, int]], kept: Manifest, clock: int, brought: int
) -> MissingRows | None:
    """What a selection that joins others has not seen, as far as one can tell: it may be less.

    The store of the others has what it keeps for queries, each from an instant on: `guaranteed`. The history of
    the stream, which may have more or less, tells whether there were any rows before that.
    """
    guaranteed = list(guaranteed)
    if wanted.us == 0 and all(_has_span(span, guaranteed) for span in wanted.spans):
        return None
    to = min((max(_lasting(held).oldest_ts(clock), since) for held, since in guaranteed), default=FOREVER) - 1
    if not any(file.min_ts <= to for file in kept.files):
        to = min(to, kept.dropped_to if kept.dropped else BEGINNING)
    return None if to <= BEGINNING else MissingRows(to, 0, brought)


def _has_span(span: tuple[int, int], guaranteed: Iterable[tuple[Retained, int]]) -> bool:
    return any(
        since <= span[0] and any(begin <= span[0] and span[1] <= end for begin, end in held.spans)
        for held, since in guaranteed
    )


def _lasting(held: Retained) -> Retained:
    """Without the snapshots: what is kept up to now without a gap."""
    return replace(held, spans=tuple(span for span in held.spans if span[1] == FOREVER))
