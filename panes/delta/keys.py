"""Keys: rows of any columns as 64-bit hashes, and exact equality on the real values.

A hash only says where to look. Whatever is found by it is compared on the values before it counts, so two
different keys of one hash are never taken for equal. Hashes go into files, so they depend on nothing but
the values: not on the process, the machine or the version of a library.

Equality is that of the relation: NaN equals NaN, -0.0 equals 0.0. NULL equals nothing in a join
(`nulls_equal=False`), and itself in DISTINCT and the set operations (`nulls_equal=True`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from panes.delta.rows import Positions, array_of, fixed_width

HASH = "_hash"
"""The hidden column of state that is sorted by the hash of the key."""

Hashes = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]

_SEED = np.uint64(0x9E3779B97F4A7C15)
_NULL = np.uint64(0xD1B54A32D192ED03)
_FACTOR = np.uint64(0xFF51AFD7ED558CCD)


def hash_rows(table: pa.Table, columns: Sequence[str]) -> Hashes:
    """One hash per row over the columns, in their order; without columns all hashes are equal."""
    hashes = np.full(table.num_rows, _SEED, dtype=np.uint64)
    for name in columns:
        hashes *= _FACTOR
        hashes += _bits(array_of(table, name))
        _mix(hashes)
    return hashes


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
    """Rows by equal key: `order` lists the rows group by group, `starts` says where in it each begins,
    `codes` gives each row, in its old place, the number of its group."""

    order: Positions
    starts: Positions
    codes: Positions

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
    order = np.argsort(hashes)
    ordered = hashes[order]
    is_first = np.ones(len(order), dtype=np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    if not is_hash_exact(table, columns):
        again = np.flatnonzero(~is_first)
        same = equal_rows(table, order[again], columns, table, order[again - 1], columns, nulls_equal=True)
        if not same.all():
            order, is_first = _split_collisions(table, columns, order, is_first)
    codes = np.empty(len(order), dtype=np.int64)
    codes[order] = np.cumsum(is_first) - 1
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
        first = np.ones(len(order), dtype=np.bool_)
        first[1:] = runs[1:] != runs[:-1]
        head = order[np.flatnonzero(first)[np.cumsum(first) - 1]]
        same = equal_rows(table, order, columns, table, head, columns, nulls_equal=True)
        settled.append(order[same])
        heads.append(first[same])
        order, runs = order[~same], runs[~same]
    return np.concatenate(settled), np.concatenate(heads)


def _mix(hashes: Hashes) -> None:
    """Spreads every bit over all others, in place; a bijection (the end of splitmix64)."""
    hashes ^= hashes >> np.uint64(30)
    hashes *= np.uint64(0xBF58476D1CE4E5B9)
    hashes ^= hashes >> np.uint64(27)
    hashes *= np.uint64(0x94D049BB133111EB)
    hashes ^= hashes >> np.uint64(31)


def _bits(array: pa.Array) -> Hashes:
    """64 bits for each value, equal for equal values."""
    kind = array.type
    if pat.is_null(kind):
        return np.full(len(array), _NULL, dtype=np.uint64)
    if pat.is_dictionary(kind):
        return _bits(array.dictionary_decode())
    bits: Hashes
    if pat.is_boolean(kind):
        bits = array.cast(pa.uint8()).fill_null(0).to_numpy(zero_copy_only=False).astype(np.uint64)
    elif pat.is_floating(kind):
        bits = _float_bits(array)
    elif pat.is_string(kind) or pat.is_large_string(kind) or pat.is_binary(kind) or pat.is_large_binary(kind):
        bits = _string_bits(array)
    elif pat.is_list(kind):
        bits = _list_bits(array)
    else:
        values = fixed_width(array)
        if values is None:
            raise TypeError(f"a value of type {kind} cannot be a key")
        bits = values.astype(np.int64).view(np.uint64)
    if array.null_count:
        bits[_is_null(array)] = _NULL
    return bits


def _float_bits(array: pa.Array) -> Hashes:
    values = array.fill_null(0.0).to_numpy(zero_copy_only=False).astype(np.float64)
    values += 0.0  # -0.0 becomes 0.0
    values[np.isnan(values)] = np.nan
    bits: Hashes = values.view(np.uint64)
    return bits


def _string_bits(array: pa.Array) -> Hashes:
    """Eight bytes at a time, over all strings that are still that long."""
    wide = pat.is_large_string(array.type) or pat.is_large_binary(array.type)
    _, raw_offsets, data = array.buffers()
    bits = np.full(len(array), _SEED, dtype=np.uint64)
    if raw_offsets is None or len(array) == 0:
        return bits
    offset_type = np.dtype(np.int64 if wide else np.int32)
    offsets = np.frombuffer(
        raw_offsets, dtype=offset_type, count=len(array) + 1, offset=array.offset * offset_type.itemsize
    ).astype(np.int64)
    starts, lengths = offsets[:-1], np.diff(offsets)
    base, end = int(offsets[0]), int(offsets[-1])
    # Seven bytes of padding let the last string be read in whole words.
    padded = np.zeros(end - base + 8, dtype=np.uint8)
    if data is not None and end > base:
        padded[: end - base] = np.frombuffer(data, dtype=np.uint8, count=end - base, offset=base)
    words = np.ndarray(shape=(len(padded) - 7,), dtype="<u8", buffer=padded, strides=(1,))
    starts = starts - base
    bits += lengths.astype(np.uint64)
    alive = np.flatnonzero(lengths > 0)
    at = 0
    while len(alive):
        left = np.minimum(lengths[alive] - at, 8).astype(np.uint64)
        unused = (np.uint64(8) - left) * np.uint64(8)
        some = bits[alive] * _FACTOR + ((words[starts[alive] + at] << unused) >> unused)
        _mix(some)
        bits[alive] = some
        at += 8
        alive = alive[lengths[alive] > at]
    return bits


def _list_bits(array: pa.Array) -> Hashes:
    items = _bits(array.flatten())
    lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    owner = np.repeat(np.arange(len(array)), lengths)
    place = np.arange(len(items)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    mixed = items * _FACTOR + place.astype(np.uint64)
    _mix(mixed)
    bits: Hashes = lengths.astype(np.uint64)
    np.add.at(bits, owner, mixed)
    return bits


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
    elif pat.is_list(left.type) or pat.is_null(left.type):
        # Arrow has no kernel that compares lists; they are few, and only top_k makes them.
        x_list, y_list = left.take(pa.array(left_at)).to_pylist(), right.take(pa.array(right_at)).to_pylist()
        equal = np.array([x == y for x, y in zip(x_list, y_list, strict=True)], dtype=np.bool_)
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
