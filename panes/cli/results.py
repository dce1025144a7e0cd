"""Printing what statements give back: as tables for people, or as CSV or JSON for programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated, Protocol

import pyarrow as pa
import typer
from rich.console import Console

from panes.answers.answer import NOT_BEGUN, Answer, may_lack, was_shed
from panes.cli.csv_results import CsvResults
from panes.cli.in_order import answer_in_order
from panes.cli.json_results import JsonResults
from panes.cli.tables import console, print_line, print_table
from panes.cli.value_text import escaped, instant
from panes.tables.row_counts import RowCounts

MAX_ROWS = 40
"""Rows that a terminal shows of one table, unless another number is asked for."""


class Format(StrEnum):
    """In what form results are printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


FormatOption = Annotated[
    Format, typer.Option("--format", help="How results are printed: for people, or exactly, for programs.")
]
LimitOption = Annotated[
    int | None,
    typer.Option(
        help="Print at most this many rows of each result, 0 for all. "
        f"Without it a terminal shows {MAX_ROWS} rows of a table, and a pipe or file gets all.",
        min=0,
        show_default=False,
    ),
]


class Results(Protocol):
    """Where results go."""

    def answer(self, answer: Answer, name: str | None = None) -> None:
        """The answer of a query, under its name if it has one."""

    def table(self, table: pa.Table) -> None:
        """What SHOW gives."""

    def text(self, words: str) -> None:
        """What EXPLAIN gives."""

    def note(self, words: str) -> None:
        """What a person should know, and is no result: a count, a hint, an error."""


class TableResults:
    """Tables for people, each with the number of its rows below it."""

    def __init__(self, out: Console, limit: int | None = None, how_to_begin: str = "") -> None:
        self._out = out
        self._limit = MAX_ROWS if limit is None and out.is_terminal else limit or None
        self._how_to_begin = how_to_begin
        """What to do when no epoch has run yet."""

    def answer(self, answer: Answer, name: str | None = None) -> None:
        if name is not None:
            print_line(self._out, escaped(name), style="bold")
        self._print(answer_in_order(answer), _moment(answer, self._how_to_begin))
        if name is not None:
            print_line(self._out, "")

    def table(self, table: pa.Table) -> None:
        self._print(table, "")

    def text(self, words: str) -> None:
        for line in words.splitlines():
            print_line(self._out, escaped(line))

    def note(self, words: str) -> None:
        self.text(words)

    def _print(self, table: pa.Table, moment: str) -> None:
        shown = table.slice(0, self._limit)
        print_table(self._out, shown)
        count, left_out = f"{table.num_rows:,}", table.num_rows - shown.num_rows
        rows = "1 row" if table.num_rows == 1 else f"{count} rows" if table.num_rows else "no rows"
        if left_out:
            rows += f", the first {shown.num_rows:,} shown (--limit 0 shows all)"
        print_line(self._out, rows + moment)


def _moment(answer: Answer, how_to_begin: str) -> str:
    if answer.as_of is not None:
        lacking = "" if answer.complete_from is None else f"; {may_lack(instant(answer.complete_from))}"
        lacking += f"; {was_shed(answer.kept)}" if answer.is_partial else ""
        return f", as of {instant(answer.as_of)}{lacking}"
    if len(answer):  # of tables alone, which have rows before the first epoch
        return ""
    return f": {NOT_BEGUN}" + (f"; {how_to_begin}" if how_to_begin else "")


@contextmanager
def results_in(form: Format, limit: int | None, how_to_begin: str = "") -> Iterator[Results]:
    """Results on standard output; where programs read them, notes go to standard error."""
    if form is Format.TABLE:
        yield TableResults(console(), limit, how_to_begin)
        return
    with _standard_error() as notes:
        yield (CsvResults if form is Format.CSV else JsonResults)(sys.stdout, notes, limit or None)


@contextmanager
def _standard_error() -> Iterator[Console]:
    """Standard error as it is now, also while it is taken away from Spark."""
    try:
        number = sys.stderr.fileno()
    except OSError:
        yield Console(stderr=True)
        return
    with os.fdopen(os.dup(number), "w") as file:
        yield Console(file=file)


def print_result(results: Results, result: object, name: str | None = None) -> None:
    """Prints answers, tables, text, and how many rows of a table were changed."""
    if isinstance(result, Answer):
        results.answer(result, name)
    elif isinstance(result, pa.Table):
        results.table(result)
    elif isinstance(result, str):
        results.text(result)
    elif isinstance(result, RowCounts):
        results.note(str(result))
