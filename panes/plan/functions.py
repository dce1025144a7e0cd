"""The one table of scalar functions and operators.

A function is in the table only when Spark, Arrow kernels and DuckDB can give the same result for it. Every
evaluator knows every name here, and a test says so. What is the same for all:

* NULL in, NULL out, unless the meaning says otherwise;
* arguments arrive in exactly the types that `typing` asks for: the binder has put the casts in;
* integer arithmetic is done in BIGINT (INT + INT is a BIGINT), and a result beyond 64 bits is an error;
* arguments listed in `constants` are literals, and not NULL;
* time is UTC.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
    INTERVAL,
    MOST_DIGITS,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    Type,
    as_decimal,
    decimal,
    list_of,
    wider,
)


class WrongTypes(ValueError):
    """A function does not take these arguments: the message says what it takes."""


@dataclass(frozen=True)
class Signature:
    """What the arguments must be cast to, and what comes out."""

    args: tuple[Type, ...]
    result: Type


Typing = Callable[[tuple[Type, ...]], Signature]


@dataclass(frozen=True)
class Function:
    """One scalar function: `least` to `most` arguments (`most` None: any number)."""

    name: str
    least: int
    most: int | None
    typing: Typing
    meaning: str
    constants: tuple[int, ...] = ()
    symbol: str | None = None
    """How it is written when it is an operator; such names cannot be called as functions."""

    def signature(self, args: Sequence[Type]) -> Signature:
        """The types for these arguments; WrongTypes when there is none."""
        count = len(args)
        if count < self.least or (self.most is not None and count > self.most):
            raise WrongTypes(f"takes {self._arity()}, not {count}")
        return self.typing(tuple(args))

    def _arity(self) -> str:
        if self.most is None:
            return f"at least {self.least} argument{'s' * (self.least != 1)}"
        if self.least == self.most:
            return f"{self.least} argument{'s' * (self.least != 1)}"
        return f"{self.least} to {self.most} arguments"


def _fixed(*wanted: Type, result: Type) -> Typing:
    """Every argument has one type that it is silently cast to."""

    def typing(args: tuple[Type, ...]) -> Signature:
        for place, (have, want) in enumerate(zip(args, wanted, strict=False), start=1):
            if wider(have, want) != want:
                raise WrongTypes(f"takes {want} as argument {place}, not {have}")
        return Signature(wanted[: len(args)], result)

    return typing


def _common(args: Sequence[Type]) -> Type:
    common: Type = NULL
    for have in args:
        both = wider(common, have)
        if both is None:
            raise WrongTypes(f"cannot bring {common} and {have} to one type")
        common = both
    return common


def _comparison(args: tuple[Type, ...]) -> Signature:
    common = _common(args)
    if common.is_nested:
        raise WrongTypes(f"cannot compare {common}")
    return Signature((common,) * len(args), BOOLEAN)


def _same(args: tuple[Type, ...]) -> Signature:
    common = _common(args)
    return Signature((common,) * len(args), common)


def _nullif(args: tuple[Type, ...]) -> Signature:
    _comparison(args)
    return _same(args)


def _boolean(args: tuple[Type, ...]) -> Signature:
    for have in args:
        if have not in (BOOLEAN, NULL):
            raise WrongTypes(f"takes conditions, not {have}")
    return Signature((BOOLEAN,) * len(args), BOOLEAN)


def _any(args: tuple[Type, ...]) -> Signature:
    return Signature(args, BOOLEAN)


def numeric(have: Type) -> Type:
    """BIGINT for integers, DOUBLE for FLOAT and DOUBLE, a DECIMAL as it is: the types arithmetic is done in."""
    if have == NULL:
        return BIGINT
    if not have.is_numeric:
        raise WrongTypes(f"takes numbers, not {have}")
    return BIGINT if have.is_integer else have if have.is_decimal else DOUBLE


def _number(args: tuple[Type, ...]) -> Signature:
    return Signature((number := numeric(args[0]),), number)


def _sum(args: tuple[Type, ...]) -> Signature:
    decimals = _decimals(args)
    if decimals is None:
        return _arithmetic(args)
    left, right = decimals
    common = wider(left, right)
    assert common is not None
    return Signature((left, right), decimal(min(common.precision + 1, MOST_DIGITS), common.scale))


def _product(args: tuple[Type, ...]) -> Signature:
    decimals = _decimals(args)
    if decimals is None:
        return _arithmetic(args)
    left, right = decimals
    scale = left.scale + right.scale
    if scale > MOST_DIGITS:
        raise WrongTypes(f"of {left} and {right} has {scale} digits after the point; cast them to fewer")
    return Signature((left, right), decimal(min(left.precision + right.precision, MOST_DIGITS), scale))


def _decimals(args: Sequence[Type]) -> tuple[Type, Type] | None:
    """The types in which two numbers are calculated with as DECIMALs; None when they are not."""
    left, right = map(numeric, args)
    if DOUBLE in (left, right) or not (left.is_decimal or right.is_decimal):
        return None
    # Integers keep their own width: that of the result follows from it.
    left, right = (
        as_decimal(number if have == NULL else have) for have, number in zip(args, (left, right), strict=True)
    )
    digits = max(left.precision - left.scale, right.precision - right.scale) + max(left.scale, right.scale)
    if max(digits, left.precision + right.precision) >= 2 * MOST_DIGITS:
        raise WrongTypes(f"of {left} and {right} has too many digits; cast one of them to fewer")
    return left, right


def _arithmetic(args: tuple[Type, ...]) -> Signature:
    common = _common([numeric(have) for have in args])
    return Signature((common,) * len(args), common)


def _whole(args: tuple[Type, ...]) -> Signature:
    """Rounding may give one more digit before the point."""
    number = numeric(args[0])
    if not number.is_decimal:
        return Signature((number,), number)
    return Signature((number,), decimal(min(number.precision - number.scale + 1, MOST_DIGITS), 0))


def _sign(args: tuple[Type, ...]) -> Signature:
    number = numeric(args[0])
    return Signature((number,), BIGINT if number.is_decimal else number)


def _add(args: tuple[Type, ...]) -> Signature:
    left, right = args
    if INTERVAL in args:
        other = left if right == INTERVAL else right
        if other in (INTERVAL, NULL):
            return Signature((INTERVAL, INTERVAL), INTERVAL)
        if other in (DATE, TIMESTAMP):
            wanted = (TIMESTAMP, INTERVAL) if right == INTERVAL else (INTERVAL, TIMESTAMP)
            return Signature(wanted, TIMESTAMP)
    if {left, right} & {DATE, TIMESTAMP, INTERVAL}:
        raise WrongTypes(f"takes numbers, or a TIMESTAMP and an INTERVAL, not {left} and {right}")
    return _sum(args)


def _subtract(args: tuple[Type, ...]) -> Signature:
    left, right = args
    if right == INTERVAL and left in (DATE, TIMESTAMP):
        return Signature((TIMESTAMP, INTERVAL), TIMESTAMP)
    if left in (INTERVAL, NULL) and right == INTERVAL:
        return Signature((INTERVAL, INTERVAL), INTERVAL)
    if left in (DATE, TIMESTAMP) and right in (DATE, TIMESTAMP):
        return Signature((TIMESTAMP, TIMESTAMP), INTERVAL)
    if {left, right} & {DATE, TIMESTAMP, INTERVAL}:
        raise WrongTypes(f"takes numbers, TIMESTAMPs or INTERVALs, not {left} and {right}")
    return _sum(args)


def _integers(args: tuple[Type, ...]) -> Signature:
    for have in args:
        if have != NULL and not have.is_integer:
            raise WrongTypes(f"takes integers, not {have}")
    return Signature((BIGINT,) * len(args), BIGINT)


def _negate(args: tuple[Type, ...]) -> Signature:
    return Signature(args, args[0]) if args[0] == INTERVAL else _number(args)


def _date_part(args: tuple[Type, ...]) -> Signature:
    if args[0] not in (DATE, TIMESTAMP, NULL):
        raise WrongTypes(f"takes a DATE or TIMESTAMP, not {args[0]}")
    return Signature((TIMESTAMP,), BIGINT)


def _date_trunc(args: tuple[Type, ...]) -> Signature:
    if args[0] != STRING or args[1] not in (DATE, TIMESTAMP, NULL):
        raise WrongTypes(f"takes a unit and a TIMESTAMP, not {args[0]} and {args[1]}")
    return Signature((STRING, TIMESTAMP), TIMESTAMP)


def _strings(args: tuple[Type, ...]) -> Signature:
    for have in args:
        if have not in (STRING, NULL):
            raise WrongTypes(f"takes STRINGs, not {have}; write CAST(… AS STRING)")
    return Signature((STRING,) * len(args), STRING)


def _length(args: tuple[Type, ...]) -> Signature:
    if args[0] not in (STRING, BINARY, NULL):
        raise WrongTypes(f"takes a STRING or BINARY, not {args[0]}")
    return Signature((STRING if args[0] == NULL else args[0],), BIGINT)


def _list(have: Type) -> Type:
    if have.item is None:
        raise WrongTypes(f"takes a list, not {have}")
    return have


def _array(args: tuple[Type, ...]) -> Signature:
    common = _common(args)
    item = BIGINT if common == NULL else common
    return Signature((item,) * len(args), list_of(item))


def _element(args: tuple[Type, ...]) -> Signature:
    item = _list(args[0]).item
    assert item is not None
    if wider(args[1], BIGINT) != BIGINT:
        raise WrongTypes(f"takes an integer as the place, not {args[1]}")
    return Signature((args[0], BIGINT), item)


def _cardinality(args: tuple[Type, ...]) -> Signature:
    return Signature((_list(args[0]),), BIGINT)


def _array_contains(args: tuple[Type, ...]) -> Signature:
    item = _list(args[0]).item
    assert item is not None
    if item.is_nested or wider(item, args[1]) != item:
        raise WrongTypes(f"looks for {item} in {args[0]}, not for {args[1]}")
    return Signature((args[0], item), BOOLEAN)


def _day_of(args: tuple[Type, ...]) -> Signature:
    _date_part(args)
    return Signature((TIMESTAMP,), DATE)


def _named(args: tuple[Type, ...]) -> Signature:
    _date_part(args)
    return Signature((TIMESTAMP,), STRING)


def _strftime(args: tuple[Type, ...]) -> Signature:
    if args[0] not in (DATE, TIMESTAMP, NULL) or args[1] != STRING:
        raise WrongTypes(f"takes a TIMESTAMP and a format, not {args[0]} and {args[1]}")
    return Signature((TIMESTAMP, STRING), STRING)


def _seconds(args: tuple[Type, ...]) -> Signature:
    _date_part(args)
    return Signature((TIMESTAMP,), DOUBLE)


def _date_diff(args: tuple[Type, ...]) -> Signature:
    if args[0] != STRING or {*args[1:]} - {DATE, TIMESTAMP, NULL}:
        raise WrongTypes(f"takes a unit and two TIMESTAMPs, not {', '.join(map(str, args))}")
    return Signature((STRING, TIMESTAMP, TIMESTAMP), BIGINT)


def _make_date(args: tuple[Type, ...]) -> Signature:
    return Signature(_integers(args).args, DATE)


def _round(args: tuple[Type, ...]) -> Signature:
    return _whole(args) if len(args) == 1 else _fixed(DOUBLE, BIGINT, result=DOUBLE)(args)


DIFF_UNITS = ("microsecond", "millisecond", "second", "minute", "hour", "day", "month", "quarter", "year")

FORMATS = "YmdHMSjabABIpy%"
"""What may stand after % in the format of strftime."""

TRUNC_UNITS = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")

_TEXT = _fixed(STRING, result=STRING)
_TEXT_TEST = _fixed(STRING, STRING, result=BOOLEAN)
_REAL = _fixed(DOUBLE, result=DOUBLE)
_PADDED = _fixed(STRING, BIGINT, STRING, result=STRING)
_TRIMMED = _fixed(STRING, STRING, result=STRING)
_TRIMMING = "without the spaces, or the characters of a constant text,"
_PADDING = "cut to a constant number of characters, or filled up with a constant character"

_ALL = (
    # comparison and logic
    Function("eq", 2, 2, _comparison, "equal; strings by code point, false before true", symbol="="),
    Function("ne", 2, 2, _comparison, "not equal", symbol="<>"),
    Function("lt", 2, 2, _comparison, "less than", symbol="<"),
    Function("le", 2, 2, _comparison, "less than or equal", symbol="<="),
    Function("gt", 2, 2, _comparison, "greater than", symbol=">"),
    Function("ge", 2, 2, _comparison, "greater than or equal", symbol=">="),
    Function("and", 2, 2, _boolean, "both; FALSE AND NULL is FALSE", symbol="AND"),
    Function("or", 2, 2, _boolean, "either; TRUE OR NULL is TRUE", symbol="OR"),
    Function("not", 1, 1, _boolean, "the opposite", symbol="NOT"),
    Function("is_null", 1, 1, _any, "whether it is NULL; never NULL itself", symbol="IS NULL"),
    Function("is_not_null", 1, 1, _any, "whether it is not NULL; never NULL itself", symbol="IS NOT NULL"),
    Function(
        "is_distinct", 2, 2, _comparison, "not equal, where NULL equals NULL; never NULL itself",
        symbol="IS DISTINCT FROM",
    ),
    Function(
        "is_not_distinct", 2, 2, _comparison, "equal, where NULL equals NULL; never NULL itself",
        symbol="IS NOT DISTINCT FROM",
    ),
    Function(
        "in", 2, None, _comparison,
        "the first equals one of the others; NULL when none does and one of them is NULL", symbol="IN",
    ),
    Function(
        "like", 2, 2, _TEXT_TEST,
        "matches a whole constant pattern: % is any text, _ any one character, there is no escape",
        constants=(1,), symbol="LIKE",
    ),
    Function(
        "ilike", 2, 2, _TEXT_TEST, "the same as LIKE, with both in lower case", constants=(1,), symbol="ILIKE"
    ),
    # arithmetic
    Function("add", 2, 2, _add, "sum; TIMESTAMP + INTERVAL is a TIMESTAMP", symbol="+"),
    Function("subtract", 2, 2, _subtract, "difference; of two TIMESTAMPs it is an INTERVAL", symbol="-"),
    Function("multiply", 2, 2, _product, "product", symbol="*"),
    Function(
        "divide", 2, 2, _fixed(DOUBLE, DOUBLE, result=DOUBLE),
        "quotient, always a DOUBLE; NULL when the divisor is zero", symbol="/",
    ),
    Function(
        "modulo", 2, 2, _integers,
        "remainder of integers with the sign of the dividend; NULL when the divisor is zero", symbol="%",
    ),
    Function("negate", 1, 1, _negate, "minus the number or the INTERVAL", symbol="-"),
    Function("abs", 1, 1, _number, "absolute value"),
    Function("sign", 1, 1, _sign, "-1, 0 or 1, in the type of the argument; of a DECIMAL a BIGINT"),
    Function("ceil", 1, 1, _whole, "the least whole number not below; a DOUBLE stays a DOUBLE"),
    Function("floor", 1, 1, _whole, "the greatest whole number not above; a DOUBLE stays a DOUBLE"),
    Function(
        "round", 1, 2, _round,
        "the nearest whole number, halves away from 0; or a DOUBLE with a constant number of places",
        constants=(1,),
    ),
    Function("trunc", 1, 1, _whole, "without the fraction, toward zero; a DOUBLE stays a DOUBLE"),
    Function("isnan", 1, 1, _fixed(DOUBLE, result=BOOLEAN), "whether it is not a number"),
    Function("sqrt", 1, 1, _REAL, "square root; NULL below zero"),
    Function("ln", 1, 1, _REAL, "natural logarithm; NULL at zero and below"),
    Function("log10", 1, 1, _REAL, "logarithm to the base of 10; NULL at zero and below"),
    Function("log2", 1, 1, _REAL, "logarithm to the base of 2; NULL at zero and below"),
    Function("exp", 1, 1, _REAL, "e to the power of the argument"),
    Function("power", 2, 2, _fixed(DOUBLE, DOUBLE, result=DOUBLE), "the first to the power of the second"),
    Function("cbrt", 1, 1, _REAL, "cube root"),
    Function("sin", 1, 1, _REAL, "sine of an angle in radians"),
    Function("cos", 1, 1, _REAL, "cosine of an angle in radians"),
    Function("tan", 1, 1, _REAL, "tangent of an angle in radians"),
    Function("asin", 1, 1, _REAL, "the angle with this sine; NULL below -1 and above 1"),
    Function("acos", 1, 1, _REAL, "the angle with this cosine; NULL below -1 and above 1"),
    Function("atan", 1, 1, _REAL, "the angle with this tangent"),
    Function("atan2", 2, 2, _fixed(DOUBLE, DOUBLE, result=DOUBLE), "the angle of the point (second, first)"),
    Function("degrees", 1, 1, _REAL, "an angle in degrees, from one in radians"),
    Function("radians", 1, 1, _REAL, "an angle in radians, from one in degrees"),
    Function("isfinite", 1, 1, _fixed(DOUBLE, result=BOOLEAN), "whether it is neither infinite nor NaN"),
    Function("isinf", 1, 1, _fixed(DOUBLE, result=BOOLEAN), "whether it is infinite"),
    # choice
    Function("coalesce", 1, None, _same, "the first argument that is not NULL"),
    Function("nullif", 2, 2, _nullif, "NULL when the two are equal, else the first"),
    Function("greatest", 1, None, _same, "the greatest of the arguments that are not NULL"),
    Function("least", 1, None, _same, "the least of the arguments that are not NULL"),
    # strings; positions and lengths count characters, not bytes
    Function("upper", 1, 1, _TEXT, "in upper case"),
    Function("lower", 1, 1, _TEXT, "in lower case"),
    Function("length", 1, 1, _length, "number of characters; of BINARY, of bytes"),
    Function("trim", 1, 2, _TRIMMED, f"{_TRIMMING} at both ends", constants=(1,)),
    Function("ltrim", 1, 2, _TRIMMED, f"{_TRIMMING} in front", constants=(1,)),
    Function("rtrim", 1, 2, _TRIMMED, f"{_TRIMMING} at the end", constants=(1,)),
    Function(
        "substring", 2, 3, _fixed(STRING, BIGINT, BIGINT, result=STRING),
        "from a constant position (the first is 1), to the end or for a constant number of characters",
        constants=(1, 2),
    ),
    Function(
        "left", 2, 2, _fixed(STRING, BIGINT, result=STRING),
        "the first characters, a constant number of them", constants=(1,),
    ),
    Function(
        "right", 2, 2, _fixed(STRING, BIGINT, result=STRING),
        "the last characters, a constant number of them", constants=(1,),
    ),
    Function("lpad", 3, 3, _PADDED, f"{_PADDING} in front", constants=(1, 2)),
    Function("rpad", 3, 3, _PADDED, f"{_PADDING} at the end", constants=(1, 2)),
    Function(
        "strpos", 2, 2, _fixed(STRING, STRING, result=BIGINT),
        "the position of the first occurrence of a constant text (the first is 1), 0 when there is none",
        constants=(1,),
    ),
    Function(
        "concat_ws", 2, None, _strings,
        "one after the other with the first, a constant, between them; a NULL is left out", constants=(0,),
    ),
    Function("concat", 2, None, _strings, "one after the other; NULL when one of them is NULL"),
    Function(
        "replace", 3, 3, _fixed(STRING, STRING, STRING, result=STRING),
        "every occurrence of a constant text, from the left, by another constant text", constants=(1, 2),
    ),
    Function("starts_with", 2, 2, _TEXT_TEST, "begins with a constant text", constants=(1,)),
    Function("ends_with", 2, 2, _TEXT_TEST, "ends with a constant text", constants=(1,)),
    Function("contains", 2, 2, _TEXT_TEST, "has a constant text somewhere inside", constants=(1,)),
    Function(
        "repeat", 2, 2, _fixed(STRING, BIGINT, result=STRING), "a constant number of times", constants=(1,)
    ),
    Function(
        "translate", 3, 3, _fixed(STRING, STRING, STRING, result=STRING),
        "the characters of a constant text by those of another, or by nothing where that is shorter",
        constants=(1, 2),
    ),
    Function(
        "split_part", 3, 3, _fixed(STRING, STRING, BIGINT, result=STRING),
        "the n-th part (from the end below 0) of a text that a constant text cuts; '' where there is none",
        constants=(1, 2),
    ),
    Function(
        "regexp_matches", 2, 2, _TEXT_TEST,
        "whether a constant regular expression (RE2) matches somewhere; also written ~", constants=(1,),
    ),
    Function(
        "regexp_full_match", 2, 2, _TEXT_TEST, "whether a constant regular expression matches the whole text",
        constants=(1,),
    ),
    Function(
        "regexp_replace", 3, 4, _fixed(STRING, STRING, STRING, STRING, result=STRING),
        "the first match of a regular expression, with 'g' every one, by a text that may name its groups",
        constants=(1, 2, 3),
    ),
    Function(
        "regexp_extract", 2, 3, _fixed(STRING, STRING, BIGINT, result=STRING),
        "the first match of a regular expression, or a group of it; '' where there is none",
        constants=(1, 2),
    ),
    # lists
    Function("array", 1, None, _array, "the list of these values, which have one type", symbol="[…]"),
    Function(
        "element", 2, 2, _element,
        "the item at a place: the first is 1, the last -1; NULL where there is none", symbol="x[i]",
    ),
    Function("cardinality", 1, 1, _cardinality, "number of items of a list"),
    Function("array_contains", 2, 2, _array_contains, "whether a list has an item that equals the second"),
    # time
    Function("year", 1, 1, _date_part, "the year, in UTC"),
    Function("quarter", 1, 1, _date_part, "the quarter of the year, 1 to 4"),
    Function("month", 1, 1, _date_part, "the month, 1 to 12"),
    Function("week", 1, 1, _date_part, "the week of ISO 8601, 1 to 53"),
    Function("dayofyear", 1, 1, _date_part, "the day of the year, 1 to 366"),
    Function("isodow", 1, 1, _date_part, "the day of the week, from 1 for Monday to 7 for Sunday"),
    Function("day", 1, 1, _date_part, "the day of the month, 1 to 31"),
    Function("hour", 1, 1, _date_part, "the hour, 0 to 23"),
    Function("minute", 1, 1, _date_part, "the minute, 0 to 59"),
    Function("second", 1, 1, _date_part, "the whole second, 0 to 59"),
    Function(
        "date_trunc", 2, 2, _date_trunc,
        f"the start of the unit it lies in, a constant of {', '.join(TRUNC_UNITS)} (weeks from Monday)",
        constants=(0,),
    ),
    Function("isoyear", 1, 1, _date_part, "the year that the week of ISO 8601 belongs to"),
    Function(
        "date_diff", 3, 3, _date_diff,
        f"how many boundaries of a unit lie between two instants, a constant of {', '.join(DIFF_UNITS)}",
        constants=(0,),
    ),
    Function("last_day", 1, 1, _day_of, "the last day of the month, a DATE"),
    Function("dayname", 1, 1, _named, "the name of the day of the week, such as Monday"),
    Function("monthname", 1, 1, _named, "the name of the month, such as January"),
    Function(
        "strftime", 2, 2, _strftime,
        f"as text in a constant format of {' '.join('%' + c for c in FORMATS)}", constants=(1,),
    ),
    Function("epoch", 1, 1, _seconds, "seconds since 1970, a DOUBLE"),
    Function("epoch_ms", 1, 1, _date_part, "whole milliseconds since 1970"),
    Function("epoch_us", 1, 1, _date_part, "microseconds since 1970"),
    Function(
        "to_timestamp", 1, 1, _fixed(DOUBLE, result=TIMESTAMP), "the instant so far from 1970, in seconds"
    ),
    Function(
        "make_timestamp", 1, 1, _fixed(BIGINT, result=TIMESTAMP), "the instant so far from 1970, in microseconds"
    ),
    Function("make_date", 3, 3, _make_date, "the day of a year, month and day; NULL when there is none"),
)  # fmt: skip

DATE_PARTS = (
    "year", "quarter", "month", "week", "dayofyear", "doy", "isodow", "day", "hour", "minute", "second"
)  # fmt: skip
"""What `extract(part FROM x)` and `date_part('part', x)` take: functions, or other names of some."""

FUNCTIONS: dict[str, Function] = {function.name: function for function in _ALL}

ALIASES = {
    "ceiling": "ceil", "pow": "power", "substr": "substring", "char_length": "length", "instr": "strpos",
    "truncate": "trunc", "weekofyear": "week", "doy": "dayofyear", "ifnull": "coalesce", "nvl": "coalesce",
    "character_length": "length", "len": "length", "lcase": "lower", "ucase": "upper",
    "startswith": "starts_with", "endswith": "ends_with", "btrim": "trim", "datediff": "date_diff",
    "regexp_like": "regexp_matches", "regexp": "regexp_matches", "format_date": "strftime",
    "array_length": "cardinality", "list_contains": "array_contains",
}  # fmt: skip
"""Other names under which users may know a function."""

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
    (BINARY, STRING): "the text that the bytes are in UTF-8; an error when they are none",
    (TIMESTAMP, DATE): "the day in UTC",
    **{(STRING, t): _DIGITS_OR_NULL for t in _INTEGERS},
    **{(STRING, t): _REAL_OR_NULL for t in _FLOATING},
    (STRING, DECIMAL): _DECIMAL_OR_NULL,
    (STRING, BINARY): "its bytes in UTF-8",
    **{(NULL, target): "NULL" for target in COLUMN_TYPES},
}
"""Every cast an evaluator must know, by families of types, and what it does. NULL stays NULL.

Strings become DATE and TIMESTAMP only as constants, which the binder reads itself.
"""


def can_cast(source: Type, target: Type) -> bool:
    """Whether there is a cast between two different types."""
    return (source.family, target.family) in CASTS
