"""DESCRIBE name: the columns of a stream, a table or a registered query."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from panes.language.statements import CreateStream, Describe
from panes.plan.patterns import answer_pattern
from panes.statements.context import Context
from panes.statements.known_object import KnownObject, known_object


def describe_object(statement: Describe, context: Context) -> pa.Table:
    """A row for each column: its name, its type, what it is, its default and its comment.

    Of a query it also has the update pattern of the answer, in every row.
    """
    found = known_object(statement.name, context)
    comments, roles = context.catalog.comments.of(found.name), _roles(found, context)
    table = context.catalog.table(found.name) if found.kind == "TABLE" else None
    defaults = {} if table is None else {default.column: default.canonical for default in table.defaults}
    names = found.columns.names
    columns = {
        "column": list(names),
        "type": [str(type_) for type_ in found.columns.types],
        "role": [roles.get(name) for name in names],
        "default": [defaults.get(name) for name in names],
        "comment": [comments.get(name) for name in names],
    }
    if found.kind == "QUERY" and found.plan is not None:
        columns["pattern"] = [str(answer_pattern(found.plan).pattern)] * len(names)
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})


def _roles(found: KnownObject, context: Context) -> Mapping[str, str]:
    """What columns are beyond their type: part of the primary key, NOT NULL, or the event time."""
    table, stream = context.catalog.table(found.name), context.catalog.stream(found.name)
    if table is not None:
        return dict.fromkeys(table.not_null, "NOT NULL") | dict.fromkeys(table.primary_key, "PRIMARY KEY")
    if isinstance(stream, CreateStream) and stream.stream.timestamp is not None:
        timestamp = stream.stream.timestamp
        unit = "" if timestamp.unit == "TIMESTAMP" else f" {timestamp.unit}"
        return {timestamp.column: f"TIMESTAMP BY{unit}"}
    return {}
