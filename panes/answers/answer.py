"""An answer: what a query says at one instant."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Answer:
    """The rows of an answer and the instant they belong to.

    `as_of` is the clock of the epoch, or the last slide before it when the query slides; None when nothing
    has arrived yet.
    """

    as_of: datetime | None
    table: pa.Table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def to_pylist(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.table.to_pylist()
        return rows

    def to_pandas(self) -> pd.DataFrame:
        return self.table.to_pandas()

    def to_polars(self) -> pl.DataFrame:
        frame = pl.from_arrow(self.table)
        assert isinstance(frame, pl.DataFrame)
        return frame

    def __repr__(self) -> str:
        as_of = self.as_of.isoformat() if self.as_of else "nothing yet"
        return f"<Answer as of {as_of}: {len(self)} rows of {', '.join(self.table.column_names)}>"
