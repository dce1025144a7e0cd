"""What the demo shows at one moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from panes.cli.demo_queries import DemoQuery

if TYPE_CHECKING:
    from panes.database import Database
    from panes.query import Query

MOST_ROWS = 20
"""Rows kept of each answer: more than any screen shows."""


@dataclass(frozen=True)
class ShownAnswer:
    """The rows of an answer that matter most, and how many there are in all."""

    query: DemoQuery
    columns: tuple[str, ...]
    rows: Sequence[Mapping[str, Any]]
    count: int


@dataclass(frozen=True)
class Snapshot:
    """The answers of all queries and how the database is doing."""

    elapsed: float
    epoch: int
    epoch_seconds: float
    clock: datetime | None
    rows: int
    rows_per_second: float
    lag_seconds: float | None
    state_bytes: int
    kept: Mapping[str, Mapping[str, float]]
    """The shares that queries keep now, by query and stream, where that is not everything."""
    answers: tuple[ShownAnswer, ...]
    last_change: str
    """The last change of the tables, in words."""

    @property
    def has_answers(self) -> bool:
        return any(answer.count for answer in self.answers)


def take_snapshot(
    db: Database, queries: Mapping[DemoQuery, Query], elapsed: float, last_change: str = ""
) -> Snapshot:
    status = db.status()
    return Snapshot(
        elapsed=elapsed,
        epoch=status.epoch,
        epoch_seconds=status.epoch_seconds,
        clock=status.clock,
        rows=status.rows,
        rows_per_second=status.rows_per_second,
        lag_seconds=status.lag_seconds,
        state_bytes=status.state_bytes,
        kept=status.kept,
        answers=tuple(_shown(demo_query, query) for demo_query, query in queries.items()),
        last_change=last_change,
    )


def _shown(demo_query: DemoQuery, query: Query) -> ShownAnswer:
    table = query.invoke().table
    top = table.sort_by([(demo_query.largest, "descending")]).slice(0, MOST_ROWS)
    return ShownAnswer(demo_query, tuple(table.column_names), top.to_pylist(), table.num_rows)
