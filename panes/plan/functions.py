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

from collections.abc import Sequence
from dataclasses import dataclass

from panes.plan.function_signatures import (
    Signature,
    Typing,
    WrongTypes,
    addition,
    anything,
    boundaries_between,
    comparison,
    conditions,
    date_of_parts,
    day_of,
    element_of,
    first_unless_equal,
    fixed,
    integers,
    item_in_list,
    items_of,
    length_of,
    list_of_items,
    name_in_time,
    negation,
    one_number,
    part_of_time,
    product,
    rounded,
    same_type,
    seconds_of,
    sign_of,
    start_of_unit,
    strings,
    subtraction,
    text_of_time,
    whole_number,
)
from panes.plan.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
)


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


DIFF_UNITS = ("microsecond", "millisecond", "second", "minute", "hour", "day", "month", "quarter", "year")

FORMATS = "YmdHMSjabABIpy%"
"""What may stand after % in the format of strftime."""

TRUNC_UNITS = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")

_TEXT = fixed(STRING, result=STRING)
_TEXT_TEST = fixed(STRING, STRING, result=BOOLEAN)
_JSON = fixed(STRING, STRING, result=STRING)
_REAL = fixed(DOUBLE, result=DOUBLE)
_PADDED = fixed(STRING, BIGINT, STRING, result=STRING)
_TRIMMED = fixed(STRING, STRING, result=STRING)
_TRIMMING = "without the spaces, or the characters of a constant text,"
_PADDING = "cut to a constant number of characters, or filled up with a constant character"

