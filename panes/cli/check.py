"""`panes check`: verifies a database without Spark, also one that another process is running."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from panes.answers.forget_readers import forget_readers
from panes.check import Found, check_database


def check(
    database: Annotated[Path, typer.Argument(help="The directory of the database.")],
    forget: Annotated[
        bool,
        typer.Option(
            "--forget-readers",
            help="First let all readers of changes begin anew: for a database whose readers.sqlite is lost.",
        ),
    ] = False,
) -> None:
    """Verify all files of a database, and say what is damaged and what can still be answered."""
    if forget:
        forget_readers(database)
    found = check_database(database)
    print("\n".join(lines(found)))
    if found.problems:
        raise typer.Exit(1)


def lines(found: Found) -> list[str]:
    """What was found, in sentences."""
    last = f"epoch {found.epoch}" if found.epoch >= 0 else "no epoch yet"
    if not found.problems:
        return [f"{last}, {found.files} files verified: nothing is damaged."]
    told = [f"{last}, {found.files} files verified, {len(found.problems)} problems:"]
    told += [f"  {problem}" for problem in found.problems]
    told.append("What can still be answered:")
    for query, lost in found.queries.items():
        told.append(f"  query {query}: {'everything' if lost is None else lost}")
    for stream, rows in found.streams.items():
        told += [f"  stream {stream}: not {some}" for some in rows]
    for table, changes in found.tables.items():
        told += [f"  table {table}: not {some}" for some in changes]
    return told
