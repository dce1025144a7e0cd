"""The isolation level that a command reads under: `--isolation`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from panes import config
from panes.language import parse
from panes.statements.handlers import AS_OF

if TYPE_CHECKING:
    from panes.answers.answer import Answer
    from panes.database import Database


class Isolation(StrEnum):
    """Which epoch an answer is of."""

    WINDOW = config.WINDOW
    SNAPSHOT = config.SNAPSHOT
    LATEST = config.LATEST


IsolationOption = Annotated[
    Isolation | None,
    typer.Option(
        help="Which epoch the answers of SELECT and INVOKE are of: one up to the end of the read, the last one "
        "when it begins, or the last one when it ends. Without it, what SET isolation says.",
        show_default=False,
    ),
]


def sql_under(db: Database, sql: str, isolation: Isolation | None) -> object:
    """What statements give; the level counts for those that read."""
    if isolation is None or not all(type(statement) in AS_OF for statement in parse(sql)):
        return db.sql(sql)
    return db.sql(sql, isolation=isolation.value)


def invoke_under(db: Database, name: str, isolation: Isolation | None) -> Answer:
    """The answer of a registered query."""
    return db.query(name).invoke(isolation=None if isolation is None else isolation.value)
