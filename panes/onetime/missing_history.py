"""Whether the history still has what a query needs."""

from __future__ import annotations

from collections.abc import Mapping

from panes.clock import to_datetime
from panes.delta.delta import BEGINNING
from panes.history.history_store import History
from panes.history.retention import needed
from panes.plan.nodes import Node
from panes.plan.stream import Stream
from panes.plan.walk import streams_of


def missing_history(
    plan: Node, streams: Mapping[str, Stream], history: History, epoch: int, now: int
) -> str | None:
    """Says which rows that the windows of a plan hold at an instant are not kept after an epoch; None: all are."""
    if now == BEGINNING:
        return None
    for stream in sorted(streams_of(plan)):
        need = needed(plan, stream)
        kept = history.at(streams[stream].number, epoch)
        is_missing = kept.dropped_to >= need.oldest_ts(now)
        if need.rows:
            is_missing = sum(file.rows for file in kept.files) < need.rows and kept.dropped > 0
        if is_missing and kept.dropped:
            last = to_datetime(kept.dropped_to).isoformat()
            return f"{stream} no longer keeps what came up to {last}, and the query needs some of it"
    return None
