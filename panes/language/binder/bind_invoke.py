"""INVOKE name ORDER BY … LIMIT …: in which order an answer is read, and which rows of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from panes.language.binder.bind_order import Order
from panes.language.guarded import guarded
from panes.language.statements import Invoke
from panes.plan.sort_key import SortKey


@dataclass(frozen=True)
class Reading:
    """The order of the rows of an answer, if one is asked for, and the places that are wanted."""

    order: tuple[SortKey, ...] = ()
    limit: int | None = None
    offset: int = 0


def bind_invoke(statement: Invoke, columns: Sequence[str]) -> Reading:
    """How an answer with these columns is read. SqlError when it has no such column."""
    tree = statement.tree
    if tree is None:
        return Reading()
    with guarded(statement.text):
        order = Order(statement.text, tree.args.get("order") or ())
        order.of_columns(columns)
    limit, offset = tree.args.get("limit"), tree.args.get("offset")
    return Reading(
        tuple(order.keys),
        None if limit is None else int(limit.name),
        0 if offset is None else int(offset.name),
    )
