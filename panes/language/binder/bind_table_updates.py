"""UPDATE, DELETE, COPY and ON CONFLICT: changes of tables, with names and types resolved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from sqlglot import exp

from panes.language.binder.bind_expressions import ExpressionBinder, cast_to, like_their_neighbors
from panes.language.binder.known_relations import KnownRelations, find
from panes.language.binder.places_of_now import NO_INSTANT, WRITE_IT, is_now
from panes.language.binder.scope import Relation, Scope
from panes.language.names import same
from panes.language.positions import did_you_mean, offset_of, refuse, with_article
from panes.language.statements import CopyFrom, CreateQuery, CreateTable, DeleteFrom, UpdateTable
from panes.plan.can_cast import can_cast
from panes.plan.expressions import Column, Expression, Literal, Value
from panes.plan.schema import Field, Schema
from panes.plan.types import DATE, FLOAT, STRING, TIMESTAMP, Type, wider

_FLOAT_INTEGERS = 2**24
"""Up to here FLOAT has all integers."""

EXCLUDED = "_excluded"
"""The prefix of the columns of a row that was to be inserted, in the expressions of DO UPDATE."""


@dataclass(frozen=True)
class OnConflict:
    """What becomes of a row whose primary key is in the table already.

    Without assignments nothing does. With them the row in the table gets new values, when the condition is true
    (None: always). Expressions read the columns of that row by their names, and those of the row that was to be
    inserted behind the prefix `EXCLUDED` and a dot.
    """

    assignments: tuple[tuple[str, Expression], ...] = ()
    condition: Expression | None = None


@dataclass(frozen=True)
class BoundUpdate:
    """New values for the rows where the condition is true (None: all). Expressions read columns by their
    names in the table."""

    table: CreateTable
    assignments: tuple[tuple[str, Expression], ...]
    condition: Expression | None


@dataclass(frozen=True)
class BoundDelete:
    table: CreateTable
    condition: Expression | None


def why_not_null(table: CreateTable, column: str) -> str:
    """What to say of NULL in a column that cannot be NULL."""
    reason = "is part of the primary key and" if column in table.primary_key else "is NOT NULL: it"
    return f"{column} {reason} cannot be NULL"


def bind_conflict(tree: exp.Expression, table: CreateTable, text: str) -> OnConflict | None:
    node = tree.args.get("conflict")
    if node is None:
        return None
    if not table.primary_key:
        refuse(
            f"{table.name} has no primary key, so no row is in conflict with another", text, offset_of(node),
            "leave ON CONFLICT out",
        )  # fmt: skip
    keys = [(_field(table, key, text).name, key) for key in node.args.get("keys") or ()]
    if keys and {name for name, _ in keys} != set(table.primary_key):
        key = ", ".join(table.primary_key)
        refuse(f"the primary key of {table.name} is ({key})", text, offset_of(keys[0][1]))
    scope = _scope(table, text)
    excluded = Schema.of((f"{EXCLUDED}.{f.name}", f.type) for f in table.columns)
    scope.add(Relation("excluded", EXCLUDED, excluded, offset_of(node)))
    scope.hidden |= set(excluded.names)  # a bare name means the row that is in the table
    binder = ChangeBinder(scope)
    return OnConflict(_assignments(node, table, binder), _condition(node, binder))


def bind_update(statement: UpdateTable, catalog: KnownRelations) -> BoundUpdate:
    tree, text = statement.tree, statement.text
    table = _table(tree.this, catalog, text)
    binder = ChangeBinder(_scope(table, text))
    return BoundUpdate(table, _assignments(tree, table, binder), _condition(tree, binder))


def bind_delete(statement: DeleteFrom, catalog: KnownRelations) -> BoundDelete:
    tree, text = statement.tree, statement.text
    table = _table(tree.this, catalog, text)
    return BoundDelete(table, _condition(tree, ChangeBinder(_scope(table, text))))


def bind_copy(statement: CopyFrom, catalog: KnownRelations) -> CreateTable:
    """The table that COPY brings rows into."""
    return _table(statement.tree.this, catalog, statement.text)


def _table(name: exp.Expression, catalog: KnownRelations, text: str) -> CreateTable:
    found = find(catalog, name.name)
    if isinstance(found, CreateTable):
        return found
    if found is not None:
        kind = "query" if isinstance(found, CreateQuery) else "stream"
        refuse(f"{found.name} is a {kind}, and only tables are changed by statements", text, offset_of(name))
    tables = [n for n in catalog.names() if catalog.table(n) is not None]
    return refuse(
        f"there is no table named {name.name!r}", text, offset_of(name), did_you_mean(name.name, tables)
    )


def _field(table: CreateTable, column: exp.Expression, text: str) -> Field:
    for field in table.columns:
        if same(field.name, column.name):
            return field
    hint = did_you_mean(column.name, list(table.columns.names))
    return refuse(f"{table.name} has no column named {column.name!r}", text, offset_of(column), hint)


def _scope(table: CreateTable, text: str) -> Scope:
    """A scope whose columns keep their bare names: there is only the one table."""
    scope = Scope(text)
    scope.add(Relation(table.name, "", table.columns, 0))
    return scope


def _assignments(
    tree: exp.Expression, table: CreateTable, binder: ChangeBinder
) -> tuple[tuple[str, Expression], ...]:
    assignments: dict[str, Expression] = {}
    for assignment in tree.expressions:
        field = _field(table, assignment.this.this, binder.text)
        if field.name in assignments:
            binder.refuse(f"{field.name} is set twice", assignment)
        value = assignments[field.name] = binder.assigned(assignment.expression, field)
        is_key = field.name in table.primary_key
        if (is_key or field.name in table.not_null) and isinstance(value, Literal) and value.value is None:
            binder.refuse(why_not_null(table, field.name), assignment.expression)
    return tuple(assignments.items())


def _condition(tree: exp.Expression, binder: ExpressionBinder) -> Expression | None:
    where = tree.args.get("where")
    return None if where is None else binder.condition(where.this, "WHERE")


def fits(type_: Type, into: Type) -> bool:
    """Whether values are taken as they are: of the same type, a narrower one, or numbers that fit without rounding
    if they fit at all, which is checked."""
    if wider(type_, into) == into:
        return True
    if into.is_decimal:
        return type_.is_integer or (type_.is_decimal and type_.scale <= into.scale)
    return type_.is_integer and into.is_integer


def _is_float(value: Value) -> bool:
    """Whether a constant is an integer that FLOAT holds exactly."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _FLOAT_INTEGERS


