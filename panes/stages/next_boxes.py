"""What the drop boxes of queries keep in the next epoch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from panes.history.completeness import oldest_needed
from panes.plan.box_schedule import BoxSchedule
from panes.stages.running_query import RunningQuery
from panes.state.storage.epoch_log import Boxes, EpochRecord, StreamProgress

Shares = Mapping[int, Mapping[int, float]]
"""New shares of drop boxes: by the number of the query, then of the stream."""


def next_boxes(
    before: EpochRecord,
    queries: Iterable[RunningQuery],
    numbers: Mapping[str, int],
    shares: Shares | None = None,
) -> Boxes:
    """The schedules of the epoch that follows: those of the epoch before, with the shares that were decided since.

    A new share holds for rows that are younger than all that have come, so that rows that wait for their window
    and rows that are read again have met theirs. Steps that end before the windows of a query begin are left out.
    A query that begins keeps everything of the past. `numbers` are those of the streams, by name.
    """
    found: dict[int, dict[int, BoxSchedule]] = {}
    for query in queries:
        # A plan that replaces another one of its query goes on with what that has left.
        begins = query.first_epoch > before.epoch and query.replaces is None
        for name in query.plan.shed_streams:
            number = numbers[name]
            box = BoxSchedule() if begins else before.boxes.get(query.query, {}).get(number, BoxSchedule())
            ran = None if begins else before.queries.get(query.query)
            if ran is not None:
                box = box.pruned(oldest_needed(query.plan.plan, name, ran.clock))
            share = (shares or {}).get(query.query, {}).get(number)
            if share is not None:
                newest = before.streams.get(number, StreamProgress()).max_ts
                box = box.changed(newest + 1, share)
            if box.steps:
                found.setdefault(query.query, {})[number] = box
    return found
