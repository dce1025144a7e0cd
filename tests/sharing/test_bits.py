"""Packed bits against the same bits one by one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from panes.sharing.bits import (
    Bytes,
    Words,
    count_columns,
    pairs_of,
    set_columns,
    side_by_side,
    transposed,
    unpacked,
)

SHAPES = [(0, 1), (1, 1), (2, 3), (3, 1), (7, 2), (8, 1), (64, 2), (100, 17), (2049, 3)]


def matrices() -> Iterator[tuple[Words, Bytes]]:
    """Matrices of many shapes and densities, packed and one byte per bit."""
    chance = np.random.default_rng(11)
    for rows, words in SHAPES:
        for share in (0.0, 0.01, 0.5, 1.0):
            bits = (chance.random((rows, words * 64)) < share).astype(np.uint8)
            weights = np.left_shift(np.uint64(1), np.arange(64, dtype=np.uint64))
            packed = (bits.reshape(rows, words, 64).astype(np.uint64) * weights).sum(axis=2, dtype=np.uint64)
            yield packed, bits


def test_unpacked_bits_are_those_that_were_packed() -> None:
    for packed, bits in matrices():
        assert (unpacked(packed) == bits).all()


def test_columns_are_counted() -> None:
    for packed, bits in matrices():
        assert (count_columns(packed) == bits.sum(axis=0)).all()


def test_pairs_are_the_bits_that_are_set() -> None:
    for packed, bits in matrices():
        row, column = pairs_of(packed)
        expected = np.nonzero(bits)
        assert (row == expected[0]).all()
        assert (column == expected[1]).all()


def test_transposed_bits_are_the_columns() -> None:
    for packed, bits in matrices():
        columns = np.unpackbits(transposed(packed), axis=1, bitorder="little")
        assert (columns[:, : len(bits)] == bits.T).all()
        assert not columns[:, len(bits) :].any()


@pytest.mark.parametrize("columns", range(9))
@pytest.mark.parametrize("more", [0, 1, 7, 8, 20])
def test_two_matrices_side_by_side(columns: int, more: int) -> None:
    chance = np.random.default_rng(columns * 100 + more)
    left, right = chance.integers(0, 2, (5, columns)), chance.integers(0, 2, (5, more))
    both = side_by_side(_packed(left), columns, _packed(right), more)
    assert (both == _packed(np.hstack([left, right]))).all()


def test_columns_that_are_set() -> None:
    row = set_columns(np.array([0, 63, 64, 130]), 3)
    assert list(np.flatnonzero(unpacked(row[np.newaxis])[0])) == [0, 63, 64, 130]


def _packed(bits: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Bytes:
    return np.packbits(bits.astype(np.uint8), axis=1, bitorder="little")
