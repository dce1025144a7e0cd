"""Exact addition: the int64 accumulators behind counts and sums.

Sums go up and down for as long as a query stands, so they may not round: a value that leaves the window must
leave no trace. Integers are kept in two parts and DECIMALs in four, which no window can overflow. Doubles are cut
into pieces of 32 bits at fixed places, from the smallest double to the greatest, and each piece is summed as an
integer; of these many accumulators the few that the data needs exist. What is not finite is counted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panes.aggregates.base import Accumulators, Ints
from panes.delta.decimals import to_floating
from panes.delta.rows import from_words, words_of
from panes.plan.types import DOUBLE, MOST_DIGITS, Type, decimal

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


class DecimalSum(Adder):
    """The 128 bits of each value in four parts, from the lowest to the highest, summed apart."""

    width = 4

    def __init__(self, scale: int) -> None:
        self._type = decimal(MOST_DIGITS, scale)

    def lift(self, column: pa.ChunkedArray) -> Accumulators:
        whole = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        low, high = words_of(whole)
        low_half, high_half = low & np.uint64(_MASK), low >> np.uint64(_BITS)
        parts = (low_half.astype(np.int64), high_half.astype(np.int64), high & _MASK, high >> _BITS)
        if not whole.null_count:
            return dict(enumerate(parts))
        there = np.asarray(whole.is_valid())
        return {number: np.where(there, part, 0) for number, part in enumerate(parts)}

    def decimals(self, accumulators: Accumulators, rows: int) -> tuple[pa.Array, npt.NDArray[np.bool_]]:
        """The sums, and which of them fit into 38 digits; what the others are means nothing."""
        parts = _carry({number: _get(accumulators, number, rows) for number in range(self.width)}, rows)
        # What is carried beyond the highest part is the sign, when the sum fits into 128 bits.
        sign = parts.pop(self.width)
        fits = np.where(sign < 0, (sign == -1) & (parts[3] >= 1 << 31), (sign == 0) & (parts[3] < 1 << 31))
        words = [part.astype(np.uint64) for part in parts.values()]
        low, high = words[0] | (words[1] << np.uint64(_BITS)), words[2] | (words[3] << np.uint64(_BITS))
        sums = from_words(low, high.view(np.int64), self._type.arrow)
        # 38 digits are fewer than 128 bits hold.
        most = pa.scalar(Decimal("9" * MOST_DIGITS), pa.decimal128(MOST_DIGITS, 0))
        plain = from_words(low, high.view(np.int64), most.type)
        within = pc.and_(pc.less_equal(plain, most), pc.greater_equal(plain, pc.negate(most)))
        return sums, fits & np.asarray(within)

    def doubles(self, accumulators: Accumulators, rows: int) -> Doubles:
        sums, fits = self.decimals(accumulators, rows)
        nearest = to_floating(pc.if_else(pa.array(fits), sums, pa.scalar(None, sums.type)), DOUBLE)
        # A mean may be small though its sum has no place in a DECIMAL.
        parts = (_get(accumulators, number, rows) * 2.0 ** (_BITS * number) for number in range(self.width))
        rough = sum(parts, np.zeros(rows)) / 10.0**self._type.scale
        return np.where(fits, nearest.to_numpy(zero_copy_only=False), rough)


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
    if type_.is_decimal:
        return DecimalSum(type_.scale)
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
