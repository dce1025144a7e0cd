"""What drivers are asked to do with their database."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import panes
from tests.cluster.saying import say


def sql(db: panes.Database, text: str) -> None:
    db.sql(text)


def push(db: panes.Database, stream: str, rows: list[dict[str, Any]]) -> int:
    return db.push(stream, rows)


def run(db: panes.Database) -> None:
    db.run(on_epoch=lambda epoch: say("epoch", epoch.number))


def answers(db: panes.Database) -> dict[str, tuple[int, pa.Table]]:
    """Of every query its answer, and the instant as of which it is."""
    found = {query.name: query.invoke() for query in db.queries()}
    return {name: (answer.as_of, answer.table) for name, answer in found.items()}


def rejected(db: panes.Database, stream: str) -> tuple[pa.Table, pa.Table]:
    """The late rows and the bad rows of a stream."""
    return db.late_rows(stream), db.bad_rows(stream)
