"""What the rows of a table must fulfill: NOT NULL, and a primary key that no two rows share."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.delta.delta import WEIGHT
from panes.delta.keys import Groups, group_rows
from panes.delta.rows import int64
from panes.language.binder.bind_table_updates import why_not_null
from panes.language.statements import CreateTable


class Violation(Exception):
    """A row that a table does not take."""

    def __init__(self, problem: str, row: int | None = None, first: int | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.row = row
        """Which of the rows that were given it is, counted from 0; None when it comes from the table."""
        self.first = first
        """The given row that has the same primary key, where that is the problem."""


class Conflict(Violation):
    """A row whose primary key is in the table already."""


class Scheduled(Violation):
    """A row that is to change at a later instant."""

    def __init__(self, row: str, instant: str) -> None:
        super().__init__(f"{row} is to change at {instant}, and so cannot change before that")
        self.instant = instant


def check_not_null(definition: CreateTable, rows: pa.Table, *, are_given: bool) -> None:
    """Raises Violation for the first NULL in a column that cannot be NULL.

    `are_given` says whether the rows are as they were given, so that the number of one says which it is.
    """
    for name in (*definition.primary_key, *definition.not_null):
        column = rows.column(name)
        if column.null_count:
            row = pc.index(column.is_null(), True).as_py()
            problem = why_not_null(definition, name)
            if are_given:
                raise Violation(problem, row)
            raise Violation(f"{problem}, as it would be in {shown(rows, row)}")


def check_given_keys(definition: CreateTable, rows: pa.Table) -> None:
    """Raises Violation for the first given row whose primary key another one before it has."""
    groups = group_rows(rows, definition.primary_key)
    if groups.count < rows.num_rows:
        first, again = _first_repeated(groups)
        raise Violation(f"{key_shown(definition, rows, again)} is given twice", again, first)


def check_keys_after(definition: CreateTable, rows: pa.Table) -> None:
    """Raises Violation when two of the rows that a table would hold after a change share a primary key.

    Rows have weights: equal ones are one row.
    """
    several = np.flatnonzero(int64(rows, WEIGHT) > 1)
    groups = group_rows(rows, definition.primary_key)
    if len(several) or groups.count < rows.num_rows:
        again = int(several[0]) if len(several) else _first_repeated(groups)[1]
        raise Violation(f"two rows would have {key_shown(definition, rows, again)}")


def refuse_conflict(definition: CreateTable, rows: pa.Table, row: int) -> NoReturn:
    """Raises Conflict for a given row whose primary key is in the table."""
    raise Conflict(f"there is already a row with {key_shown(definition, rows, row)}", row)


def _first_repeated(groups: Groups) -> tuple[int, int]:
    """The first row whose key an earlier one has, and that one."""
    first = np.minimum.reduceat(groups.order, groups.starts)[groups.codes]
    again = int(np.flatnonzero(first != np.arange(len(first)))[0])
    return int(first[again]), again


def key_shown(definition: CreateTable, rows: pa.Table, row: int) -> str:
    """The primary key of a row, as an error shows it."""
    return "the primary key " + shown(rows.select(list(definition.primary_key)), row)


def shown(rows: pa.Table, row: int) -> str:
    """A row as an error shows it.

    >>> shown(pa.table({"id": [7], "name": ["lab"]}), 0)
    "id = 7, name = 'lab'"
    """
    values = rows.slice(row, 1).to_pylist()[0]
    text = ", ".join(f"{name} = {_value(value)}" for name, value in values.items())
    return text if len(text) <= 200 else f"{text[:199]}…"


def _value(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    return repr(value) if isinstance(value, (str, int, float)) else f"'{value}'"
