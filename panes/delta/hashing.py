"""Hashes of key columns, the same in every process, on every machine, in every version: they go into files.

`hash_rows` gives one hash, which only says where to look: whoever finds rows by it compares the values
(`delta/keys.py`). `hash_pair` gives two, for state that does not keep the values: two keys are taken as equal
when both hashes agree. A key of one column of fixed width is not hashed twice but told apart wholly by the first,
as mixing is a bijection of 64 bits; the second then says whether it is NULL. The first is what `hash_rows` gives.

The low bits of a hash are the *bucket* of its row. Rows are routed to shards by bucket, so the hashes of a state
tell where its rows lie. A state whose keys are more than the columns by which its rows lie takes the bucket from
these (`in_buckets_of`). Sorting and searching by hash begin with the high bits, which that leaves alone.

Equal values have equal hashes: NULL equals NULL here, NaN equals NaN, and -0.0 equals 0.0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from panes.delta.rows import Positions, array_of, fixed_width, words_of

HASH = "_hash"
"""The hidden column of state that is sorted by the hash of the key."""

Hashes = npt.NDArray[np.uint64]

BUCKETS = 1 << 16
"""The number of buckets, and so the most shards that rows can be routed to."""

_BUCKET = np.uint64(BUCKETS - 1)
_SEED = np.uint64(0x9E3779B97F4A7C15)
_SECOND_SEED = np.uint64(0x243F6A8885A308D3)
_NULL = np.uint64(0xD1B54A32D192ED03)
_FACTOR = np.uint64(0xFF51AFD7ED558CCD)


def hash_rows(table: pa.Table, columns: Sequence[str]) -> Hashes:
    """One hash per row over the columns, in their order; without columns all hashes are equal."""
    return _hash([array_of(table, name) for name in columns], table.num_rows, _SEED)


def hash_pair(columns: Sequence[pa.ChunkedArray | pa.Array], rows: int) -> tuple[Hashes, Hashes]:
    """The two hashes of each row; `rows` is needed when there are no columns (then all rows are one key)."""
    if not columns:
        return np.zeros(rows, np.uint64), np.zeros(rows, np.uint64)
    arrays = [c.combine_chunks() if isinstance(c, pa.ChunkedArray) else c for c in columns]
    if len(arrays) == 1 and (fixed_width(arrays[0]) is not None or pat.is_boolean(arrays[0].type)):
        second = np.zeros(rows, np.uint64)
        if arrays[0].null_count:
            second[np.asarray(arrays[0].is_null())] = 1
        return _hash(arrays, rows, _SEED), second
    return _hash(arrays, rows, _SEED), _hash(arrays, rows, _SECOND_SEED)


def buckets_of(hashes: Hashes) -> Hashes:
    """The bucket of each hash, from 0 to `BUCKETS` - 1."""
    return hashes & _BUCKET


def in_buckets_of(hashes: Hashes, others: Hashes) -> Hashes:
    """The hashes, each in the bucket of the other one at its place."""
    return (hashes & ~_BUCKET) | (others & _BUCKET)


def reseeded(hashes: Hashes, seed: int) -> Hashes:
    """Other hashes of the same rows, which look independent of these and of those by another seed."""
    others: Hashes = hashes * _FACTOR + np.uint64(seed)
    _mix(others)
    return others


def sort_order(keys: Hashes) -> npt.NDArray[np.int64]:
    """The order that sorts the keys; equal keys stay in the order they are in."""
    return sorted_hashes(keys)[0]


def sorted_hashes(keys: Hashes) -> tuple[npt.NDArray[np.int64], Hashes]:
    """`sort_order`, and the keys in that order.

    Sorting numbers is several times as fast as sorting places by them, so the place is put into the low bits.
    That leaves the high bits of a key, which tell nearly all hashes apart; where they do not, it is done again.
    """
    bits = np.uint64(max(len(keys) - 1, 1).bit_length())
    low = (np.uint64(1) << bits) - np.uint64(1)
    packed = keys & ~low
    packed |= np.arange(len(keys), dtype=np.uint64)
    packed.sort()
    packed &= low
    order: npt.NDArray[np.int64] = packed.view(np.int64)
    ordered = keys[order]
    if (ordered[1:] < ordered[:-1]).any():
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
    return order, ordered


def list_lengths(lists: pa.Array) -> Positions:
    """The number of items of each list, 0 for NULL."""
    lengths: Positions = (
        pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    )
    return lengths


def _hash(arrays: Sequence[pa.Array], rows: int, seed: np.uint64) -> Hashes:
    hashes = np.full(rows, seed, dtype=np.uint64)
    for array in arrays:
        hashes *= _FACTOR
        hashes += _bits(array, seed)
        _mix(hashes)
    return hashes


def _mix(hashes: Hashes) -> None:
    """Spreads every bit over all others, in place; a bijection (the end of splitmix64)."""
    hashes ^= hashes >> np.uint64(30)
    hashes *= np.uint64(0xBF58476D1CE4E5B9)
    hashes ^= hashes >> np.uint64(27)
    hashes *= np.uint64(0x94D049BB133111EB)
    hashes ^= hashes >> np.uint64(31)


def _bits(array: pa.Array, seed: np.uint64) -> Hashes:
    """64 bits for each value, equal for equal values; what does not fit into them is hashed by the seed."""
    kind = array.type
    if pat.is_null(kind):
        return np.full(len(array), _NULL ^ seed, dtype=np.uint64)
    if pat.is_dictionary(kind):
        return _bits(array.dictionary_decode(), seed)
    bits: Hashes
    if pat.is_boolean(kind):
        bits = array.cast(pa.uint8()).fill_null(0).to_numpy(zero_copy_only=False).astype(np.uint64)
    elif pat.is_floating(kind):
        bits = _float_bits(array)
    elif pat.is_string(kind) or pat.is_large_string(kind) or pat.is_binary(kind) or pat.is_large_binary(kind):
        bits = _string_bits(array, seed)
    elif pat.is_decimal128(kind):
        low, high = words_of(array)
        bits = low * _FACTOR + high.view(np.uint64) + seed
        _mix(bits)
    elif pat.is_list(kind):
        bits = _list_bits(array, seed)
    elif pat.is_struct(kind):
        bits = _hash(array.flatten(), len(array), seed)
    else:
        values = fixed_width(array)
        if values is None:
            raise TypeError(f"a value of type {kind} cannot be a key")
        bits = values.astype(np.int64).view(np.uint64)
    if array.null_count:
        bits[np.asarray(array.is_null())] = _NULL ^ seed
    return bits


def _float_bits(array: pa.Array) -> Hashes:
    values = array.fill_null(0.0).to_numpy(zero_copy_only=False).astype(np.float64)
    values += 0.0  # -0.0 becomes 0.0
    values[np.isnan(values)] = np.nan
    bits: Hashes = values.view(np.uint64)
    return bits


def _string_bits(array: pa.Array, seed: np.uint64) -> Hashes:
    """Eight bytes at a time, over all strings that are still that long."""
    wide = pat.is_large_string(array.type) or pat.is_large_binary(array.type)
    _, raw_offsets, data = array.buffers()
    bits = np.full(len(array), seed, dtype=np.uint64)
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


def _list_bits(array: pa.Array, seed: np.uint64) -> Hashes:
    items = _bits(array.flatten(), seed)
    lengths = list_lengths(array)
    owner = np.repeat(np.arange(len(array)), lengths)
    place = np.arange(len(items)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    mixed = items * _FACTOR + place.astype(np.uint64) + seed
    _mix(mixed)
    bits: Hashes = lengths.astype(np.uint64)
    np.add.at(bits, owner, mixed)
    return bits
