"""CREATE TABLE name (columns)."""

from __future__ import annotations

from panes.language.binder.bind_insert import bind_defaults
from panes.language.statements import CreateTable
from panes.statements.context import Context


def create_table(statement: CreateTable, context: Context) -> None:
    """Adds the definition of the table once its defaults are values of their columns."""
    bind_defaults(statement)
    context.catalog.create(statement)
