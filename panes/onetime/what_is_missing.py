"""Whether the history still has what a query needs."""

from __future__ import annotations

from collections.abc import Mapping

from panes.clock import to_datetime
from panes.delta.delta import BEGINNING
from panes.history.retention import needed
from panes.history.store import History
from panes.plan.nodes import Node, StreamScan
from panes.plan.stream import Stream
from panes.plan.walk import walk
from panes.state.epochs import EpochRecord


def what_is_missing(
    plan: Node, streams: Mapping[str, Stream], history: History, record: EpochRecord
) -> str | None:
    """Says which rows that the windows of a plan hold at an epoch are no longer kept; None when all are."""
    if record.clock == BEGINNING:
        return None
    for stream in dict.fromkeys(node.stream for node in walk(plan) if isinstance(node, StreamScan)):
        need = needed(plan, stream)
        kept = history.at(streams[stream].number, record.epoch)
        is_missing = kept.dropped_to >= need.oldest_ts(record.clock)
        if need.rows:
            is_missing = sum(file.rows for file in kept.files) < need.rows and kept.dropped > 0
        if is_missing and kept.dropped:
            last = to_datetime(kept.dropped_to).isoformat()
            return f"{stream} no longer keeps what came up to {last}, and the query needs some of it"
    return None
