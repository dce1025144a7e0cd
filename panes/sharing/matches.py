"""Which tuples are for which queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from panes.sharing.bits import WORD, Bytes, Flags, Ints, Words, pairs_of, transposed


@dataclass(frozen=True)
class Matches:
    """A row of bits per tuple, a column per query."""

    bits: Words
    queries: Ints
    """The query of each column; -1 where there is none, and then no bit is set."""

    @property
    def is_for_any(self) -> Flags:
        """Whether each tuple is for some query."""
        found: Flags = np.bitwise_or.reduce(self.bits, axis=1) != 0
        return found

    def pairs(self) -> tuple[Ints, Ints]:
        """The tuples (by number) and queries that match, in the order of tuples."""
        row, column = pairs_of(self.bits)
        return row, self.queries[column]

    def by_query(self) -> tuple[Ints, Bytes]:
        """The queries in ascending order, and for each the tuples that it has, one bit per tuple."""
        tuples = transposed(self.bits)
        there = np.flatnonzero(self.queries >= 0)
        queries = self.queries[there]
        if len(there) and there[-1] == len(there) - 1 and (queries[1:] > queries[:-1]).all():
            return queries, tuples[: len(there)]
        order = there[np.argsort(queries)]
        return self.queries[order], tuples[order]


def columns_of(queries: Ints, words: int) -> Ints:
    """The queries of a block, with -1 for the columns that fill up its last word."""
    columns = np.full(words * WORD, -1, np.int64)
    columns[: len(queries)] = queries
    return columns
