"""How many rows a change of a table inserted, updated and deleted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RowCounts:
    """What INSERT, UPDATE, DELETE, COPY and `load` give.

    >>> print(RowCounts(inserted=2, updated=1000))
    2 rows inserted, 1,000 updated
    >>> print(RowCounts(deleted=1)), print(RowCounts())
    1 row deleted
    no rows changed
    (None, None)
    """

    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    @property
    def total(self) -> int:
        return self.inserted + self.updated + self.deleted

    def __str__(self) -> str:
        counts = ((self.inserted, "inserted"), (self.updated, "updated"), (self.deleted, "deleted"))
        (first, done), *others = [pair for pair in counts if pair[0]] or [(0, "changed")]
        rows = "no rows" if not first else "1 row" if first == 1 else f"{first:,} rows"
        return ", ".join([f"{rows} {done}", *(f"{count:,} {what}" for count, what in others)])
