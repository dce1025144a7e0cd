"""Which expressions may fail for some values. Where one does, its query is suspended."""

from __future__ import annotations

from panes.plan.expressions import Call, Cast, Expression, OwnCall, walk
from panes.plan.types import BOOLEAN, STRING, Type

_CALENDAR = (
    "year quarter month week dayofyear isodow day hour minute second date_trunc isoyear dayname monthname"
)
_CONDITIONS = "eq ne lt le gt ge and or not is_null is_not_null is_distinct is_not_distinct in like ilike"
_LISTS = "array element cardinality array_contains"
_REAL = (
    "divide modulo sign isnan sqrt ln log10 log2 exp power cbrt sin cos tan asin acos atan atan2 degrees radians "
    "isfinite isinf"
)
_TEXT = (
    "upper lower length trim ltrim rtrim substring left right strpos concat concat_ws replace starts_with "
    "ends_with contains translate split_part regexp_matches regexp_full_match regexp_replace regexp_extract "
    "string_split substring_index json_extract json_extract_string"
)
_VALUES = "coalesce nullif greatest least"
_NEVER = frozenset(" ".join((_CALENDAR, _CONDITIONS, _LISTS, _REAL, _TEXT, _VALUES)).split())

_OVERFLOWS = frozenset(("add", "subtract", "multiply", "negate", "abs", "ceil", "floor", "round", "trunc"))
"""Functions that fail for results that their type does not hold; FLOAT and DOUBLE hold all."""


def can_fail(expression: Expression) -> bool:
    """Whether an expression fails for some values: sums beyond 64 bits, functions of users, …

    A CASE can fail if anything in it can, although it may be guarded there.
    """
    return any(map(_can_fail, walk(expression)))


def _can_fail(expression: Expression) -> bool:
    match expression:
        case OwnCall():
            return True
        case Call(function=function):
            is_safe = function in _OVERFLOWS and expression.type.is_floating
            return function not in _NEVER and not is_safe
        case Cast(arg=arg):
            return not _holds_all(arg.type, expression.type)
    return False


def _holds_all(source: Type, target: Type) -> bool:
    """Whether a cast has a value for all that it may be given. Text that is no number becomes NULL."""
    if STRING in (source, target) or source in (target, BOOLEAN):
        return not target.is_decimal
    if source.is_integer and target.is_floating:
        return True
    if (source.is_integer and target.is_integer) or (source.is_floating and target.is_floating):
        return bool(source.arrow.bit_width <= target.arrow.bit_width)
    return False
