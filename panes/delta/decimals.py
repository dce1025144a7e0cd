"""DECIMAL over Arrow columns: arithmetic, rounding and casts, exact, or an error when a result does not fit.

Intermediate results have up to 76 digits, and are brought to the type of the result at the end, which fails with
ArrowInvalid where a value has too many.

Arrow's division of decimals is wrong for some values when the divisor is greater than 32 bits (2^64 - 1 with 14
digits after the point, for one), and its rounding divides by powers of ten. So digits are cut off here, nine at a
time, and all rounding is made of that.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from panes.plan.types import MOST_DIGITS, Type

Datum = Any

_TEXT = r"\A *[+-]?([0-9]{1,38}(\.[0-9]{0,38})?|\.[0-9]{1,38}) *\z"
_AT_ONCE = 9
"""Digits that are cut off at once: 10^9 fits into 32 bits."""
_WIDEST = 2 * MOST_DIGITS


def calculated(function: Callable[[Datum, Datum], Datum], type_: Type, left: Datum, right: Datum) -> Datum:
    """The sum, difference or product of two DECIMALs."""
    return pc.cast(function(_wide(left), _wide(right)), type_.arrow)


def truncated(value: Datum) -> Datum:
    return cut(_widest(value), 0)


def rounded(value: Datum) -> Datum:
    return to_scale(value, 0)


def ceiling(value: Datum) -> Datum:
    wide, whole = _widest(value), truncated(value)
    return _moved(whole, pc.greater(wide, pc.cast(whole, wide.type)), "1")


def floor(value: Datum) -> Datum:
    wide, whole = _widest(value), truncated(value)
    return _moved(whole, pc.less(wide, pc.cast(whole, wide.type)), "-1")


def rescaled(value: Datum, target: Type) -> Datum:
    """A DECIMAL with other numbers of digits, rounded half away from zero."""
    return pc.cast(to_scale(value, target.scale), target.arrow)


def of_integers(value: Datum, target: Type) -> Datum:
    return pc.cast(pc.cast(value, pa.decimal256(_WIDEST, target.scale)), target.arrow)


def to_integers(value: Datum, target: Type) -> Datum:
    return pc.cast(truncated(value), target.arrow)


def of_doubles(value: Datum, target: Type) -> Datum:
    """By way of integers, so that the only steps that round are a product of doubles and its rounding."""
    scaled = pc.multiply(pc.cast(value, pa.float64()), 10.0**target.scale)
    whole = pc.cast(pc.round(scaled, round_mode="half_towards_infinity"), pa.int64())
    unit = pa.scalar(Decimal(1).scaleb(-target.scale), pa.decimal256(MOST_DIGITS + 1, target.scale))
    return pc.cast(pc.multiply(pc.cast(whole, pa.decimal256(19, 0)), unit), target.arrow)


def to_floating(value: Datum, target: Type) -> Datum:
    """The nearest number, which is what reading the digits gives."""
    return pc.cast(pc.cast(value, pa.string()), target.arrow)


def of_text(text: Datum, target: Type) -> Datum:
    is_number = pc.fill_null(pc.match_substring_regex(text, _TEXT), False)
    number = pc.utf8_trim(pc.if_else(is_number, text, pa.scalar(None, pa.string())), " ")
    exact = to_scale(pc.cast(number, pa.decimal256(_WIDEST, MOST_DIGITS)), target.scale)
    bound = pa.scalar(Decimal(10) ** (target.precision - target.scale), exact.type)
    fits = pc.fill_null(pc.less(pc.abs(exact), bound), False)
    return pc.cast(pc.if_else(fits, exact, pa.scalar(None, exact.type)), target.arrow)


def to_text(value: Datum) -> Datum:
    """Plain digits: Arrow itself writes small numbers with an exponent."""
    scale = value.type.scale
    size = _wide(pc.abs(value))
    whole = truncated(size)
    text = pc.cast(whole, pa.string())
    if scale:
        fraction = pc.cast(pc.subtract(size, pc.cast(whole, size.type)), size.type)
        power = pa.scalar(Decimal(10) ** scale, pa.decimal256(scale + 1, 0))
        moved = pc.multiply(pc.cast(fraction, pa.decimal256(scale, scale)), power)
        digits = pc.cast(cut(moved, 0), pa.string())
        text = pc.binary_join_element_wise(text, pc.utf8_lpad(digits, scale, "0"), ".")
    minus = pc.if_else(pc.less(pc.sign(value), 0), "-", "")
    return pc.binary_join_element_wise(minus, text, "")


def opposite_where(negative: Datum, value: Datum) -> Datum:
    """The value, with the other sign where it says so."""
    return pc.if_else(negative, pc.negate(value), value)


def to_scale(value: Datum, scale: int) -> Datum:
    """With another number of digits after the point, rounded half away from zero, in 76 digits."""
    wide = _widest(value)
    if wide.type.scale > scale:
        wide = cut(wide, scale + 1)
        half = pa.scalar(Decimal(5).scaleb(-scale - 1), pa.decimal256(MOST_DIGITS, scale + 1))
        half = pc.if_else(pc.less(pc.sign(wide), 0), pc.negate(half), half)
        wide = cut(pc.add(pc.cast(wide, pa.decimal256(_WIDEST - 1, scale + 1)), half), scale)
    return pc.cast(wide, pa.decimal256(_WIDEST, scale))


def cut(value: Datum, scale: int) -> Datum:
    """With fewer digits after the point, toward zero, in 76 digits."""
    while value.type.scale > scale:
        kept = max(scale, value.type.scale - _AT_ONCE)
        options = pc.CastOptions(pa.decimal256(_WIDEST, kept), allow_decimal_truncate=True)
        value = pc.cast(value, options=options)
    return value


def _moved(whole: Datum, where: Datum, by: str) -> Datum:
    step = pa.scalar(Decimal(by), pa.decimal256(MOST_DIGITS, 0))
    next_one = pc.cast(pc.add(pc.cast(whole, pa.decimal256(_WIDEST - 1, 0)), step), whole.type)
    return pc.if_else(where, next_one, whole)


def _wide(value: Datum) -> Datum:
    return pc.cast(value, pa.decimal256(value.type.precision, value.type.scale))


def _widest(value: Datum) -> Datum:
    return pc.cast(value, pa.decimal256(_WIDEST, value.type.scale))
