"""Signatures: the distinct rows of bits that say which of some predicates tuples pass.

Bit i of byte k of a signature is predicate 8 k + i.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from panes.delta.rows import take
from panes.delta.zeros import with_unsigned_zeros
from panes.plan.expressions import Expression, columns_of
from panes.plan.nodes import SIGNATURE
from panes.sharing.bits import unpacked
from panes.sharing.matches import Matches
from panes.sharing.matches import columns_of as queries_of
from panes.sharing.member_block import MOST, MemberBlock
from panes.sharing.predicates import predicate_of
from panes.sharing.tuple_batch import TupleBatch
from panes.synopses.definition import EVERY, NEVER

_AT_ONCE = 1 << 17
"""Tuples that are looked up at once."""


@dataclass(frozen=True)
class Signer:
    """The index of some predicates, which go by their numbers."""

    blocks: tuple[MemberBlock, ...]
    columns: frozenset[str]
    """What the predicates ask about."""
    count: int

    @classmethod
    def of(cls, predicates: tuple[Expression, ...]) -> Signer:
        asked = {
            number: predicate_of(None if predicate == EVERY else predicate)
            for number, predicate in enumerate(predicates)
            if predicate != NEVER
        }
        numbers = list(asked)
        parts = (numbers[start : start + MOST] for start in range(0, len(numbers), MOST))
        blocks = tuple(MemberBlock.of({number: asked[number] for number in part}) for part in parts)
        columns = frozenset[str]().union(*(columns_of(predicate) for predicate in predicates))
        return cls(blocks, columns, len(predicates))

    def signed(self, rows: pa.Table) -> pa.Table:
        """The rows that pass any of the predicates, with their signatures in front."""
        parts = [
            self._signed(rows.slice(start, _AT_ONCE)) for start in range(0, max(rows.num_rows, 1), _AT_ONCE)
        ]
        return pa.concat_tables(parts)

    def _signed(self, rows: pa.Table) -> pa.Table:
        asked = with_unsigned_zeros(
            rows.select(sorted(self.columns) or rows.column_names[:1])
        ).combine_chunks()
        queries = np.concatenate([queries_of(block.queries, block.words) for block in self.blocks])
        matches = Matches(TupleBatch(asked, self.blocks).match(0, rows.num_rows), queries)
        passing = np.flatnonzero(matches.is_for_any)
        bits = np.ascontiguousarray(matches.bits[passing])
        # Rows of bits are compared as wholes.
        whole = bits.view(np.dtype((np.void, bits.shape[1] * bits.itemsize))).reshape(-1)
        _, first, place = np.unique(whole, return_index=True, return_inverse=True)
        flags = np.zeros((len(first), self.count), np.uint8)
        there = np.flatnonzero(queries >= 0)
        flags[:, queries[there]] = unpacked(bits[first])[:, there]
        packed = np.packbits(flags, axis=1, bitorder="little")
        names = pa.array([row.tobytes() for row in packed], pa.binary())
        signatures = names.take(pa.array(place.reshape(-1)))
        return take(rows, passing).add_column(0, SIGNATURE, signatures)


@lru_cache(maxsize=64)
def signer(predicates: tuple[Expression, ...]) -> Signer:
    """The index of some predicates: made once, for many tasks."""
    return Signer.of(predicates)
