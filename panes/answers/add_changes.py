"""Bringing an answer forward: that of one epoch, and the changes since, give that of a later one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from panes.answers.answer import Answer
from panes.answers.answer_store import summed
from panes.answers.changes import Change
from panes.answers.sorted_rows import in_order
from panes.delta.consolidate import AT, difference
from panes.plan.nodes import Node
from panes.plan.order_of_answer import order_of


def can_add_changes(plan: Node, answer: Answer) -> bool:
    """Whether the answer of a plan and its changes say all that a later answer does: not when rows are sorted by
    columns that are not shown, nor when values are estimates with intervals."""
    is_shown = all(key.column in plan.schema for key in order_of(plan))
    return is_shown and answer.as_of is not None and answer.error is None and not answer.kept


def add_changes(plan: Node, answer: Answer, changes: Sequence[Change]) -> Answer:
    """The answer after changes, in the order of epochs. Rows that the changes do not name are not compared."""
    if not changes:
        return answer
    events = pa.concat_tables([change.table.drop_columns([AT]) for change in changes])
    net = replace(changes[-1], table=_timed(summed(events, answer.table.column_names)))
    rows = answer.table
    if net.deleted.num_rows:
        rows = _without(rows, net.deleted)
    rows = pa.concat_tables([rows, net.inserted.select(rows.column_names)]).combine_chunks()
    order = order_of(plan)
    return replace(answer, as_of=changes[-1].as_of, table=in_order(rows, order) if order else rows)


def _timed(events: pa.Table) -> pa.Table:
    """Events with a column for their instants, which no longer matter."""
    return events.append_column(AT, pa.nulls(events.num_rows, pa.timestamp("us", tz="UTC")))


def _without(rows: pa.Table, deleted: pa.Table) -> pa.Table:
    """The rows without some of them, each copy by itself."""
    for name in rows.column_names:
        if pa.types.is_integer(rows.schema.field(name).type) or pa.types.is_string(
            rows.schema.field(name).type
        ):
            # One column tells most rows apart from those that go.
            may_go = pc.is_in(rows.column(name), value_set=deleted.column(name).combine_chunks())
            some = difference(rows.filter(may_go), deleted.select(rows.column_names))
            return pa.concat_tables([rows.filter(pc.invert(may_go)), some])
    return difference(rows, deleted.select(rows.column_names))
