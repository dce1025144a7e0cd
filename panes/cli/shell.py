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
from panes.cli.failures import INTERRUPTED
from panes.cli.results import print_result
from panes.cli.statements import split
from panes.cli.tables import console
from panes.errors import PanesError

if TYPE_CHECKING:
    from panes.database import Database
    from panes.status import Epoch

PROMPT = "panes> "
CONTINUED = "  ...> "
HISTORY = Path.home() / ".panes_history"

HELP = """\
Statements end with a semicolon and may take several lines:
  CREATE STREAM …;  CREATE QUERY name AS SELECT …;  INVOKE name;  EXPLAIN name;  SHOW QUERIES;
.run    take in everything that the sources hold now
.start  keep taking in what arrives, in the background
.stop   stop doing so
.help   this text
.quit   leave (or Ctrl-D)"""


def shell(
    database: Annotated[
        Path | None, typer.Argument(help="The directory of the database; without it, a temporary one.")
    ] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Only read: also beside a process that has the database open.")
    ] = False,
) -> None:
    """Type statements and see their answers."""
    keep_history()
    is_typed = sys.stdin.isatty()
    read: Callable[[str], str] = input if is_typed else _read_piped
    with closing(panes.connect(database, read_only=True) if read_only else panes.connect(database)) as db:
        out = console()
        if is_typed:
            out.print("Statements end with a semicolon; .help tells more.", highlight=False)
        Shell(db, out, read).loop()


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
    """Reads lines, runs what is complete, prints results and errors, until the end of input or .quit."""

    def __init__(self, db: Database, out: Console, read: Callable[[str], str]) -> None:
        self._db = db
        self._out = out
        self._read = read
        self._commands: dict[str, Callable[[], object]] = {
            ".help": lambda: out.print(HELP, highlight=False, markup=False),
            ".run": self._run,
            ".start": db.start,
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
                self._out.print()
                pending = ""
                continue
            word = line.strip()
            if not pending and word.startswith("."):
                if word == ".quit":
                    return
                self._command(word)
                continue
            pieces = split(f"{pending}{line}\n")
            for sql in pieces.statements:
                self._try(partial(self._db.sql, sql))
            pending = pieces.rest.lstrip()

    def _run(self) -> str:
        epochs: list[Epoch] = []
        self._db.run(on_epoch=epochs.append, progress=self._out if self._out.is_terminal else False)
        return f"{sum(epoch.rows for epoch in epochs)} rows in {len(epochs)} epochs"

    def _command(self, word: str) -> None:
        command = self._commands.get(word)
        if command is None:
            self._out.print(f"There is no {word}; .help lists what there is.", highlight=False, markup=False)
        else:
            self._try(command)

    def _try(self, action: Callable[[], object]) -> None:
        try:
            print_result(self._out, action())
        except PanesError as error:
            self._out.print(str(error), highlight=False, markup=False, soft_wrap=True)
        except KeyboardInterrupt:
            self._out.print("Interrupted.")
