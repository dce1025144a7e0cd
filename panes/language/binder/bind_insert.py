"""INSERT INTO a table or a stream: rows of constants, or those of a query that is asked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from panes.delta.evaluate import evaluate
from panes.errors import EvaluationError
from panes.language.binder.bind import bind
from panes.language.binder.bind_expressions import cast_to
from panes.language.binder.bind_table_updates import (
    ChangeBinder,
    OnConflict,
    bind_conflict,
    fits,
    why_not_null,
)
from panes.language.binder.known_relations import KnownRelations, find
from panes.language.binder.places_of_now import NO_INSTANT, WRITE_IT, place_of_now
from panes.language.binder.scope import Scope
from panes.language.names import same
from panes.language.parser.syntax import Default
from panes.language.positions import did_you_mean, offset_of, refuse, with_article
from panes.language.statements import CreateQuery, CreateStream, CreateTable, InsertInto, SelectQuery
from panes.plan.can_cast import can_cast
from panes.plan.expressions import Column, Expression, Literal, Value
from panes.plan.nodes import Node
from panes.plan.now import has_now
from panes.plan.schema import Field
from panes.plan.walk import is_table_only

_ONE_ROW = pa.table({"_": [0]})


@dataclass(frozen=True)
class BoundValues:
    """Rows of constants in the order of the columns; those that were not named have their default, or NULL."""

    into: CreateTable | CreateStream
    rows: tuple[tuple[Value, ...], ...]
    conflict: OnConflict | None
    """None when a row whose primary key is there is an error."""
    offsets: tuple[int, ...]
    """Where each row stands in the text."""


@dataclass(frozen=True)
class BoundSelection:
    """The rows of a query that is asked once. `columns` are computed from its answer, in the order of those of the
    table or the stream."""

    into: CreateTable | CreateStream
    plan: Node
    columns: tuple[Expression, ...]
    conflict: OnConflict | None


def bind_insert(statement: InsertInto, catalog: KnownRelations) -> BoundValues | BoundSelection:
    """What is inserted. Raises SqlError, with the place in the text."""
    tree, text = statement.tree, statement.text
    named = isinstance(tree.this, exp.Schema)
    into = _target(tree.this.this if named else tree.this, catalog, text)
    fields = _named(into, tree.this.expressions, text) if named else list(into.columns)
    for name in _needed(into):
        if all(field.name != name for field in fields) and _default(into, name, text) is None:
            place = tree.this.expressions[0] if named else tree.this
            refuse(_why_needed(into, name), text, offset_of(place), f"name {name} among the columns")
    conflict = bind_conflict(tree, into, text) if isinstance(into, CreateTable) else None
    if conflict is None and tree.args.get("conflict") is not None:
        refuse(f"{into.name} is a stream, which takes every row", text, offset_of(tree.args["conflict"]))
    if isinstance(tree.expression, exp.Values):
        rows, offsets = _rows(tree.expression, into, fields, text)
        return BoundValues(into, rows, conflict, offsets)
    query = SelectQuery("", tree.expression, text)
    plan = bind(query, catalog)
    if has_now(plan) and is_table_only(plan):
        # The clock of the streams is no time of the tables: before the first tuple it is NULL.
        refuse(NO_INSTANT, text, place_of_now(tree.expression), WRITE_IT)
    return BoundSelection(into, plan, _assigned(plan, tree.expression, into, fields, text), conflict)


def bind_defaults(table: CreateTable) -> dict[str, Value]:
    """The default of each column that has one, as a value of its type. Raises SqlError for one that is none."""
    return {default.column: _default(table, default.column, table.text) for default in table.defaults}


def _target(name: exp.Expression, catalog: KnownRelations, text: str) -> CreateTable | CreateStream:
    found = find(catalog, name.name)
    if isinstance(found, CreateTable):
        return found
    if isinstance(found, CreateStream):
        kind = found.stream.source.kind
        if kind != "PUSH":
            hint = "only a stream that was created without FROM takes rows of statements"
            refuse(f"stream {found.name} takes its rows from {kind}", text, offset_of(name), hint)
        return found
    if found is not None:
        what = "query" if isinstance(found, CreateQuery) else "derived stream"
        hint = "insert into a stream or a table that it reads"
        refuse(f"{found.name} is a {what}: its rows come from what it reads", text, offset_of(name), hint)
    return refuse(
        f"there is no table or stream named {name.name!r}", text, offset_of(name),
        did_you_mean(name.name, list(catalog.names())),
    )  # fmt: skip


def _named(into: CreateTable | CreateStream, columns: Sequence[exp.Expression], text: str) -> list[Field]:
    fields: list[Field] = []
    for column in columns:
        field = next((f for f in into.columns if same(f.name, column.name)), None)
        if field is None:
            hint = did_you_mean(column.name, list(into.columns.names))
            refuse(f"{into.name} has no column named {column.name!r}", text, offset_of(column), hint)
        if field in fields:
            refuse(f"{field.name} is given twice", text, offset_of(column))
        fields.append(field)
    return fields


def _needed(into: CreateTable | CreateStream) -> tuple[str, ...]:
    """The columns that are never NULL: those of the primary key, those that say so, and the event time."""
    if isinstance(into, CreateTable):
        return (*into.primary_key, *into.not_null)
    return () if into.stream.timestamp is None else (into.stream.timestamp.column,)


def _why_needed(into: CreateTable | CreateStream, column: str) -> str:
    if isinstance(into, CreateTable):
        return why_not_null(into, column)
    return f"{column} is the event time of {into.name} and cannot be NULL"


def _default(into: CreateTable | CreateStream, column: str, text: str) -> Value:
    """The default of a column, NULL when it has none."""
    defaults = into.defaults if isinstance(into, CreateTable) else ()
    found = next((default for default in defaults if default.column == column), None)
    return None if found is None else _constant(found.tree, into.columns[column], text)


def _rows(
    values: exp.Values, into: CreateTable | CreateStream, fields: Sequence[Field], text: str
) -> tuple[tuple[tuple[Value, ...], ...], tuple[int, ...]]:
    """The rows in the order of the columns, and where each stands."""
    left_out = {
        f.name: _default(into, f.name, text)
        for f in into.columns
        if f not in fields
        or any(isinstance(v, Default) for row in values.expressions for v in row.expressions)
    }
    rows, offsets = [], []
    for row in values.expressions:
        if len(row.expressions) != len(fields):
            refuse(f"a row has {len(fields)} values here, not {len(row.expressions)}", text, offset_of(row))
        given = left_out | {
            f.name: _constant(value, f, text)
            for f, value in zip(fields, row.expressions, strict=True)
            if not isinstance(value, Default)
        }
        for name in _needed(into):
            if given[name] is None:
                refuse(_why_needed(into, name), text, offset_of(row))
        rows.append(tuple(given[f.name] for f in into.columns))
        offsets.append(offset_of(row))
    return tuple(rows), tuple(offsets)


def _constant(node: exp.Expression, field: Field, text: str) -> Value:
    value = ChangeBinder(Scope(text)).assigned(node, field)
    if isinstance(value, Literal):
        return value.value
    # There is no column in scope, so an expression that binds reads none.
    try:
        computed: Value = evaluate(value, _ONE_ROW)[0].as_py()
    except EvaluationError as error:
        refuse(str(error), text, offset_of(node))
    return computed


def _assigned(
    plan: Node, query: exp.Expression, into: CreateTable | CreateStream, fields: Sequence[Field], text: str
) -> tuple[Expression, ...]:
    given = list(plan.schema)
    if len(given) != len(fields):
        refuse(f"the query gives {len(given)} columns, not {len(fields)}", text, offset_of(query))
    computed: dict[str, Expression] = {}
    for source, field in zip(given, fields, strict=True):
        if not fits(source.type, field.type):
            hint = f"write CAST(… AS {field.type})" if can_cast(source.type, field.type) else None
            refuse(
                f"{field.name} is {with_article(field.type)}, and {source.name} is {with_article(source.type)}",
                text,
                offset_of(query),
                hint,
            )
        computed[field.name] = cast_to(Column(source.type, source.name), field.type)
    return tuple(computed.get(f.name) or Literal(f.type, _default(into, f.name, text)) for f in into.columns)