_ALL = (
    # comparison and logic
    Function("eq", 2, 2, comparison, "equal; strings by code point, false before true", symbol="="),
    Function("ne", 2, 2, comparison, "not equal", symbol="<>"),
    Function("lt", 2, 2, comparison, "less than", symbol="<"),
    Function("le", 2, 2, comparison, "less than or equal", symbol="<="),
    Function("gt", 2, 2, comparison, "greater than", symbol=">"),
    Function("ge", 2, 2, comparison, "greater than or equal", symbol=">="),
    Function("and", 2, 2, conditions, "both; FALSE AND NULL is FALSE", symbol="AND"),
    Function("or", 2, 2, conditions, "either; TRUE OR NULL is TRUE", symbol="OR"),
    Function("not", 1, 1, conditions, "the opposite", symbol="NOT"),
    Function("is_null", 1, 1, anything, "whether it is NULL; never NULL itself", symbol="IS NULL"),
    Function("is_not_null", 1, 1, anything, "whether it is not NULL; never NULL itself", symbol="IS NOT NULL"),
    Function(
        "is_distinct", 2, 2, comparison, "not equal, where NULL equals NULL; never NULL itself",
        symbol="IS DISTINCT FROM",
    ),
    Function(
        "is_not_distinct", 2, 2, comparison, "equal, where NULL equals NULL; never NULL itself",
        symbol="IS NOT DISTINCT FROM",
    ),
    Function(
        "in", 2, None, comparison,
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
    Function("add", 2, 2, addition, "sum; TIMESTAMP + INTERVAL is a TIMESTAMP", symbol="+"),
    Function("subtract", 2, 2, subtraction, "difference; of two TIMESTAMPs it is an INTERVAL", symbol="-"),
    Function("multiply", 2, 2, product, "product", symbol="*"),
    Function(
        "divide", 2, 2, fixed(DOUBLE, DOUBLE, result=DOUBLE),
        "quotient, always a DOUBLE; NULL when the divisor is zero", symbol="/",
    ),
    Function(
        "modulo", 2, 2, integers,
        "remainder of integers with the sign of the dividend; NULL when the divisor is zero", symbol="%",
    ),
    Function(
        "div", 2, 2, integers,
        "quotient of integers cut toward zero; NULL when the divisor is zero; also written x DIV y",
    ),
    Function("negate", 1, 1, negation, "minus the number or the INTERVAL", symbol="-"),
    Function("abs", 1, 1, one_number, "absolute value"),
    Function("sign", 1, 1, sign_of, "-1, 0 or 1, in the type of the argument; of a DECIMAL a BIGINT"),
    Function("ceil", 1, 1, whole_number, "the least whole number not below; a DOUBLE stays a DOUBLE"),
    Function("floor", 1, 1, whole_number, "the greatest whole number not above; a DOUBLE stays a DOUBLE"),
    Function(
        "round", 1, 2, rounded,
        "the nearest whole number, halves away from 0; or a DOUBLE with a constant number of places",
        constants=(1,),
    ),
    Function("trunc", 1, 1, whole_number, "without the fraction, toward zero; a DOUBLE stays a DOUBLE"),
    Function("isnan", 1, 1, fixed(DOUBLE, result=BOOLEAN), "whether it is not a number"),
    Function("sqrt", 1, 1, _REAL, "square root; NULL below zero"),
    Function("ln", 1, 1, _REAL, "natural logarithm; NULL at zero and below"),
    Function("log10", 1, 1, _REAL, "logarithm to the base of 10; NULL at zero and below"),
    Function("log2", 1, 1, _REAL, "logarithm to the base of 2; NULL at zero and below"),
    Function("exp", 1, 1, _REAL, "e to the power of the argument"),
    Function("power", 2, 2, fixed(DOUBLE, DOUBLE, result=DOUBLE), "the first to the power of the second"),
    Function("cbrt", 1, 1, _REAL, "cube root"),
    Function("sin", 1, 1, _REAL, "sine of an angle in radians"),
    Function("cos", 1, 1, _REAL, "cosine of an angle in radians"),
    Function("tan", 1, 1, _REAL, "tangent of an angle in radians"),
    Function("asin", 1, 1, _REAL, "the angle with this sine; NULL below -1 and above 1"),
    Function("acos", 1, 1, _REAL, "the angle with this cosine; NULL below -1 and above 1"),
    Function("atan", 1, 1, _REAL, "the angle with this tangent"),
    Function("atan2", 2, 2, fixed(DOUBLE, DOUBLE, result=DOUBLE), "the angle of the point (second, first)"),
    Function("degrees", 1, 1, _REAL, "an angle in degrees, from one in radians"),
    Function("radians", 1, 1, _REAL, "an angle in radians, from one in degrees"),
    Function("isfinite", 1, 1, fixed(DOUBLE, result=BOOLEAN), "whether it is neither infinite nor NaN"),
    Function("isinf", 1, 1, fixed(DOUBLE, result=BOOLEAN), "whether it is infinite"),
    # choice
    Function("coalesce", 1, None, same_type, "the first argument that is not NULL"),
    Function("nullif", 2, 2, first_unless_equal, "NULL when the two are equal, else the first"),
    Function("greatest", 1, None, same_type, "the greatest of the arguments that are not NULL"),
    Function("least", 1, None, same_type, "the least of the arguments that are not NULL"),
    # strings; positions and lengths count characters, not bytes
    Function("upper", 1, 1, _TEXT, "in upper case"),
    Function("lower", 1, 1, _TEXT, "in lower case"),
    Function("length", 1, 1, length_of, "number of characters; of BINARY, of bytes"),
    Function("trim", 1, 2, _TRIMMED, f"{_TRIMMING} at both ends", constants=(1,)),
    Function("ltrim", 1, 2, _TRIMMED, f"{_TRIMMING} in front", constants=(1,)),
    Function("rtrim", 1, 2, _TRIMMED, f"{_TRIMMING} at the end", constants=(1,)),
    Function(
        "substring", 2, 3, fixed(STRING, BIGINT, BIGINT, result=STRING),
        "from a constant position (the first is 1), to the end or for a constant number of characters",
        constants=(1, 2),
    ),
    Function(
        "left", 2, 2, fixed(STRING, BIGINT, result=STRING),
        "the first characters, a constant number of them", constants=(1,),
    ),
    Function(
        "right", 2, 2, fixed(STRING, BIGINT, result=STRING),
        "the last characters, a constant number of them", constants=(1,),
    ),
    Function("lpad", 3, 3, _PADDED, f"{_PADDING} in front", constants=(1, 2)),
    Function("rpad", 3, 3, _PADDED, f"{_PADDING} at the end", constants=(1, 2)),
    Function(
        "strpos", 2, 2, fixed(STRING, STRING, result=BIGINT),
        "the position of the first occurrence of a constant text (the first is 1), 0 when there is none",
        constants=(1,),
    ),
    Function(
        "concat_ws", 2, None, strings,
        "one after the other with the first, a constant, between them; a NULL is left out", constants=(0,),
    ),
    Function("concat", 2, None, strings, "one after the other; NULL when one of them is NULL"),
    Function(
        "replace", 3, 3, fixed(STRING, STRING, STRING, result=STRING),
        "every occurrence of a constant text, from the left, by another constant text", constants=(1, 2),
    ),
    Function("starts_with", 2, 2, _TEXT_TEST, "begins with a constant text", constants=(1,)),
    Function("ends_with", 2, 2, _TEXT_TEST, "ends with a constant text", constants=(1,)),
    Function("contains", 2, 2, _TEXT_TEST, "has a constant text somewhere inside", constants=(1,)),
    Function(
        "repeat", 2, 2, fixed(STRING, BIGINT, result=STRING), "a constant number of times", constants=(1,)
    ),
    Function(
        "translate", 3, 3, fixed(STRING, STRING, STRING, result=STRING),
        "the characters of a constant text by those of another, or by nothing where that is shorter",
        constants=(1, 2),
    ),
    Function(
        "split_part", 3, 3, fixed(STRING, STRING, BIGINT, result=STRING),
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
        "regexp_replace", 3, 4, fixed(STRING, STRING, STRING, STRING, result=STRING),
        "the first match of a regular expression, with 'g' every one, by a text that may name its groups",
        constants=(1, 2, 3),
    ),
    Function(
        "regexp_extract", 2, 3, fixed(STRING, STRING, BIGINT, result=STRING),
        "the first match of a regular expression, or a group of it; '' where there is none",
        constants=(1, 2),
    ),
    Function(
        "string_split", 2, 2, fixed(STRING, STRING, result=list_of(STRING)),
        "the list of the parts of a text that a constant text cuts", constants=(1,),
    ),
    Function(
        "substring_index", 3, 3, fixed(STRING, STRING, BIGINT, result=STRING),
        "the first n parts of a text that a constant text cuts, below 0 the last ones, with it between them",
        constants=(1, 2),
    ),
    Function(
        "json_extract", 2, 2, _JSON,
        "the JSON at a constant path such as '$.a[0]', as text; NULL where there is none; also written ->",
        constants=(1,),
    ),
    Function(
        "json_extract_string", 2, 2, _JSON,
        "the same, where a string of JSON is without quotes and its null is NULL; also written ->>",
        constants=(1,),
    ),
    # lists
    Function("array", 1, None, list_of_items, "the list of these values, which have one type", symbol="[…]"),
    Function(
        "element", 2, 2, element_of,
        "the item at a place: the first is 1, the last -1; NULL where there is none", symbol="x[i]",
    ),
    Function("cardinality", 1, 1, items_of, "number of items of a list"),
    Function("array_contains", 2, 2, item_in_list, "whether a list has an item that equals the second"),
    # time
    Function(
        "at_time_zone", 2, 2, fixed(TIMESTAMP, STRING, result=TIMESTAMP),
        "what clocks in a constant zone show at the instant, such as 'Europe/Berlin', by the rules up to 2100",
        constants=(1,), symbol="AT TIME ZONE",
    ),
    Function("year", 1, 1, part_of_time, "the year, in UTC"),
    Function("quarter", 1, 1, part_of_time, "the quarter of the year, 1 to 4"),
    Function("month", 1, 1, part_of_time, "the month, 1 to 12"),
    Function("week", 1, 1, part_of_time, "the week of ISO 8601, 1 to 53"),
    Function("dayofyear", 1, 1, part_of_time, "the day of the year, 1 to 366"),
    Function("isodow", 1, 1, part_of_time, "the day of the week, from 1 for Monday to 7 for Sunday"),
    Function("day", 1, 1, part_of_time, "the day of the month, 1 to 31"),
    Function("hour", 1, 1, part_of_time, "the hour, 0 to 23"),
    Function("minute", 1, 1, part_of_time, "the minute, 0 to 59"),
    Function("second", 1, 1, part_of_time, "the whole second, 0 to 59"),
    Function(
        "date_trunc", 2, 2, start_of_unit,
        f"the start of the unit it lies in, a constant of {', '.join(TRUNC_UNITS)} (weeks from Monday)",
        constants=(0,),
    ),
    Function("isoyear", 1, 1, part_of_time, "the year that the week of ISO 8601 belongs to"),
    Function(
        "date_diff", 3, 3, boundaries_between,
        f"how many boundaries of a unit lie between two instants, a constant of {', '.join(DIFF_UNITS)}",
        constants=(0,),
    ),
    Function("last_day", 1, 1, day_of, "the last day of the month, a DATE"),
    Function("dayname", 1, 1, name_in_time, "the name of the day of the week, such as Monday"),
    Function("monthname", 1, 1, name_in_time, "the name of the month, such as January"),
    Function(
        "strftime", 2, 2, text_of_time,
        f"as text in a constant format of {' '.join('%' + c for c in FORMATS)}", constants=(1,),
    ),
    Function("epoch", 1, 1, seconds_of, "seconds since 1970, a DOUBLE"),
    Function("epoch_ms", 1, 1, part_of_time, "whole milliseconds since 1970"),
    Function("epoch_us", 1, 1, part_of_time, "microseconds since 1970"),
    Function(
        "to_timestamp", 1, 1, fixed(DOUBLE, result=TIMESTAMP), "the instant so far from 1970, in seconds"
    ),
    Function(
        "make_timestamp", 1, 1, fixed(BIGINT, result=TIMESTAMP), "the instant so far from 1970, in microseconds"
    ),
    Function("make_date", 3, 3, date_of_parts, "the day of a year, month and day; NULL when there is none"),
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
    "array_length": "cardinality", "list_contains": "array_contains", "size": "cardinality",
    "array_size": "cardinality", "dayofmonth": "day", "unix_millis": "epoch_ms", "unix_micros": "epoch_us",
    "timestamp_micros": "make_timestamp", "timestamp_seconds": "to_timestamp",
    "get_json_object": "json_extract_string", "str_split": "string_split", "rlike": "regexp_matches",
}  # fmt: skip
"""Other names under which users may know a function."""
