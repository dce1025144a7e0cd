"""CREATE TABLE name (columns)."""

from __future__ import annotations

from panes.language.statements import CreateTable
from panes.statements.context import Context


def create_table(statement: CreateTable, context: Context) -> None:
    """Adds the definition of the table."""
    context.catalog.create(statement)
