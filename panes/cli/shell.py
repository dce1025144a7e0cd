"""`panes shell`: statements typed one after the other."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

import panes
from panes.cli.exits_on_failure import INTERRUPTED
from panes.cli.isolation import Isolation, IsolationOption, sql_under
from panes.cli.results import Format, FormatOption, LimitOption, Results, print_result, results_in
from panes.cli.row_notes import row_notes, told_run
from panes.cli.split_statements import in_transactions, split
from panes.cli.tables import console
from panes.cli.waits_for import waits_for
from panes.errors import InternalError, PanesError

if TYPE_CHECKING:
    from panes.database import Database

PROMPT = "panes> "
CONTINUED = "  ...> "
HISTORY = Path.home() / ".panes_history"

HOW_TO_BEGIN = ".run or .start takes in rows"

HELP = """\
Statements end with a semicolon and may take several lines:
  CREATE STREAM …;  CREATE QUERY name AS SELECT …;  INVOKE name;  EXPLAIN name;  SHOW QUERIES;
  CREATE TABLE …;  INSERT INTO …;  UPDATE …;  DELETE FROM …;  COPY name FROM 'file';
  DESCRIBE name;  SHOW STREAMS;  SHOW TABLES LIKE 'a%';  SHOW CREATE TABLE name;  COMMENT ON TABLE name IS '…';
.run    take in everything that the sources hold now
.start  keep taking in what arrives, in the background
.stop   stop doing so
.help   this text
.quit   leave (or quit, exit, Ctrl-D)"""

_LEAVING = ("quit", "exit", ".quit", ".exit")


def shell(
    database: Annotated[
        Path | None, typer.Argument(help="The directory of the database; without it, a temporary one.")
    ] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Only read: also beside a process that has the database open.")
    ] = False,
    form: FormatOption = Format.TABLE,
    limit: LimitOption = None,
    isolation: IsolationOption = None,
) -> None:
    """Type statements and see their answers."""
    keep_history()
    is_typed = sys.stdin.isatty()
    read: Callable[[str], str] = input if is_typed else _read_piped
    with (
        results_in(form, limit, HOW_TO_BEGIN) as results,
        closing(panes.connect(database, read_only=True) if read_only else panes.connect(database)) as db,
    ):
        out = console()
        if is_typed:
            results.note("Statements end with a semicolon; .help tells more.")
        progress = out if out.is_terminal and form is Format.TABLE else None
        Shell(db, results, progress, read, isolation).loop()


def _read_piped(_prompt: str) -> str:
    """The next line of a file or pipe. Ctrl-C ends the shell: there is nobody who would type on."""
    try:
        return input()
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def keep_history() -> None:
    """Lets the arrow keys bring back earlier lines, also of earlier sessions, where readline is there."""
    if not sys.stdin.isatty():
        return
    with suppress(ImportError):
        import readline

        with suppress(OSError):
            readline.read_history_file(HISTORY)
        atexit.register(_write_history)


def _write_history() -> None:
    import readline

    with suppress(OSError):
        readline.write_history_file(HISTORY)


class Shell:
    """Reads lines, runs what is complete, prints results and errors, until the end of input or `quit`."""

    def __init__(
        self,
        db: Database,
        results: Results,
        progress: Console | None,
        read: Callable[[str], str],
        isolation: Isolation | None = None,
    ) -> None:
        """`progress` is the terminal on which a progress bar is shown."""
        self._db = db
        self._results = results
        self._progress = progress
        self._read = read
        self._isolation = isolation
        self._commands: dict[str, Callable[[], object]] = {
            ".help": lambda: results.note(HELP),
            ".run": self._run,
            ".start": self._start,
            ".stop": db.stop,
        }

    def loop(self) -> None:
        pending = ""
        while True:
            try:
                line = self._read(CONTINUED if pending else PROMPT)
            except EOFError:
                return
            except KeyboardInterrupt:
                # As in other shells: what was typed so far is thrown away.
                self._results.note("\n")
                pending = ""
                continue
            word = line.strip()
            if not pending and word.rstrip("; ").lower() in _LEAVING:
                return
            if not pending and word.startswith("."):
                self._command(word)
                continue
            pieces = split(f"{pending}{line}\n")
            for sql in in_transactions(pieces.statements):
                self._try(partial(sql_under, self._db, sql, self._isolation))
            pending = pieces.rest.lstrip()

    def _run(self) -> None:
        before = self._db.status()
        self._results.note(str(told_run(self._db, progress=self._progress or False)))
        for note in row_notes(before, self._db.status()):
            self._results.note(note)

    def _start(self) -> None:
        self._db.start()
        waits = waits_for(list(self._db._base_streams().values()))
        self._results.note(f"Waiting for {waits}; INVOKE and SHOW work meanwhile, .stop ends it.")

    def _command(self, word: str) -> None:
        command = self._commands.get(word)
        if command is None:
            self._results.note(f"There is no {word}; .help lists what there is.")
        else:
            self._try(command)

    def _try(self, action: Callable[[], object]) -> None:
        try:
            print_result(self._results, action())
        except InternalError as error:
            self._results.note(f"{error}\n{error.details}")
        except PanesError as error:
            self._results.note(str(error))
        except KeyboardInterrupt:
            self._results.note("Interrupted.")
