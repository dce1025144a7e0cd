"""Variances, covariances and correlation, from exact sums.

With the sums Σx, Σy and Σxy of n pairs, n·Σxy - Σx·Σy is n² times the covariance. Its two terms may agree in
nearly all digits, so they are computed with twice the digits of a double; where these do not suffice, exactly.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from panes.aggregates.adders import Doubles, DoubleSum
from panes.aggregates.base import Accumulators, Ints
from panes.aggregates.products import product

MOMENTS = frozenset({"var_samp", "var_pop", "stddev_samp", "stddev_pop", "covar_samp", "covar_pop", "corr"})
OF_PAIRS = frozenset({"covar_samp", "covar_pop", "corr"})

_CANCELED = 2.0**-40
"""The part of the terms from which on their difference has digits enough."""


class Sum(NamedTuple):
    """Exact sums of groups: doubles, and what rounding took away from them."""

    limbs: Accumulators
    high: Doubles
    low: Doubles

    @classmethod
    def of(cls, limbs: Accumulators, rows: int) -> Sum:
        adder = DoubleSum()
        high = adder.doubles(limbs, rows)
        return cls(limbs, high, adder.doubles(adder.less(limbs, high), rows))

    @property
    def is_finite(self) -> npt.NDArray[np.bool_]:
        return np.isfinite(self.high)


def moment(counts: Ints, x: Sum, y: Sum, xy: Sum, divisor: Doubles) -> Doubles:
    """(n·Σxy - Σx·Σy) / divisor for each group; NaN where a sum is not finite."""
    n = counts.astype(np.float64)
    with np.errstate(all="ignore"):
        one, one_low = product(n, xy.high)
        other, other_low = product(x.high, y.high)
        one_low = one_low + n * xy.low
        other_low = other_low + (x.high * y.low + x.low * y.high)
        rough = one - other
        found = rough + (_lost(one, other, rough) + (one_low - other_low))
        is_rounded = (x.low != 0) | (y.low != 0) | (xy.low != 0)
        canceled = is_rounded & (np.abs(found) < _CANCELED * (np.abs(one) + np.abs(other)))
        finite = x.is_finite & y.is_finite & xy.is_finite
        moments = np.where(finite, found / divisor, np.nan)
    # Hardly any group has values that differ only in their last digits.
    for row in np.flatnonzero(finite & (divisor > 0) & (canceled | ~np.isfinite(found))):
        moments[row] = _exactly(int(counts[row]), x, y, xy, int(row), divisor[row])
    return moments


def _lost(one: Doubles, other: Doubles, rough: Doubles) -> Doubles:
    """What rounding took away from `rough`, the difference of the two."""
    back = rough - one
    lost: Doubles = (one - (rough - back)) - (other + back)
    return lost


def _exactly(count: int, x: Sum, y: Sum, xy: Sum, row: int, divisor: float) -> float:
    """The same for one group, in whole numbers."""
    of_x, of_y, of_xy = (
        DoubleSum().exactly({number: int(limb[row]) for number, limb in s.limbs.items()}) for s in (x, y, xy)
    )
    exact = (count * of_xy - of_x * of_y) / Fraction(divisor)
    try:
        return float(exact)
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")
