"""What the store of a group keeps of its streams because of one query."""

from __future__ import annotations

from panes.history.retention import Retained, held_by
from panes.plan.nodes import Node, StreamScan
from panes.plan.walk import walk
from panes.sharing.begin_end_aggregate import begin_end_aggregate_of
from panes.sharing.pair_reading import pair_reading_of
from panes.sharing.selection import selection_of


def held_in_store(plan: Node) -> tuple[tuple[str, Retained], ...]:
    """For each stream that the store takes in, its name and which tuples the windows of the query may hold. There
    are none when the query is not read from a store."""
    selection = selection_of(plan)
    if selection is not None:
        return ((selection.scan.stream, held_by(selection.window)),)
    aggregate = begin_end_aggregate_of(plan)
    if aggregate is not None:
        return ((_stream_of(aggregate.store), held_by(aggregate.asked.window)),)
    pairs = pair_reading_of(plan)
    if pairs is None:
        return ()
    streams = (_stream_of(side) for side in pairs.join.children)
    return tuple((stream, held_by(window)) for stream, window in zip(streams, pairs.windows, strict=True))


def _stream_of(side: Node) -> str:
    (scan,) = (node for node in walk(side) if isinstance(node, StreamScan))
    return scan.stream
