"""Exact addition: the int64 accumulators behind counts and sums.

Sums go up and down for as long as a query stands, so they may not round: a value that leaves the window must
leave no trace. Integers are kept in two halves, which no window can overflow. Doubles are cut into pieces of
32 bits at fixed places, from the smallest double to the greatest, and each piece is summed as an integer; of
these many accumulators the few that the data needs exist. What is not finite is counted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panes.aggregates.base import Accumulators, Ints
from panes.plan.types import DOUBLE, Type

Doubles = npt.NDArray[np.float64]

_BITS = 32
_MASK = np.int64((1 << _BITS) - 1)
_LOWEST = -1088
_LIMBS = (1024 - _LOWEST) // _BITS
_NAN, _POSITIVE, _NEGATIVE = _LIMBS, _LIMBS + 1, _LIMBS + 2


class Adder(ABC):
    """How one partial column adds up."""

    width: int

    @abstractmethod
    def lift(self, column: pa.ChunkedArray) -> Accumulators:
        """The accumulators of each value; NULL adds nothing."""

    @abstractmethod
    def doubles(self, accumulators: Accumulators, rows: int) -> Doubles:
        """The sums as doubles, rounded once."""


class Count(Adder):
    width = 1

    def lift(self, column: pa.ChunkedArray) -> Accumulators:
        return {0: _integers(column)}

    def doubles(self, accumulators: Accumulators, rows: int) -> Doubles:
        return _get(accumulators, 0, rows).astype(np.float64)


class IntegerSum(Adder):
    """The low and the high half of each value, summed apart."""

    width = 2

    def lift(self, column: pa.ChunkedArray) -> Accumulators:
        values = _integers(column)
        return {0: values & _MASK, 1: values >> _BITS}

    def integers(self, accumulators: Accumulators, rows: int) -> tuple[Ints, npt.NDArray[np.bool_]]:
        """The sums, and which of them fit into 64 bits."""
        low, high = self._halves(accumulators, rows)
        fits = (high >= -(1 << 31)) & (high < (1 << 31))
        return (high << _BITS) + low, fits

    def doubles(self, accumulators: Accumulators, rows: int) -> Doubles:
        low, high = self._halves(accumulators, rows)
        sums: Doubles = high.astype(np.float64) * 2.0**_BITS + low
        return sums

    def _halves(self, accumulators: Accumulators, rows: int) -> tuple[Ints, Ints]:
        low, high = _get(accumulators, 0, rows), _get(accumulators, 1, rows)
        return low & _MASK, high + (low >> _BITS)


class DoubleSum(Adder):
    """Limbs from the lowest to the highest; then the numbers of NaN, inf and -inf."""

    width = _LIMBS + 3

    def lift(self, column: pa.ChunkedArray) -> Accumulators:
        values: Doubles = (column.fill_null(0.0) if column.null_count else column).to_numpy()
        finite = np.isfinite(values)
        if finite.all():
            return _cut(values)
        specials = {_NAN: np.isnan(values), _POSITIVE: values == np.inf, _NEGATIVE: values == -np.inf}
        lifted = _cut(np.where(finite, values, 0.0))
        return lifted | {number: special.astype(np.int64) for number, special in specials.items()}

    def doubles(self, accumulators: Accumulators, rows: int) -> Doubles:
        sums = _join({limb: a for limb, a in accumulators.items() if limb < _LIMBS}, rows)
        up, down = _get(accumulators, _POSITIVE, rows) > 0, _get(accumulators, _NEGATIVE, rows) > 0
        sums[up] = np.inf
        sums[down] = -np.inf
        sums[(_get(accumulators, _NAN, rows) > 0) | (up & down)] = np.nan
        return sums

    def less(self, accumulators: Accumulators, doubles: Doubles) -> Accumulators:
        """The accumulators of the finite sums less these numbers."""
        limbs = {limb: a.copy() for limb, a in accumulators.items() if limb < _LIMBS}
        for limb, piece in _cut(np.where(np.isfinite(doubles), doubles, 0.0)).items():
            limbs[limb] = limbs.get(limb, np.zeros(len(doubles), np.int64)) - piece
        return limbs

    def exactly(self, accumulators: Mapping[int, int]) -> Fraction:
        """One finite sum, not rounded at all."""
        limbs = (a << (limb * _BITS) for limb, a in accumulators.items() if limb < _LIMBS)
        return Fraction(sum(limbs), 1 << -_LOWEST)


def adder_for(type_: Type) -> Adder:
    """The adder of a column of sums of that type."""
    return DoubleSum() if type_ == DOUBLE else IntegerSum()


def _integers(column: pa.ChunkedArray) -> Ints:
    whole = column if column.type == pa.int64() else column.cast(pa.int64())
    return np.asarray((whole.fill_null(0) if whole.null_count else whole).to_numpy())


def _get(accumulators: Accumulators, number: int, rows: int) -> Ints:
    found = accumulators.get(number)
    return np.zeros(rows, np.int64) if found is None else found


def _cut(values: Doubles) -> Accumulators:
    fractions, exponents = np.frexp(np.abs(values))
    mantissas = np.ldexp(fractions, 53).astype(np.int64)
    # Doubles below the normal range have trailing zero bits where the shift would be below zero.
    shifts = exponents.astype(np.int64) - 53 - _LOWEST
    mantissas >>= np.maximum(-shifts, 0)
    first, inside = np.divmod(np.maximum(shifts, 0), _BITS)
    low = (mantissas & ((np.int64(1) << (_BITS - inside)) - 1)) << inside
    rest = mantissas >> (_BITS - inside)
    signs = np.where(values < 0, np.int64(-1), np.int64(1))
    pieces = (low * signs, (rest & _MASK) * signs, (rest >> _BITS) * signs)
    limbs: Accumulators = {}
    some = np.flatnonzero(mantissas)
    for start in np.unique(first[some]):
        here = some[first[some] == start]
        for offset, piece in enumerate(pieces):
            limb = limbs.setdefault(int(start) + offset, np.zeros(len(values), np.int64))
            limb[here] += piece[here]
    return limbs


def _join(limbs: Accumulators, rows: int) -> Doubles:
    total = np.zeros(rows)
    if not limbs:
        return total
    carried = _carry(limbs, rows)
    below = carried[max(carried)] < 0
    if below.any():
        # The digits of a negative number are those of its opposite, so that both round alike.
        carried = _carry({n: np.where(below, -limb, limb) for n, limb in carried.items()}, rows)
    with np.errstate(over="ignore"):  # a sum beyond the doubles is infinite
        for number, limb in carried.items():
            total += np.ldexp(limb.astype(np.float64), number * _BITS + _LOWEST)
    return np.where(below, -total, total)


def _carry(limbs: Accumulators, rows: int) -> Accumulators:
    carried: Accumulators = {}
    over = np.zeros(rows, np.int64)
    for number in range(min(limbs), max(limbs) + 1):
        whole = _get(limbs, number, rows) + over
        carried[number] = whole & _MASK
        over = whole >> _BITS
    carried[max(limbs) + 1] = over
    return carried
