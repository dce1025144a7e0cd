"""Two 64-bit hashes of key columns, the same in every process, on every machine, in every version.

The first orders and finds rows, the second tells apart the rare rows that the first takes for one: two keys
are taken as equal when both agree. A key of one integer column is not hashed but kept as it is, so that
there the pair is the key. NULL equals NULL here, as GROUP BY and DISTINCT see it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Hashes = npt.NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_SEEDS = (np.uint64(0x243F6A8885A308D3), np.uint64(0x13198A2E03707344))
_NULL = np.uint64(0xA4093822299F31D0)


def hash_pair(columns: Sequence[pa.ChunkedArray | pa.Array], rows: int) -> tuple[Hashes, Hashes]:
    """The two hashes of each row; `rows` is needed when there are no columns (then all rows are one key)."""
    if not columns:
        return np.zeros(rows, np.uint64), np.zeros(rows, np.uint64)
    if len(columns) == 1 and not _is_string(columns[0].type):
        bits, nulls = _bits(_whole(columns[0]))
        second = np.zeros(rows, np.uint64)
        if nulls is not None:
            second[nulls] = 1
            bits[nulls] = 0
        return mix(bits), second
    first = np.zeros(rows, np.uint64)
    second = np.zeros(rows, np.uint64)
    for column in columns:
        a, b = _column_hashes(_whole(column))
        first = mix(first * _GOLDEN + a)
        second = mix(second * _GOLDEN + b)
    return first, second


def sort_order(keys: Hashes) -> npt.NDArray[np.int64]:
    """The order that sorts the keys; equal keys stay in the order they are in.

    Sorting numbers is several times as fast as sorting places by them, so the place is put into the low bits.
    That leaves the high bits of a key, which tell nearly all hashes apart; where they do not, it is done again.
    """
    bits = np.uint64(max(len(keys) - 1, 1).bit_length())
    low = (np.uint64(1) << bits) - np.uint64(1)
    packed = np.sort((keys & ~low) | np.arange(len(keys), dtype=np.uint64))
    order: npt.NDArray[np.int64] = (packed & low).astype(np.int64)
    ordered = keys[order]
    if (ordered[1:] < ordered[:-1]).any():
        order = np.argsort(keys, kind="stable")
    return order


def mix(bits: Hashes) -> Hashes:
    """A bijection of 64 bits that spreads them (the finalizer of splitmix64)."""
    x = bits ^ (bits >> np.uint64(30))
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def _column_hashes(column: pa.Array) -> tuple[Hashes, Hashes]:
    if _is_string(column.type):
        a, b = _string_hashes(column)
        nulls = np.asarray(column.is_null()) if column.null_count else None
    else:
        bits, nulls = _bits(column)
        a, b = mix(bits + _SEEDS[0]), mix(bits + _SEEDS[1])
    if nulls is not None:
        a[nulls] = _NULL
        b[nulls] = _NULL
    return a, b


def _string_hashes(column: pa.Array) -> tuple[Hashes, Hashes]:
    """Sums, over the bytes of a string, of a random function of the byte and its place."""
    column = column.cast(pa.large_binary())
    offsets = np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column) + 1]
    if not len(column) or offsets[-1] == offsets[0]:
        zeros = np.zeros(len(column), np.uint64)
        return zeros, zeros.copy()
    data = np.frombuffer(column.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    starts = offsets[:-1] - offsets[0]
    lengths = np.diff(offsets)
    place = np.arange(len(data)) - np.repeat(starts, lengths)
    coded = (place.astype(np.uint64) << np.uint64(8)) | data
    full = lengths > 0
    sums = []
    for seed in _SEEDS:
        total = np.zeros(len(column), np.uint64)
        total[full] = np.add.reduceat(mix(coded * _GOLDEN + seed), starts[full])
        sums.append(mix(total + lengths.astype(np.uint64)))
    return sums[0], sums[1]


def _bits(column: pa.Array) -> tuple[Hashes, npt.NDArray[np.bool_] | None]:
    """The 64 bits of each value, equal exactly when the values are, and where the NULLs are."""
    nulls = np.asarray(column.is_null()) if column.null_count else None
    if pa.types.is_floating(column.type):
        values = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        values = values + 0.0  # -0.0 equals 0.0
        values[np.isnan(values)] = np.nan  # all NaNs are one key
        return values.view(np.uint64).copy(), nulls
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    elif pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    elif pa.types.is_null(column.type):
        return np.zeros(len(column), np.uint64), np.ones(len(column), np.bool_)
    if not pa.types.is_uint64(column.type):
        column = column.cast(pa.int64())
    if nulls is not None:
        column = pc.fill_null(column, 0)
    return column.to_numpy(zero_copy_only=False).astype(np.uint64), nulls


def _is_string(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def _whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
