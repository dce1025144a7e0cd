"""`panes explain`: the plan of a query, without running it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

import panes
from panes.cli.results import TableResults, print_result
from panes.cli.tables import console


def explain(
    query: Annotated[str, typer.Argument(help="A SELECT, or the name of a registered query.")],
    file: Annotated[
        Path | None, typer.Option(help="A file of statements to run first: the streams.", exists=True)
    ] = None,
    database: Annotated[
        Path | None, typer.Option(help="The directory of the database; without it, a temporary one.")
    ] = None,
    analyze: Annotated[
        bool, typer.Option(help="Also show what the steps of a registered query did.")
    ] = False,
) -> None:
    """Print the plan of a query: every step that runs, its update pattern, and the state it keeps."""
    # To explain what is there, nobody has to close the database.
    opened = panes.connect(database) if file or database is None else panes.connect(database, read_only=True)
    with closing(opened) as db:
        if file:
            db.sql(file.read_text())
        print_result(TableResults(console()), db.sql(f"EXPLAIN {'ANALYZE ' if analyze else ''}{query}"))
