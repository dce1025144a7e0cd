"""Orders of rows: by some columns, and rows that agree on these by all others, so that every order is total."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SortKey:
    """A column that rows are sorted by.

    NULLs come last unless `nulls_first`, whichever the direction; NaN is greater than all numbers, and strings go
    by their bytes.
    """

    column: str
    descending: bool = False
    nulls_first: bool = False

    def __str__(self) -> str:
        return self.column + " DESC" * self.descending + " NULLS FIRST" * self.nulls_first


def total_order(keys: Sequence[SortKey], columns: Sequence[str]) -> tuple[SortKey, ...]:
    """The keys, and after them every other column: rows that are still equal are the same row.

    >>> [str(key) for key in total_order([SortKey("b", descending=True)], ["a", "b"])]
    ['b DESC', 'a']
    """
    named = {key.column for key in keys}
    return (*keys, *(SortKey(column) for column in columns if column not in named))
