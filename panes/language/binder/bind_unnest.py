"""unnest(…) in FROM: the list, and the name of the column of its items."""

from __future__ import annotations

from sqlglot import exp

from panes.language.binder.bind_expressions import ExpressionBinder
from panes.language.binder.scope import Relation, Scope
from panes.language.parser.syntax import FromItem
from panes.language.positions import offset_of, refuse
from panes.plan.expressions import Expression
from panes.plan.schema import Field, Schema

UNNEST = "unnest"
"""What the items are called, and their column, where no name is given."""


def bind_unnest(item: FromItem, scope: Scope) -> tuple[Relation, Expression]:
    """The one column of unnest(…), and the list that it reads from the items before it."""
    _check(item, scope)
    items = ExpressionBinder(scope).bind(item.this.expressions[0])
    if items.type.item is None:
        refuse(
            f"unnest(…) takes a list, and this is {items.type}",
            scope.text,
            offset_of(item.this.expressions[0]),
        )
    alias = item.args["alias"].name if item.args.get("alias") else UNNEST
    prefix = scope.prefix_for(alias)
    names = item.args.get("columns") or [exp.Identifier(this=UNNEST)]
    if len(names) > 1:
        refuse(
            f"unnest(…) gives one column, and these are {len(names)} names", scope.text, offset_of(names[1])
        )
    if names[0].name.startswith("_"):
        refuse("column names do not begin with an underscore", scope.text, offset_of(names[0]))
    schema = Schema((Field(f"{prefix}.{names[0].name}", items.type.item),))
    return Relation(alias, prefix, schema, offset_of(item)), items


def _check(item: FromItem, scope: Scope) -> None:
    kind = item.args.get("kind") or ""
    if kind not in ("", ",", "CROSS JOIN", "JOIN"):
        refuse(
            f"{kind} UNNEST is not supported: a row without items is left out", scope.text, offset_of(item),
            "write CROSS JOIN UNNEST, and for rows without items add UNION ALL SELECT … WHERE "
            "coalesce(array_length(…), 0) = 0",
        )  # fmt: skip
    if len(item.this.expressions) != 1:
        refuse(
            "unnest(…) takes one list", scope.text, offset_of(item), "write unnest(…) once for each of them"
        )
    if item.args.get("window"):
        refuse(
            "unnest(…) has no window: items stay as long as their row", scope.text,
            offset_of(item.args["window"]), "put the window on the stream",
        )  # fmt: skip