class ChangeBinder(ExpressionBinder):
    """Binds what a change of a table computes from its row."""

    def known(self, node: exp.Expression) -> Expression | None:
        if is_now(node) and not (isinstance(node, exp.Column) and self.scope.has(node.name)):
            self.refuse(NO_INSTANT, node, WRITE_IT)
        return super().known(node)

    def assigned(self, node: exp.Expression, field: Field) -> Expression:
        """The value in the type of the column: that of the column, a narrower one, or any number that fits as it
        is."""
        (value, _) = like_their_neighbors(
            (self.bind(node), Column(field.type, field.name)), are_compared=True
        )
        if isinstance(value, Literal) and value.type == STRING and field.type in (DATE, TIMESTAMP):
            value = self.read(value, field.type, node)
        if isinstance(value, Literal) and field.type == FLOAT and _is_float(value.value):
            value = cast_to(value, FLOAT)
        if not fits(value.type, field.type):
            hint = f"write CAST(… AS {field.type})" if can_cast(value.type, field.type) else None
            self.refuse(
                f"{field.name} is {with_article(field.type)}, and this is {with_article(value.type)}",
                node,
                hint,
            )
        assigned = cast_to(value, field.type)
        if isinstance(value, Literal) and not isinstance(assigned, Literal):
            self.refuse(f"{value} does not fit into {field.name}, {with_article(field.type)}", node)
        return assigned

    def refuse_subquery(self, what: str, node: exp.Expression) -> NoReturn:
        self.refuse(f"a change of a table reads only its own row, not {what} (subquery)", node)
