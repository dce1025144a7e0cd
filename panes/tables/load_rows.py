"""Loading many rows into a table: adding them, or putting them in the place of all that are there."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import pyarrow as pa

from panes.delta.zeros import with_unsigned_zeros
from panes.language.binder.bind_table_updates import OnConflict
from panes.language.statements import CreateTable
from panes.tables.insert_rows import insert_rows, overwrite
from panes.tables.replace_rows import replace_rows
from panes.tables.table_change import TableChange
from panes.tables.table_contents import Contents

LoadConflict: TypeAlias = Literal["error", "update", "ignore"]
"""What becomes of a row whose primary key is in the table: nothing is loaded, it takes the place of the row that
is there, or it is left out."""


def why_not_load(table: CreateTable, on_conflict: object, *, replace: bool) -> str | None:
    """What is wrong with the way in which rows are to be loaded into a table; None when nothing is."""
    if on_conflict not in get_args(LoadConflict):
        return f"on_conflict is 'error', 'update' or 'ignore', not {on_conflict!r:.80}"
    if on_conflict != "error" and replace:
        return "replace puts the rows in the place of all others, so no row is in conflict: leave on_conflict out"
    if on_conflict != "error" and not table.primary_key:
        return "it has no primary key, so no row is in conflict with another: leave on_conflict out"
    return None


def load_rows(
    contents: Contents, rows: pa.Table, on_conflict: LoadConflict = "error", *, replace: bool = False
) -> TableChange:
    """Loads rows in the types of the columns. Raises Violation for the first that the table does not take."""
    rows = with_unsigned_zeros(rows)
    if replace:
        return replace_rows(contents, rows)
    conflict = {"error": None, "update": overwrite(contents.definition), "ignore": OnConflict()}[on_conflict]
    return insert_rows(contents, rows, conflict)
