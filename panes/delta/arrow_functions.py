"""What each scalar function of `plan/functions.py` does to Arrow columns.

A kernel takes the type of the result and the arguments: arrays, or scalars where they are constants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from panes.delta import (
    calendar_functions,
    comparison,
    decimals,
    json_texts,
    lists,
    real_functions,
    regular_expressions,
    strings,
)
from panes.plan.time_zone import time_zone
from panes.plan.types import Type

Datum = Any
Kernel = Callable[..., Datum]


def divide(left: Datum, right: Datum) -> Datum:
    return pc.divide(left, _null_where(pc.equal(right, 0.0), right))


def modulo(left: Datum, right: Datum) -> Datum:
    """The quotient is cut toward zero, so the remainder has the sign of the dividend."""
    right = _null_where(pc.equal(right, 0), right)
    right = pc.if_else(pc.equal(right, -1), 1, right)  # the least integer has no quotient by -1
    return pc.subtract(left, pc.multiply(pc.divide(left, right), right))


def whole_quotient(left: Datum, right: Datum) -> Datum:
    return pc.divide_checked(left, _null_where(pc.equal(right, 0), right))


def negate(value: Datum) -> Datum:
    if pa.types.is_duration(value.type):
        return pc.cast(pc.negate_checked(pc.cast(value, pa.int64())), value.type)
    return pc.negate_checked(value)


def add(left: Datum, right: Datum) -> Datum:
    if pa.types.is_duration(left.type) and pa.types.is_timestamp(right.type):
        left, right = right, left
    return pc.add_checked(left, right)


def round_half_away(value: Datum, places: pa.Scalar | None = None) -> Datum:
    if places is not None:
        return real_functions.round_to(value, places)
    return pc.round(value, round_mode="half_towards_infinity")


def square_root(value: Datum) -> Datum:
    return pc.sqrt(_null_where(pc.less(value, 0.0), value))


def natural_logarithm(value: Datum) -> Datum:
    return pc.ln(_null_where(pc.less_equal(value, 0.0), value))


def common_logarithm(value: Datum) -> Datum:
    return pc.log10(_null_where(pc.less_equal(value, 0.0), value))


def binary_logarithm(value: Datum) -> Datum:
    return pc.log2(_null_where(pc.less_equal(value, 0.0), value))


def day_of_week(value: Datum) -> Datum:
    return pc.day_of_week(value, count_from_zero=False, week_start=1)


def date_trunc(unit: pa.Scalar, value: Datum) -> Datum:
    whole = pc.floor_temporal(_naive(value), unit=unit.as_py(), week_starts_monday=True)
    return pc.cast(whole, value.type)


def at_time_zone(value: Datum, zone: pa.Scalar) -> Datum:
    if isinstance(value, pa.Scalar):
        return at_time_zone(pa.repeat(value, 1), zone)[0]
    instants = pc.cast(value, pa.int64())
    ahead = time_zone(zone.as_py()).ahead_at(pc.fill_null(instants, 0).to_numpy())
    return pc.cast(pc.add_checked(instants, pa.array(ahead)), value.type)


def _null_where(condition: Datum, value: Datum) -> Datum:
    return pc.if_else(pc.fill_null(condition, False), pa.scalar(None, value.type), value)


def _naive(value: Datum) -> Datum:
    """Without the time zone, which is UTC: fields can then be read without a data base of zones."""
    return pc.cast(value, pa.timestamp("us"))


def _plain(function: Callable[..., Datum]) -> Kernel:
    """A kernel whose result has the right type by itself."""
    return lambda _type, *args: function(*args)


def _typed(function: Callable[..., Datum]) -> Kernel:
    """A kernel whose result is brought to the type of the call."""

    def kernel(type_: Type, *args: Datum) -> Datum:
        return pc.cast(function(*args), type_.arrow)

    return kernel


def _calculation(function: Callable[..., Datum]) -> Kernel:
    """A kernel over two numbers, which may be DECIMALs."""

    def kernel(type_: Type, left: Datum, right: Datum) -> Datum:
        if type_.is_decimal:
            return decimals.calculated(function, type_, left, right)
        return function(left, right)

    return kernel


def _whole(function: Callable[..., Datum], of_decimals: Callable[[Datum], Datum]) -> Kernel:
    """A kernel that leaves integers as they are."""

    def kernel(type_: Type, value: Datum, *constants: pa.Scalar) -> Datum:
        if type_.is_decimal:
            return pc.cast(of_decimals(value), type_.arrow)
        return value if pa.types.is_integer(value.type) else function(value, *constants)

    return kernel


def _field(function: Callable[..., Datum]) -> Kernel:
    """A kernel that reads a field of an instant."""
    return lambda type_, value: pc.cast(function(_naive(value)), type_.arrow)


KERNELS: Mapping[str, Kernel] = {
    "eq": _plain(comparison.equal),
    "ne": _plain(comparison.not_equal),
    "lt": _plain(comparison.less),
    "le": _plain(comparison.less_equal),
    "gt": _plain(comparison.greater),
    "ge": _plain(comparison.greater_equal),
    "and": _plain(pc.and_kleene),
    "or": _plain(pc.or_kleene),
    "not": _plain(pc.invert),
    "is_null": _plain(pc.is_null),
    "is_not_null": _plain(pc.is_valid),
    "is_distinct": _plain(comparison.is_distinct),
    "is_not_distinct": _plain(comparison.is_not_distinct),
    "in": _plain(comparison.is_in),
    "like": _plain(strings.like),
    "ilike": _plain(strings.ilike),
    "add": _calculation(add),
    "subtract": _calculation(pc.subtract_checked),
    "multiply": _calculation(pc.multiply_checked),
    "divide": _plain(divide),
    "modulo": _plain(modulo),
    "div": _plain(whole_quotient),
    "negate": _plain(negate),
    "abs": _plain(pc.abs_checked),
    "sign": _typed(pc.sign),
    "ceil": _whole(pc.ceil, decimals.ceiling),
    "floor": _whole(pc.floor, decimals.floor),
    "round": _whole(round_half_away, decimals.rounded),
    "trunc": _whole(pc.trunc, decimals.truncated),
    "isnan": _plain(pc.is_nan),
    "sqrt": _plain(square_root),
    "ln": _plain(natural_logarithm),
    "log10": _plain(common_logarithm),
    "log2": _plain(binary_logarithm),
    "exp": _plain(pc.exp),
    "power": _plain(pc.power),
    "cbrt": _plain(real_functions.cube_root),
    "sin": _plain(pc.sin),
    "cos": _plain(pc.cos),
    "tan": _plain(pc.tan),
    "asin": _plain(real_functions.within(-1.0, 1.0, pc.asin)),
    "acos": _plain(real_functions.within(-1.0, 1.0, pc.acos)),
    "atan": _plain(pc.atan),
    "atan2": _plain(pc.atan2),
    "degrees": _plain(real_functions.degrees),
    "radians": _plain(real_functions.radians),
    "isfinite": _plain(pc.is_finite),
    "isinf": _plain(pc.is_inf),
    "coalesce": _plain(pc.coalesce),
    "nullif": _plain(comparison.null_if),
    "greatest": _plain(comparison.greatest),
    "least": _plain(comparison.least),
    "upper": _plain(pc.utf8_upper),
    "lower": _plain(pc.utf8_lower),
    "length": _plain(strings.length),
    "trim": _plain(strings.trim),
    "ltrim": _plain(strings.trim_front),
    "rtrim": _plain(strings.trim_end),
    "substring": _plain(strings.substring),
    "left": _plain(strings.left),
    "right": _plain(strings.right),
    "lpad": _plain(strings.pad_front),
    "rpad": _plain(strings.pad_end),
    "strpos": _plain(strings.position),
    "concat_ws": _plain(strings.concat_with),
    "concat": _plain(strings.concat),
    "replace": _plain(strings.replace),
    "starts_with": _plain(strings.starts_with),
    "ends_with": _plain(strings.ends_with),
    "contains": _plain(strings.contains),
    "repeat": _plain(strings.repeat),
    "translate": _plain(strings.translate),
    "split_part": _plain(strings.split_part),
    "string_split": _plain(strings.split),
    "substring_index": _plain(strings.substring_index),
    "json_extract": _plain(json_texts.extract),
    "json_extract_string": _plain(json_texts.extract_string),
    "regexp_matches": _plain(regular_expressions.matches),
    "regexp_full_match": _plain(regular_expressions.full_match),
    "regexp_replace": _plain(regular_expressions.replace),
    "regexp_extract": _plain(regular_expressions.extract),
    "array": lists.array,
    "element": _plain(lists.element),
    "cardinality": _plain(lists.cardinality),
    "array_contains": _plain(lists.array_contains),
    "at_time_zone": _plain(at_time_zone),
    "year": _field(pc.year),
    "quarter": _field(pc.quarter),
    "month": _field(pc.month),
    "week": _field(pc.iso_week),
    "dayofyear": _field(pc.day_of_year),
    "isodow": _field(day_of_week),
    "day": _field(pc.day),
    "hour": _field(pc.hour),
    "minute": _field(pc.minute),
    "second": _field(pc.second),
    "date_trunc": _plain(date_trunc),
    "isoyear": _field(pc.iso_year),
    "date_diff": _plain(calendar_functions.date_diff),
    "last_day": _plain(calendar_functions.last_day),
    "dayname": _plain(calendar_functions.day_name),
    "monthname": _plain(calendar_functions.month_name),
    "strftime": _plain(calendar_functions.formatted),
    "epoch": _plain(calendar_functions.seconds),
    "epoch_ms": _plain(calendar_functions.milliseconds),
    "epoch_us": _plain(calendar_functions.microseconds),
    "to_timestamp": _plain(calendar_functions.from_seconds),
    "make_timestamp": _plain(calendar_functions.from_microseconds),
    "make_date": _plain(calendar_functions.make_date),
}
