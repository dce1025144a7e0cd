"""Pairs of values as one value: bytes that are ordered as the pairs are, by the first and then by the second.

So a state that keeps single values in their order keeps pairs as well. The bytes are a mark (is the first NULL?
such pairs come last, or first if wanted), the first, from the greatest to the least if wanted, and the second.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panes.aggregates.base import Ints

Column = Any
"""An array, in one piece or in several."""
_Bytes = npt.NDArray[np.uint8]

_NULL_FIRST, _VALUE, _NULL_LAST = b"\1", b"\2", b"\3"
"""None of them occurs twice in a row in the end of a text, so that this is found behind them."""
_END, _ZERO, _ESCAPED = b"\0\0", b"\0", b"\0\xff"
_WIDTH = 8
_SIGN = np.uint64(1 << 63)


def pairs_of(
    first: Column, second: Column, *, descending: bool = False, nulls_first: bool = False
) -> pa.Array:
    """The pairs as bytes; NULL where the second is NULL."""
    first, second = _whole(first), _whole(second)
    null = _NULL_FIRST if nulls_first else _NULL_LAST
    mark = pc.if_else(pc.is_valid(first), pa.scalar(_VALUE), pa.scalar(null))
    ordered = _ended(first) if _is_text(first.type) else _fixed(first)
    if descending:
        ordered = _complement(ordered)
    last = second.cast(pa.binary()) if _is_text(second.type) else _fixed(second)
    joined = pc.binary_join_element_wise(mark, ordered, last.fill_null(b""), b"")
    return pc.if_else(pc.is_valid(second), joined, pa.scalar(None, pa.binary()))


def seconds_of(
    pairs: Column, first: pa.DataType, second: pa.DataType, *, descending: bool = False
) -> pa.Array:
    """The second values of pairs, whose types are given; none of the pairs is NULL."""
    pairs = _whole(pairs).cast(pa.binary())
    if not _is_text(second):
        return _from_fixed(_last_bytes(pairs), second)
    if not _is_text(first):
        return pc.binary_replace_slice(pairs, 0, 1 + _WIDTH, b"").cast(second)
    end = bytes(255 - byte for byte in _END) if descending else _END
    return pc.list_element(pc.split_pattern(pairs, end, max_splits=1), 1).cast(second)


def has_first(pairs: Column) -> pa.Array:
    """Whether the first values of pairs are not NULL."""
    return pc.equal(pc.binary_slice(_whole(pairs).cast(pa.binary()), 0, 1), _VALUE)


def _whole(column: Column) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_binary(type_))


def _ended(texts: pa.Array) -> pa.Array:
    """Texts with a mark at their end that comes before all that can follow in a longer one."""
    escaped = pc.replace_substring(texts.cast(pa.binary()).fill_null(b""), _ZERO, _ESCAPED)
    return pc.binary_join_element_wise(escaped, _END, b"")


def _fixed(column: pa.Array) -> pa.Array:
    """Numbers and instants in eight bytes."""
    if pa.types.is_floating(column.type):
        doubles = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        bits = np.where(np.isnan(doubles), np.nan, doubles + 0.0).view(np.int64)
        words = (bits ^ ((bits >> 63) & np.int64(2**63 - 1))).view(np.uint64) ^ _SIGN
    else:
        words = _as_int64(column).view(np.uint64) ^ _SIGN
    content = words.astype(">u8").tobytes()
    offsets = np.arange(len(words) + 1, dtype=np.int32) * _WIDTH
    return pa.Array.from_buffers(
        pa.binary(), len(words), [None, pa.py_buffer(offsets), pa.py_buffer(content)]
    )


def _as_int64(column: pa.Array) -> Ints:
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    whole: Ints = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return whole


def _from_fixed(content: _Bytes, type_: pa.DataType) -> pa.Array:
    words = content.view(">u8").reshape(-1).astype(np.uint64) ^ _SIGN
    bits = words.view(np.int64)
    if pa.types.is_floating(type_):
        return pa.array((bits ^ ((bits >> 63) & np.int64(2**63 - 1))).view(np.float64)).cast(type_)
    whole = pa.array(bits)
    return (whole.cast(pa.int32()) if pa.types.is_date32(type_) else whole).cast(type_)


def _last_bytes(pairs: pa.Array) -> _Bytes:
    offsets, content = _buffers(pairs)
    return np.ascontiguousarray(content[offsets[1:, None] + np.arange(-_WIDTH, 0)])


def _complement(ordered: pa.Array) -> pa.Array:
    offsets, content = _buffers(ordered)
    return pa.Array.from_buffers(
        pa.binary(), len(ordered), [None, pa.py_buffer(offsets), pa.py_buffer(np.invert(content))]
    )


def _buffers(column: pa.Array) -> tuple[npt.NDArray[np.int32], _Bytes]:
    _, offsets, content = column.buffers()
    places = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    held: Any = b"" if content is None else content
    return places, np.frombuffer(held, np.uint8)
