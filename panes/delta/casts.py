"""CAST over Arrow columns, as the table of casts in `plan/can_cast.py` says."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from panes.delta import calendar_texts, decimals
from panes.plan.types import BINARY, BOOLEAN, DATE, DOUBLE, FLOAT, NULL, STRING, TIMESTAMP, Type

Datum = Any

_INTEGER = r"\A *[+-]?[0-9]+ *\z"
_DOUBLE = r"\A *[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)? *\z"
_DIGITS = 38
"""As many as the widest decimal of Arrow has; longer numbers fit into no integer anyway."""


def cast(datum: Datum, source: Type, target: Type) -> Datum:
    """The values in the target type; ArrowInvalid when one does not fit."""
    if source == target:
        return datum
    if source == NULL:
        return pc.cast(datum, target.arrow)
    if source.is_decimal or target.is_decimal:
        return _decimal(datum, source, target)
    if source == STRING and target in (DATE, TIMESTAMP):
        return calendar_texts.read(datum, target)
    if source == TIMESTAMP and target == STRING:
        return calendar_texts.written(datum)
    if source == STRING and target != BINARY:
        return (
            _text_to_floating(datum, target) if target.is_floating else _text_to_integer(datum, target.arrow)
        )
    if source == DOUBLE and target == FLOAT:
        return _shorter(datum)
    if source.is_floating and target.is_integer:
        return pc.cast(pc.trunc(datum), target.arrow)
    if source == BOOLEAN and target.is_integer:
        return pc.cast(pc.cast(datum, pa.int8()), target.arrow)
    if source == TIMESTAMP and target == DATE:
        return pc.cast(pc.floor_temporal(pc.cast(datum, pa.timestamp("us")), unit="day"), target.arrow)
    if source == DATE and target == TIMESTAMP:
        return pc.cast(pc.cast(datum, pa.timestamp("us")), target.arrow)
    # An integer that a FLOAT or a DOUBLE does not hold becomes the nearest one that it does.
    return pc.cast(datum, options=pc.CastOptions(target.arrow, allow_float_truncate=True))


def _text_to_integer(text: Datum, target: pa.DataType) -> Datum:
    sign = pc.replace_substring_regex(text, r"^ *[+]?(-?)0*([0-9]+) *$", r"\1\2")
    digits = pc.utf8_length(sign)
    is_number = pc.and_(pc.match_substring_regex(text, _INTEGER), pc.less_equal(digits, _DIGITS))
    whole = pc.cast(_only_where(is_number, sign), pa.decimal128(_DIGITS, 0))
    bits = 8 * target.byte_width - 1
    low, high = (
        pa.scalar(bound).cast(pa.decimal128(_DIGITS, 0)) for bound in (-(1 << bits), (1 << bits) - 1)
    )
    fits = pc.and_(pc.greater_equal(whole, low), pc.less_equal(whole, high))
    return pc.cast(_only_where(fits, whole), target)


def _decimal(datum: Datum, source: Type, target: Type) -> Datum:
    if source.is_decimal and target.is_decimal:
        return decimals.rescaled(datum, target)
    if target.is_integer:
        return decimals.to_integers(datum, target)
    if target.is_floating:
        return decimals.to_floating(datum, target)
    if target == STRING:
        return decimals.to_text(datum)
    if source == STRING:
        return decimals.of_text(datum, target)
    return decimals.of_integers(datum, target) if source.is_integer else decimals.of_doubles(datum, target)


def _shorter(doubles: Datum) -> Datum:
    floats = pc.cast(doubles, FLOAT.arrow)
    if pc.any(pc.and_(pc.is_finite(doubles), pc.is_inf(floats))).as_py():
        raise pa.ArrowInvalid("a DOUBLE is out of the range of FLOAT")
    return floats


def _text_to_floating(text: Datum, target: Type) -> Datum:
    is_number = pc.match_substring_regex(text, _DOUBLE)
    number = pc.replace_substring_regex(text, r"^ *[+]?(.*?) *$", r"\1")
    return pc.cast(_only_where(is_number, number), target.arrow)


def _only_where(condition: Datum, value: Datum) -> Datum:
    return pc.if_else(pc.fill_null(condition, False), value, pa.scalar(None, value.type))
