"""Keys: which rows agree in some columns, found by hash and decided on the values.

A hash only says where to look. Whatever is found by it is compared on the values before it counts, so two
different keys of one hash are never taken for equal.

Equality is that of the relation: NaN equals NaN, -0.0 equals 0.0. NULL equals nothing in a join
(`nulls_equal=False`), and itself in DISTINCT and the set operations (`nulls_equal=True`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from panes.delta.grouped import are_first
from panes.delta.hashing import Hashes, hash_rows, list_lengths, sorted_hashes
from panes.delta.rows import Positions, array_of, fixed_width

Mask = npt.NDArray[np.bool_]


def is_hash_exact(table: pa.Table, columns: Sequence[str]) -> bool:
    """Whether equal hashes mean equal keys, as they do for one integer column without NULL: mixing is a
    bijection of 64 bits."""
    if len(columns) != 1:
        return not columns
    column = table.column(columns[0])
    kind = column.type
    is_whole = pat.is_integer(kind) or pat.is_date(kind) or pat.is_timestamp(kind)
    return bool(is_whole and column.null_count == 0)


def equal_rows(
    left: pa.Table,
    left_at: Positions,
    left_columns: Sequence[str],
    right: pa.Table,
    right_at: Positions,
    right_columns: Sequence[str],
    *,
    nulls_equal: bool,
) -> Mask:
    """For each pair of positions, whether the two rows agree in all columns."""
    equal = np.ones(len(left_at), dtype=np.bool_)
    for a, b in zip(left_columns, right_columns, strict=True):
        equal &= _equal(array_of(left, a), left_at, array_of(right, b), right_at, nulls_equal)
    return equal


def has_null(table: pa.Table, columns: Sequence[str]) -> Mask:
    """The rows with NULL in at least one of the columns."""
    mask = np.zeros(table.num_rows, dtype=np.bool_)
    for name in columns:
        array = array_of(table, name)
        if array.null_count:
            mask |= _is_null(array)
    return mask


@dataclass(frozen=True)
class Groups:
    """Rows by equal key: `order` lists the rows group by group, `starts` says where in it each begins, and
    `ordered_codes` gives the number of the group of each row in this order."""

    order: Positions
    starts: Positions
    ordered_codes: Positions

    @cached_property
    def codes(self) -> Positions:
        """The number of the group of each row, in its old place."""
        codes = np.empty_like(self.order)
        codes[self.order] = self.ordered_codes
        return codes

    @property
    def count(self) -> int:
        return len(self.starts)

    @property
    def first(self) -> Positions:
        """One row of each group."""
        return self.order[self.starts]


def group_rows(table: pa.Table, columns: Sequence[str], hashes: Hashes | None = None) -> Groups:
    """Groups the rows by exact equality of the columns, where NULL equals NULL."""
    if hashes is None:
        hashes = hash_rows(table, columns)
    order, ordered = sorted_hashes(hashes)
    is_first = are_first(ordered)
    if not is_hash_exact(table, columns):
        again = np.flatnonzero(~is_first)
        same = equal_rows(table, order[again], columns, table, order[again - 1], columns, nulls_equal=True)
        if not same.all():
            order, is_first = _split_collisions(table, columns, order, is_first)
    codes = np.cumsum(is_first, dtype=np.int64)
    codes -= 1
    return Groups(order, np.flatnonzero(is_first), codes)


def _split_collisions(
    table: pa.Table, columns: Sequence[str], order: Positions, is_first: Mask
) -> tuple[Positions, Mask]:
    """Groups again, where different keys share a hash: each pass settles the rows that equal the first of
    what is left of their hash, so it takes as many passes as there are keys of one hash."""
    runs = np.cumsum(is_first)
    settled: list[Positions] = []
    heads: list[Mask] = []
    while len(order):
        first = are_first(runs)
        head = order[np.flatnonzero(first)[np.cumsum(first) - 1]]
        same = equal_rows(table, order, columns, table, head, columns, nulls_equal=True)
        settled.append(order[same])
        heads.append(first[same])
        order, runs = order[~same], runs[~same]
    return np.concatenate(settled), np.concatenate(heads)


def _is_null(array: pa.Array) -> Mask:
    mask: Mask = array.is_null().to_numpy(zero_copy_only=False)
    return mask


def _equal(
    left: pa.Array, left_at: Positions, right: pa.Array, right_at: Positions, nulls_equal: bool
) -> Mask:
    a, b = fixed_width(left), fixed_width(right)
    if a is not None and b is not None:
        x, y = a[left_at], b[right_at]
        equal: Mask = x == y
        if pat.is_floating(left.type):
            equal |= np.isnan(x) & np.isnan(y)
    elif pat.is_list(left.type):
        equal = _equal_lists(left.take(pa.array(left_at)), right.take(pa.array(right_at)))
    elif pat.is_struct(left.type):
        equal = np.ones(len(left_at), np.bool_)
        for one, other in zip(left.flatten(), right.flatten(), strict=True):
            equal &= _equal(one, left_at, other, right_at, nulls_equal=True)
    else:
        pairs = pc.equal(left.take(pa.array(left_at)), right.take(pa.array(right_at)))
        equal = pairs.fill_null(False).to_numpy(zero_copy_only=False).astype(np.bool_)
    if left.null_count == 0 and right.null_count == 0:
        return equal
    left_null, right_null = _is_null(left)[left_at], _is_null(right)[right_at]
    equal &= ~left_null & ~right_null
    if nulls_equal:
        equal |= left_null & right_null
    return equal


def _equal_lists(left: pa.Array, right: pa.Array) -> Mask:
    """Whether the lists have the same items in the same places; what it says of NULL means nothing."""
    lengths, others = list_lengths(left), list_lengths(right)
    equal: Mask = lengths == others
    full = np.flatnonzero(equal & (lengths > 0))
    if len(full):
        items = left.take(pa.array(full)).flatten(), right.take(pa.array(full)).flatten()
        at = np.arange(len(items[0]))
        same = _equal(items[0], at, items[1], at, nulls_equal=True)
        equal[full] = np.logical_and.reduceat(same, np.cumsum(lengths[full]) - lengths[full])
    return equal
