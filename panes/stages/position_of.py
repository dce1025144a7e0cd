"""Where a query stands before an epoch, as the record of the one before tells."""

from __future__ import annotations

from collections.abc import Set

from panes.stages.clock_rule import Position
from panes.stages.running_query import RunningQuery
from panes.state.storage.epoch_log import EpochRecord


def position_of(
    query: RunningQuery, numbers: frozenset[int], before: EpochRecord, changed: Set[str]
) -> Position:
    """The position of what is to run. `numbers` are those of the streams that it reads, `changed` the tables that
    change in the epoch."""
    begins = query.needs_history(before.epoch + 1)
    has_changes = not changed.isdisjoint(query.plan.tables)
    replaced = None if query.replaces is None else before.progress_of(query.replaces, query.query)
    if replaced is not None:
        # The clocks of its streams may have fallen back behind that of the query, which never does.
        return Position(numbers, replaced.seen_to, -1, begins=begins, has_changes=has_changes)
    if query.continues and query.first_epoch > before.epoch:
        replaced = before.queries[query.query]
        return Position(numbers, replaced.seen_to, -1, begins=begins, has_changes=has_changes)
    ran = before.progress_of(query.id, query.query)
    if ran is None or query.first_epoch > before.epoch:
        return Position(numbers, before.clock_of(numbers), -1, begins=begins, has_changes=has_changes)
    return Position(numbers, ran.seen_to, ran.epoch, ran.spread, begins, has_changes, ran.next_change)
