"""An answer: what a query says at one instant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from panes.errors import EvaluationError
from panes.plan.kept_text import kept_text

if TYPE_CHECKING:
    import pandas as pd

NOT_BEGUN = "no epoch has taken in a row yet"
"""Why an answer has no instant and no rows."""


@dataclass(frozen=True)
class Answer:
    """The rows of an answer and the instant they belong to.

    `as_of` is the clock of the epoch, or the last slide before it when the query slides. It is None before an
    epoch has taken in the first tuple; then there are no rows but those of queries that read tables alone.
    """

    as_of: datetime | None
    table: pa.Table
    complete_from: datetime | None = None
    """When the windows reach further back than the tuples that the query has seen: the instant from which on it
    has surely seen all. Until they have moved past it, they may lack tuples."""
    is_sorted: bool = False
    """Whether the rows are in an order that was asked for; else they are in any."""

    kept: Mapping[str, float] = field(default_factory=dict)
    """The least share of the tuples of each stream that the query has kept of what its windows may hold; nothing
    when it never sheds."""
    error: pa.Table | None = None
    """Of aggregates of a query that may shed: the rows as they are in `table`, with the ends of the 95 % interval
    behind each aggregate, `<column>_low` and `<column>_high`; NULL where the value is exact."""

    epoch: int | None = None
    """The epoch whose state it is; None before the first one, and of tables alone, which are read as they are."""
    committed: datetime | None = None
    """The wall time at which that epoch was committed."""
    staleness: timedelta | None = None
    """How old the state was when the answer was given: the wall time then, minus `committed`."""

    @property
    def is_partial(self) -> bool:
        """Whether tuples that its windows may hold were shed."""
        return any(share < 1 for share in self.kept.values())

    @property
    def is_complete(self) -> bool:
        """Whether the windows surely hold all that they should."""
        return self.complete_from is None

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def to_pylist(self) -> list[dict[str, Any]]:
        """The rows as Python has them. Raises EvaluationError for an instant outside the years 1 to 9999."""
        try:
            rows: list[dict[str, Any]] = self.table.to_pylist()
        except (OverflowError, ValueError) as error:
            raise _beyond_python(self.table) from error
        return rows

    def to_pandas(self) -> pd.DataFrame:
        return self.table.to_pandas()

    def to_polars(self) -> pl.DataFrame:
        frame = pl.from_arrow(self.table)
        assert isinstance(frame, pl.DataFrame)
        return frame

    def __repr__(self) -> str:
        columns = ", ".join(self.table.column_names)
        if self.as_of is None and len(self):
            return f"<Answer: {len(self)} rows of {columns}>"
        if self.as_of is None:
            return f"<Answer of {columns}: {NOT_BEGUN}: db.run() or db.start() takes in rows>"
        lacking = "" if self.complete_from is None else f"; {may_lack(self.complete_from.isoformat())}"
        lacking += f"; {was_shed(self.kept)}" if self.is_partial else ""
        return f"<Answer as of {self.as_of.isoformat()}: {len(self)} rows of {columns}{lacking}>"


def _beyond_python(table: pa.Table) -> EvaluationError:
    """What is to be raised for rows that have a value for which Python has none."""
    names = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            column.to_pylist()
        except (OverflowError, ValueError):
            names.append(repr(name))
    return EvaluationError(
        f"column {' and '.join(names)} has an instant outside the years 1 to 9999, which Python's datetime cannot "
        "hold; read `table`, `to_polars()` or `to_pandas()`, or leave such rows out with WHERE"
    )


def may_lack(instant: str) -> str:
    """What an answer that is not complete says of itself."""
    return f"its windows may lack tuples from before {instant}"


def was_shed(kept: Mapping[str, float]) -> str:
    """What an answer that is partial says of itself."""
    shares = (kept_text(stream, share) for stream, share in kept.items() if share < 1)
    return f"it was computed from {' and '.join(shares)}"
