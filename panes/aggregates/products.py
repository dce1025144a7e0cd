"""Products of doubles without rounding, and sums of doubles that are known to be exact."""

from __future__ import annotations

import numpy as np

from panes.aggregates.adders import Doubles

_HALF = 2.0**27 + 1
_BITS = 53


def product(left: Doubles, right: Doubles) -> tuple[Doubles, Doubles]:
    """The rounded products, and what rounding took away, which is a double as well (Dekker 1971).

    It is zero for products that are not finite, and inexact only below the normal range.
    """
    # Fractions between 1/2 and 1 are multiplied, so that nothing overflows on the way.
    (x, up_x), (y, up_y) = np.frexp(left), np.frexp(right)
    with np.errstate(over="ignore", invalid="ignore"):
        high = x * y
        x_high, y_high = _leading(x), _leading(y)
        x_low, y_low = x - x_high, y - y_high
        low = ((x_high * y_high - high) + x_high * y_low + x_low * y_high) + x_low * y_low
        exponents = up_x + up_y
        high, low = np.ldexp(high, exponents), np.ldexp(low, exponents)
    return high, np.where(np.isfinite(high), low, 0.0)


def sums_are_exact(values: Doubles, rows: int) -> bool:
    """Whether no sum of up to that many of the values is rounded: all are multiples of a power of two that is not
    too small for the largest sum."""
    some = np.abs(values[np.isfinite(values) & (values != 0)])
    if not len(some):
        return True
    fractions, exponents = np.frexp(some)
    digits = np.ldexp(fractions, _BITS).astype(np.int64)
    trailing = np.frexp((digits & -digits).astype(np.float64))[1] - 1
    lowest = int((exponents - _BITS + trailing).min())
    return int(exponents.max()) + rows.bit_length() <= lowest + _BITS


def _leading(fraction: Doubles) -> Doubles:
    """The upper half of the digits."""
    scaled = _HALF * fraction
    leading: Doubles = scaled - (scaled - fraction)
    return leading
