"""Whether the history still has what a query needs."""

from __future__ import annotations

from collections.abc import Mapping

from panes.clock import to_datetime
from panes.delta.delta import BEGINNING
from panes.history.completeness import complete_from, missing_in
from panes.history.history_store import History
from panes.plan.nodes import Node
from panes.plan.stream import Stream
from panes.plan.walk import streams_of


def missing_history(
    plan: Node, streams: Mapping[str, Stream], history: History, epoch: int, now: int
) -> str | None:
    """Says which rows that the windows of a plan hold at an instant are not kept after an epoch; None: all are."""
    for stream in sorted(streams_of(plan)):
        since = _complete_from(plan, {stream: streams[stream]}, history, epoch, now)
        if since is not None:
            last = to_datetime(since - 1).isoformat()
            return f"{stream} no longer keeps what came up to {last}, and the query needs some of it"
    return None


def history_complete_from(
    plan: Node, streams: Mapping[str, Stream], history: History, epoch: int, now: int
) -> int | None:
    """The instant from which on the history has all rows of the streams of a plan; None when its windows reach no
    further back."""
    return _complete_from(plan, {name: streams[name] for name in streams_of(plan)}, history, epoch, now)


def _complete_from(
    plan: Node, streams: Mapping[str, Stream], history: History, epoch: int, now: int
) -> int | None:
    if now == BEGINNING:
        return None
    gaps = {name: missing_in(history.at(stream.number, epoch), 0) for name, stream in streams.items()}
    missing = {name: gap for name, gap in gaps.items() if gap is not None}
    return complete_from(plan, missing, now, dict.fromkeys(missing, 0))
