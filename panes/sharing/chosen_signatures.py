"""Which signatures a query is computed from: those that have its bit, or all but the others."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from panes.aggregates.linear import ROWS
from panes.delta.rows import int64, take, where
from panes.plan.nodes import SIGNATURE
from panes.state.buffers.chunk import Chunk
from panes.synopses.layout import Layout
from panes.synopses.total import TOTAL


@dataclass(frozen=True)
class ChosenSignatures:
    """The rows of some signatures are added, and those of others taken away."""

    plus: frozenset[bytes]
    minus: frozenset[bytes] = frozenset()

    @classmethod
    def of(cls, signatures: Set[bytes], number: int, *, may_subtract: bool = True) -> ChosenSignatures:
        """Those for the predicate of a number, of all that there are, as few as possible: where the rows of all
        signatures together are kept as well, the others can be taken away from these.

        >>> ChosenSignatures.of({TOTAL, b"\\x01", b"\\x03", b"\\x05", b"\\x02"}, 0)
        ChosenSignatures(plus=frozenset({b''}), minus=frozenset({b'\\x02'}))
        """
        there = signatures - {TOTAL}
        own = frozenset(signature for signature in there if has_bit(signature, number))
        has_total = may_subtract and TOTAL in signatures
        if has_total and len(there - own) + 1 < len(own):
            return cls(frozenset([TOTAL]), frozenset(there - own))
        return cls(own)

    @property
    def probes(self) -> int:
        """The number of signatures that are read."""
        return len(self.plus) + len(self.minus)

    def rows(self, rows: pa.Table) -> pa.Table:
        """Of the rows of a synopsis those that are read."""
        return rows.filter(_is_among(rows, self.plus | self.minus))

    def summed(self, rows: pa.Table, layout: Layout) -> pa.Table | None:
        """What the rows of a window come to, without signatures; `layout` has its columns. None when sums are so
        large that nothing can be subtracted from them."""
        own = rows.filter(_is_among(rows, self.plus)).drop_columns([SIGNATURE])
        if not self.minus:
            return own
        rest = rows.filter(_is_among(rows, self.minus)).drop_columns([SIGNATURE])
        for partial in layout.partials:
            place = rest.column_names.index(partial.name)
            rest = rest.set_column(place, rest.field(place), pc.negate(rest.column(place)))
        left = layout.merged(pa.concat_tables([own, rest]))
        counts = int64(left, ROWS)
        if len(counts) and counts.min() < 0:
            return None
        return take(left, where(counts > 0))


def has_bit(signature: bytes, number: int) -> bool:
    """Whether tuples of a signature pass the predicate of a number."""
    byte, bit = divmod(number, 8)
    return bool(signature[byte] >> bit & 1)


def signatures_in(chunks: Iterable[Chunk]) -> set[bytes]:
    """The signatures of the rows of a synopsis."""
    return {found for chunk in chunks for found in pc.unique(chunk.table.column(SIGNATURE)).to_pylist()}


def _is_among(rows: pa.Table, signatures: frozenset[bytes]) -> pa.ChunkedArray:
    return pc.is_in(rows.column(SIGNATURE), value_set=pa.array(sorted(signatures), pa.binary()))
