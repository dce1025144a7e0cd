"""Comparisons. Of doubles, NaN equals NaN and is greater than all numbers, as Spark and DuckDB have it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Datum = Any


def equal(left: Datum, right: Datum) -> Datum:
    same = pc.equal(left, right)
    if pa.types.is_floating(left.type):
        same = pc.or_(same, pc.and_(pc.is_nan(left), pc.is_nan(right)))
    return same


def less(left: Datum, right: Datum) -> Datum:
    if pa.types.is_boolean(left.type):
        return pc.and_(pc.invert(left), right)
    before = pc.less(left, right)
    if pa.types.is_floating(left.type):
        before = pc.or_(before, pc.and_(pc.invert(pc.is_nan(left)), pc.is_nan(right)))
    return before


def not_equal(left: Datum, right: Datum) -> Datum:
    return pc.invert(equal(left, right))


def less_equal(left: Datum, right: Datum) -> Datum:
    return pc.invert(less(right, left))


def greater(left: Datum, right: Datum) -> Datum:
    return less(right, left)


def greater_equal(left: Datum, right: Datum) -> Datum:
    return pc.invert(less(left, right))


def is_not_distinct(left: Datum, right: Datum) -> Datum:
    return pc.coalesce(equal(left, right), pc.and_(pc.is_null(left), pc.is_null(right)))


def is_distinct(left: Datum, right: Datum) -> Datum:
    return pc.invert(is_not_distinct(left, right))


def is_in(value: Datum, *options: Datum) -> Datum:
    """TRUE when an option equals the value; else NULL when there is a NULL among them; else FALSE.

    Options are columns and scalars, or one scalar that is the list of all.
    """
    if isinstance(options[0], pa.ListScalar):
        return _is_among(value, options[0].values)
    found: Datum = pa.scalar(False)
    for option in options:
        found = pc.or_kleene(found, equal(value, option))
    return found


def _is_among(value: Datum, options: pa.Array) -> Datum:
    """By a table of hashes, in which NaN equals NaN, but zeros with different signs are different."""
    if pa.types.is_floating(value.type):
        value, options = pc.add(value, _zero(value.type)), pc.add(options, _zero(options.type))
    found = pc.if_else(pc.is_valid(value), pc.is_in(value, options.drop_null()), pa.scalar(None, pa.bool_()))
    return found if options.null_count == 0 else pc.or_kleene(found, pa.scalar(None, pa.bool_()))


def _zero(type_: pa.DataType) -> pa.Scalar:
    return pa.scalar(0.0, type_)


def null_if(value: Datum, other: Datum) -> Datum:
    same = pc.fill_null(equal(value, other), False)
    return pc.if_else(same, pa.scalar(None, value.type), value)


def greatest(*values: Datum) -> Datum:
    return _extreme(less, *values)


def least(*values: Datum) -> Datum:
    return _extreme(greater, *values)


def _extreme(is_worse: Any, *values: Datum) -> Datum:
    best, *rest = values
    for value in rest:
        # An unknown comparison means that one of them is NULL, and then the other is taken.
        worse = pc.coalesce(is_worse(best, value), pc.is_null(best))
        best = pc.if_else(worse, value, best)
    return best
