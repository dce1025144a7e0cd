"""`panes run`: the statements of a file, over everything that the sources hold."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

import panes
from panes.cli.interrupts import ctrl_c
from panes.cli.isolation import Isolation, IsolationOption, invoke_under, sql_under
from panes.cli.results import Format, FormatOption, LimitOption, Results, print_result, results_in
from panes.cli.row_notes import row_notes, told_run
from panes.cli.split_statements import in_transactions, split
from panes.cli.tables import console
from panes.language import parse
from panes.language.names import same
from panes.language.statements import (
    AlterQueryAs,
    CopyFrom,
    CreateAgain,
    CreateQuery,
    CreateStream,
    Drop,
    InsertInto,
    Invoke,
    Rename,
    SelectQuery,
    Statement,
    TableStatement,
)

if TYPE_CHECKING:
    from panes.database import Database


def run(
    file: Annotated[
        Path, typer.Argument(help="A file of statements, each ended by a semicolon.", exists=True)
    ],
    seconds: Annotated[
        float | None, typer.Option(help="Follow the sources for this long, in place of once through.", min=0)
    ] = None,
    database: Annotated[
        Path | None, typer.Option(help="The directory of the database; without it, a temporary one.")
    ] = None,
    form: FormatOption = Format.TABLE,
    limit: LimitOption = None,
    isolation: IsolationOption = None,
) -> None:
    """Run a file of statements, take in what the sources hold, and print the answers of its queries."""
    out = console()
    progress = out if out.is_terminal and form is Format.TABLE else None
    with (
        results_in(form, limit) as results,
        closing(panes.connect(database)) as db,
    ):
        Script(db, results, progress, seconds, isolation).run(file.read_text())


class Script:
    """Runs statements in order, and lets the data flow in before the first one that asks for an answer."""

    def __init__(
        self,
        db: Database,
        results: Results,
        progress: Console | None,
        seconds: float | None,
        isolation: Isolation | None = None,
    ) -> None:
        """`progress` is the terminal on which a progress bar is shown."""
        self._db = db
        self._results = results
        self._progress = progress
        self._seconds = seconds
        self._isolation = isolation
        self._is_behind = False
        self._unanswered: list[str] = []
        self._streams: list[str] = []
        """Those that the script has made: no epoch has to know them yet."""

    def run(self, script: str) -> None:
        pieces = split(script)
        for sql in in_transactions(filter(None, (*pieces.statements, pieces.rest))):
            self._run(parse(sql), sql)
        self._catch_up()
        for name in self._unanswered:
            self._print_answer(name)

    def _run(self, statements: Sequence[Statement], sql: str) -> None:
        """Runs one statement, or several that are one transaction."""
        statement = statements[-1]
        if isinstance(statement, (SelectQuery, Invoke)):
            self._catch_up()
        result = sql_under(self._db, sql, self._isolation)
        print_result(self._results, result, _name_of(statement))
        if isinstance(statement, CreateAgain):
            statement = statement.statement
        if isinstance(statement, CreateStream):
            self._streams.append(statement.name)
        is_new = isinstance(statement, (CreateStream, CreateQuery, AlterQueryAs))
        if is_new or any(map(self._is_pushed, statements)):
            self._is_behind = True
        elif isinstance(statement, (TableStatement, CopyFrom)):
            self._is_behind |= bool(self._db.queries())
        if isinstance(statement, (Invoke, Drop, Rename, CreateQuery)) and statement.name in self._unanswered:
            self._unanswered.remove(statement.name)
        if isinstance(statement, CreateQuery):
            self._unanswered.append(statement.name)
        elif isinstance(statement, Rename) and statement.kind == "QUERY":
            self._unanswered.append(statement.new_name)

    def _is_pushed(self, statement: Statement) -> bool:
        """Whether a statement has given rows to a stream."""
        if not isinstance(statement, InsertInto):
            return False
        return any(same(name, statement.table) for name in (*self._streams, *self._db.status().streams))

    def _catch_up(self) -> None:
        if not self._is_behind:
            return
        self._is_behind = False
        before = self._db.status()
        if self._seconds is None:
            report = told_run(self._db, progress=self._progress or False)
            self._results.note(str(report))
        else:
            self._db.start()
            with ctrl_c() as stop:
                stop.wait(self._seconds)
            self._db.stop()
        for note in row_notes(before, self._db.status()):
            self._results.note(note)

    def _print_answer(self, name: str) -> None:
        print_result(self._results, invoke_under(self._db, name, self._isolation), name)


def _name_of(statement: Statement) -> str | None:
    return statement.name if isinstance(statement, Invoke) else None
