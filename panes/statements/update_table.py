"""INSERT INTO, UPDATE and DELETE FROM a table."""

from __future__ import annotations

from typing import NoReturn

from panes.language.positions import offset_of, refuse
from panes.language.statements import DeleteFrom, InsertInto, UpdateTable
from panes.statements.context import Context


def update_table(statement: InsertInto | UpdateTable | DeleteFrom, _context: Context) -> NoReturn:
    """Raises SqlError: tables cannot hold rows yet."""
    refuse(
        "tables cannot hold rows yet",
        statement.text,
        offset_of(statement.tree),
        hint="a table can be created, and EXPLAIN shows how queries over it would run",
    )
