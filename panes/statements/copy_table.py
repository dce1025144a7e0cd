"""COPY table FROM 'file' WITH (…)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from panes.errors import SourceError
from panes.ingest.table_file import FORMATS, TableFile
from panes.language import bind_copy
from panes.language.definition_text import option_text
from panes.language.positions import did_you_mean, offset_of, refuse
from panes.language.statements import CopyFrom
from panes.plan.stream import OptionValue
from panes.progress_bar import progress_line
from panes.statements.context import Context
from panes.tables.constraints import Violation
from panes.tables.load_rows import load_rows, why_not_load
from panes.tables.row_counts import RowCounts
from panes.tables.table_transaction import TableTransaction

_OPTIONS: dict[str, OptionValue] = {
    "format": "", "header": False, "delimiter": ",", "null_text": "", "on_conflict": "error", "replace": False
}  # fmt: skip
"""The options with their defaults, whose types they have."""


def copy_table(statement: CopyFrom, context: Context) -> Callable[[TableTransaction], RowCounts]:
    """Reads the file; what it returns adds the rows to a transaction. Both raise SqlError."""
    table = bind_copy(statement, context.catalog)
    options = _checked(statement)
    replace, on_conflict = bool(options["replace"]), options["on_conflict"]
    file = TableFile(
        statement.location,
        str(options["format"]) or None,
        bool(options["header"]),
        str(options["delimiter"]),
        str(options["null_text"]),
    )
    problem = why_not_load(table, on_conflict, replace=replace)
    if problem is not None:
        _refuse(statement, problem)
    try:
        with progress_line(None if file.is_large() else False, f"reading {statement.location}"):
            rows = file.rows(table.columns)
    except SourceError as error:
        _refuse(statement, str(error))

    def change(transaction: TableTransaction) -> RowCounts:
        try:
            return transaction.change(
                table,
                lambda contents: load_rows(contents, rows, on_conflict, replace=replace),  # type: ignore[arg-type]  # checked
            )
        except Violation as violation:
            where = "" if violation.row is None else f"row {violation.row + 1} of {statement.location}: "
            first = "" if violation.first is None else f", first in row {violation.first + 1}"
            _refuse(statement, f"{where}{violation.problem}{first}")

    return change


def _checked(statement: CopyFrom) -> dict[str, OptionValue]:
    """All options. Raises SqlError for one that COPY does not have, or a value that it does not take."""
    given = dict(statement.options)
    for name, value in given.items():
        if name not in _OPTIONS:
            _refuse(statement, f"COPY has no option {name!r}", did_you_mean(name, list(_OPTIONS)))
        if type(value) is not type(_OPTIONS[name]):
            kind = "TRUE or FALSE" if isinstance(_OPTIONS[name], bool) else "a text in quotes"
            _refuse(statement, f"{name} takes {kind}, not {option_text(value)}")
    if given.get("format", FORMATS[0]) not in FORMATS:
        _refuse(statement, f"there is no format {given['format']!r}", f"formats are {', '.join(FORMATS)}")
    if len(str(given.get("delimiter", ","))) != 1:
        _refuse(statement, "the delimiter is one character")
    return {**_OPTIONS, **given}


def _refuse(statement: CopyFrom, problem: str, hint: str | None = None) -> NoReturn:
    refuse(problem, statement.text, offset_of(statement.tree.args["files"][0]), hint)
