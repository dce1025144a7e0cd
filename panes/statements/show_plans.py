"""SHOW PLANS name: the plans that a registered query has had, and why each was chosen."""

from __future__ import annotations

import pyarrow as pa

from panes.language.statements import ShowPlans
from panes.statements.context import Context

_SCHEMA = pa.schema(
    [
        ("plan", pa.int64()),
        ("chosen_at", pa.timestamp("us", tz="UTC")),
        ("state", pa.string()),
        ("first_epoch", pa.int64()),
        ("last_epoch", pa.int64()),
        ("reason", pa.string()),
        ("cost_before", pa.float64()),
        ("cost_after", pa.float64()),
        ("shape", pa.string()),
    ]
)


def show_plans(statement: ShowPlans, context: Context) -> pa.Table:
    """A table with a row for each choice, the oldest first; costs are CPU seconds per second of event time, as
    they were expected then."""
    record = context.catalog.query(statement.name)
    rows = []
    for number, state, first_epoch, last_epoch, chosen in context.catalog.plan_rows(statement.name):
        is_first = state == "runs" and first_epoch is None
        rows.append(
            {
                "plan": number,
                "chosen_at": chosen.at_us,
                "state": state,
                "first_epoch": record.first_epoch if is_first else first_epoch,
                "last_epoch": last_epoch,
                "reason": chosen.reason,
                "cost_before": chosen.cost_before,
                "cost_after": chosen.cost_after,
                "shape": chosen.shape,
            }
        )
    return pa.Table.from_pylist(rows, _SCHEMA)
