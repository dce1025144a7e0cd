"""Several transactions as few: what takes effect at one instant adds up."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from panes.delta.rows import concat
from panes.tables.net_rows import net_rows
from panes.tables.transaction import Transaction


def combine_transactions(transactions: Sequence[Transaction]) -> list[Transaction]:
    """One transaction for all that name the same instant, and one for those that name none, which is the last.

    They have the last numbers of those given. No epoch has applied any of them: the next one applies them
    together.
    """
    if len(transactions) <= 1:
        return list(transactions)
    changes: dict[int | None, dict[int, list[pa.Table]]] = {}
    for transaction in transactions:
        of_instant = changes.setdefault(transaction.at, {})
        for table, change in transaction.changes.items():
            of_instant.setdefault(table, []).append(change)
    instants = sorted(changes, key=lambda at: (at is None, at))
    first = transactions[-1].number - len(instants) + 1
    return [
        Transaction(number, at, {table: _net(parts) for table, parts in changes[at].items()})
        for number, at in enumerate(instants, first)
    ]


def _net(parts: Sequence[pa.Table]) -> pa.Table:
    # One change is net already.
    return parts[0] if len(parts) == 1 else net_rows(concat(parts))
