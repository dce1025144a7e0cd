"""INVOKE name WHERE … ORDER BY … LIMIT …: which rows of an answer are read, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from sqlglot import exp

from panes.language.binder.bind_expressions import ExpressionBinder
from panes.language.binder.bind_order import Order
from panes.language.binder.known_relations import KnownRelations
from panes.language.binder.mark_own_functions import mark_own_functions
from panes.language.binder.scope import Relation, Scope
from panes.language.guarded import guarded
from panes.language.statements import Invoke
from panes.plan.expressions import Expression
from panes.plan.schema import Schema
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


def bind_invoke_where(statement: Invoke, schema: Schema, catalog: KnownRelations) -> Expression | None:
    """The condition on the rows of an answer with these columns; None when there is none. SqlError when it reads
    anything else."""
    if statement.where is None:
        return None
    with guarded(statement.text):
        mark_own_functions(statement.where, catalog)
        scope = Scope(statement.text)
        scope.add(Relation(statement.name, "", schema, 0))
        return _RowBinder(scope).condition(statement.where.this, "WHERE")


class _RowBinder(ExpressionBinder):
    """Binds what is computed from one row of an answer."""

    def refuse_subquery(self, what: str, node: exp.Expression) -> NoReturn:
        self.refuse(f"INVOKE … WHERE reads only the rows of the answer, not {what} (subquery)", node)
