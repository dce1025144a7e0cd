"""The index of an answer, as its query has it from registration on: by which columns, and in which cells."""

from __future__ import annotations

import json
from dataclasses import dataclass

from panes.answers.index_cells import IndexCells
from panes.query_settings import QuerySettings


@dataclass(frozen=True)
class AnswerIndex:
    """What `INDEX BY` and the settings `index_cells`, `index_order` and `index_rebuild` say."""

    columns: tuple[str, ...]
    """Rows lie in the order of these columns."""
    cells: IndexCells
    rebuild: bool = False
    """Whether an update rewrites the cells that it touches; else it appends a run to each."""

    @classmethod
    def of(cls, settings: QuerySettings) -> AnswerIndex | None:
        """The index of a query with these settings; None when it has none."""
        if not settings.index_by:
            return None
        cells = IndexCells.of(settings.index_cells, settings.index_order)  # type: ignore[arg-type]  # one of the two
        return cls(tuple(json.loads(settings.index_by)), cells, settings.index_rebuild == "always")

    def explained(self, *, has_ends: bool) -> str:
        """What EXPLAIN says of it. `has_ends` tells whether rows leave at a time that is known when they come."""
        by = f"indexed by ({', '.join(self.columns)})"
        if not has_ends:
            return f"{by} in a log that is merged by size, because nobody knows when rows leave"
        cells = self.cells
        order = cells.order.replace("_", " ")
        how = "rewritten" if self.rebuild else "runs are appended, and dropped when dead"
        return (
            f"{by} in {cells.comings} x {cells.leavings} cells, {order}: "
            f"{cells.per_update} of {cells.count} cells per update ({how})"
        )
