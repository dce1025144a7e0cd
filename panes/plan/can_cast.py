"""The one table of casts, and whether there is one between two types."""

from __future__ import annotations

from panes.plan.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    COLUMN_TYPES,
    DATE,
    DECIMAL,
    DOUBLE,
    FLOAT,
    INT,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    Type,
)

_INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)
_FLOATING = (FLOAT, DOUBLE)
_FITS = "the same number; an error when it does not fit"
_CUT = "without the fraction, toward zero; an error when it does not fit"
_ROUNDED = "rounded, halves away from zero; an error when it does not fit"
_DIGITS_OR_NULL = "an optional sign and digits, spaces around ignored; anything else is NULL"
_REAL_OR_NULL = "digits with optional sign, point and exponent, spaces around ignored; else NULL"
_DECIMAL_OR_NULL = (
    "digits with optional sign and point, 38 at most on either side of it, spaces around ignored, rounded, halves "
    "away from zero; anything else, and what does not fit, is NULL"
)

_DAY = " *[0-9]{4}-[0-9]{2}-[0-9]{2}"
DAY_FORM = f"{_DAY} *"
"""The texts that are read as a DATE, as a regular expression."""
INSTANT_FORM = rf"{_DAY}([ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{{1,6}})?)?Z?)? *"
"""The texts that are read as a TIMESTAMP."""

CASTS: dict[tuple[Type, Type], str] = {
    **{(s, t): "the same number" for n, s in enumerate(_INTEGERS) for t in _INTEGERS[n + 1 :]},
    **{(s, t): _FITS for n, s in enumerate(_INTEGERS) for t in _INTEGERS[:n]},
    **{(s, FLOAT): "the nearest FLOAT; the same number up to 2^24" for s in _INTEGERS},
    **{(s, DOUBLE): "the same number" for s in (TINYINT, SMALLINT, INT, FLOAT)},
    (BIGINT, DOUBLE): "the nearest DOUBLE; the same number up to 2^53",
    (DOUBLE, FLOAT): "the nearest FLOAT; an error when it does not fit",
    **{(s, DECIMAL): _FITS for s in _INTEGERS},
    (DECIMAL, DECIMAL): _ROUNDED,
    **{(s, DECIMAL): f"times a power of ten, as a DOUBLE, {_ROUNDED} into 64 bits" for s in _FLOATING},
    **{(DECIMAL, t): f"the nearest {t}" for t in _FLOATING},
    (DATE, TIMESTAMP): "its midnight in UTC",
    **{(s, t): _CUT for s in (DECIMAL, *_FLOATING) for t in _INTEGERS},
    **{(BOOLEAN, t): "1 for TRUE, 0 for FALSE" for t in _INTEGERS},
    (BOOLEAN, STRING): "'true' or 'false'",
    **{(s, STRING): "decimal digits" for s in _INTEGERS},
    (DECIMAL, STRING): "decimal digits, with all digits after the point",
    (DATE, STRING): "YYYY-MM-DD",
    (
        TIMESTAMP,
        STRING,
    ): "YYYY-MM-DD hh:mm:ss in UTC, and the fraction of the second without zeros at its end",
    (STRING, DATE): "YYYY-MM-DD, spaces around ignored; anything else is NULL",
    (STRING, TIMESTAMP): "YYYY-MM-DD, or with hh:mm[:ss[.ffffff]][Z] after a space or T, in UTC; else NULL",
    (BINARY, STRING): "the text that the bytes are in UTF-8; an error when they are none",
    (TIMESTAMP, DATE): "the day in UTC",
    **{(STRING, t): _DIGITS_OR_NULL for t in _INTEGERS},
    **{(STRING, t): _REAL_OR_NULL for t in _FLOATING},
    (STRING, DECIMAL): _DECIMAL_OR_NULL,
    (STRING, BINARY): "its bytes in UTF-8",
    **{(NULL, target): "NULL" for target in COLUMN_TYPES},
}
"""Every cast an evaluator must know, by families of types, and what it does. NULL stays NULL."""


def can_cast(source: Type, target: Type) -> bool:
    """Whether there is a cast between two different types."""
    return (source.family, target.family) in CASTS
