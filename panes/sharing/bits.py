"""Matrices of bits: a row per tuple, a column per query, packed into words of 64.

Bit j of word w is column 64 w + j. All of it is arithmetic on whole arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
At = slice | Ints
"""Which rows: some that follow each other, or any."""

WORD = 64
_PART_BLOCKS = 16
_FEW = 512
"""Rows up to which they are added byte by byte."""
_IN_A_BYTE = 255
"""The greatest number that a byte holds."""
_SWAPS = tuple(
    (distance, np.uint64(sum(1 << bit for bit in range(64) if not bit & distance)))
    for distance in (32, 16, 8, 4, 2, 1)
)
"""The exchanges that transpose 64 × 64 bits: how far, and which bits of the nearer place."""


def words_for(columns: int) -> int:
    return -(-columns // WORD)


def bit_of(columns: npt.NDArray[Any]) -> Words:
    """The bit of each column in its word."""
    return np.left_shift(np.uint64(1), (columns % WORD).astype(np.uint64))


def set_columns(columns: npt.NDArray[Any], words: int) -> Words:
    """One row with the bits of these columns set."""
    row = np.zeros(words, np.uint64)
    np.bitwise_or.at(row, columns // WORD, bit_of(columns))
    return row


def count_columns(bits: Words) -> Ints:
    """How many rows have each column set.

    Three rows of bits are added to a row of sums and a row of carries (a full adder in each bit), and so on until
    few rows of each weight are left: about five operations on words of 64 columns per row. Few rows are added byte
    by byte, because an operation on a short array costs as much to begin as to do.
    """
    counts = np.zeros(bits.shape[1] * WORD, np.int64)
    weight = 0
    while len(bits):
        carries = []
        while len(bits) > _FEW:
            third = len(bits) // 3
            a, b, c = bits[:third], bits[third : 2 * third], bits[2 * third : 3 * third]
            sums = a ^ b
            carry = a & b
            carry |= sums & c
            sums ^= c
            carries.append(carry)
            bits = np.concatenate([sums, bits[3 * third :]]) if len(bits) % 3 else sums
        counts += _added(unpacked(bits)) << weight
        weight += 1
        bits = np.concatenate(carries) if carries else bits[:0]
    return counts


def _added(flags: Bytes) -> Ints:
    """The sums of columns of zeros and ones. Rows are added as bytes as long as a byte holds their sum."""
    sums = np.zeros(flags.shape[1], np.int64)
    for first in range(0, len(flags), _IN_A_BYTE):
        sums += np.add.reduce(flags[first : first + _IN_A_BYTE], axis=0, dtype=np.uint8)
    return sums


def unpacked(bits: Words) -> Bytes:
    """One byte per bit."""
    return np.unpackbits(_bytes(bits), axis=1, bitorder="little")


def pairs_of(bits: Words) -> tuple[Ints, Ints]:
    """The rows and columns of the bits that are set, in the order of rows."""
    flat = _bytes(bits).reshape(-1)
    some = np.flatnonzero(flat != 0)
    if len(some) * 2 > len(flat):
        places = np.flatnonzero(np.unpackbits(flat, bitorder="little").view(np.bool_))
    else:
        inside = np.flatnonzero(np.unpackbits(flat[some], bitorder="little").view(np.bool_))
        places = some[inside >> 3] * 8 + (inside & 7)
    row, column = np.divmod(places, bits.shape[1] * WORD)
    return row, column


def side_by_side(left: Bytes, columns: int, right: Bytes, more: int) -> Bytes:
    """Two matrices as one: the `columns` of the left, then the `more` of the right."""
    both = np.zeros((len(left), -(-(columns + more) // 8)), np.uint8)
    both[:, : left.shape[1]] = left
    byte, shift = divmod(columns, 8)
    both[:, byte : byte + right.shape[1]] |= right << np.uint8(shift)
    over = both[:, byte + 1 : byte + 1 + right.shape[1]]
    over |= (right.astype(np.uint16) >> (8 - shift)).astype(np.uint8)[:, : over.shape[1]]
    return both


def transposed(bits: Words) -> Bytes:
    """A row per column, with one bit per row in bytes: bit i of byte k is row 8 k + i."""
    rows, words = bits.shape
    blocks = -(-rows // WORD)
    columns = np.empty((words, WORD, blocks), "<u8")
    # In parts that stay in the cache.
    for first in range(0, blocks, _PART_BLOCKS):
        part = _squares(bits[first * WORD : (first + _PART_BLOCKS) * WORD])
        columns[:, :, first : first + _PART_BLOCKS] = part.transpose(2, 0, 1)
    return columns.reshape(words * WORD, blocks).view(np.uint8)[:, : -(-rows // 8)]


def _squares(bits: Words) -> Words:
    """Squares of 64 × 64 bits, transposed: [column in word, block of 64 rows, word], with a bit per row.

    The halves of a square that lie across its diagonal change places, then those of its quarters, and so on.
    """
    rows, words = bits.shape
    blocks = -(-rows // WORD)
    padded = bits
    if rows % WORD:
        padded = np.zeros((blocks * WORD, words), np.uint64)
        padded[:rows] = bits
    squares = np.ascontiguousarray(padded.reshape(blocks, WORD, words).transpose(1, 0, 2))
    moved = np.empty((WORD // 2, blocks, words), np.uint64)
    for distance, mask in _SWAPS:
        halves = squares.reshape(WORD // (2 * distance), 2, distance, blocks, words)
        upper, lower = halves[:, 0], halves[:, 1]
        moving = moved.reshape(upper.shape)
        np.right_shift(upper, np.uint64(distance), out=moving)
        moving ^= lower
        moving &= mask
        lower ^= moving
        moving <<= np.uint64(distance)
        upper ^= moving
    return squares


def _bytes(bits: Words) -> Bytes:
    little = np.ascontiguousarray(bits, "<u8")
    return little.view(np.uint8).reshape(len(bits), bits.shape[1] * 8)
