"""What types scalar functions take, and what type comes out: one function per kind of signature.

Each is the `typing` of some functions of `plan/functions.py`: it is given the types of the arguments, and says
what they must be cast to. It raises WrongTypes when there is no such cast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from panes.plan.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTERVAL,
    MOST_DIGITS,
    NULL,
    STRING,
    TIMESTAMP,
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


def fixed(*wanted: Type, result: Type) -> Typing:
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


def comparison(args: tuple[Type, ...]) -> Signature:
    common = _common(args)
    if common.is_nested:
        raise WrongTypes(f"cannot compare {common}")
    return Signature((common,) * len(args), BOOLEAN)


def same_type(args: tuple[Type, ...]) -> Signature:
    common = _common(args)
    return Signature((common,) * len(args), common)


def first_unless_equal(args: tuple[Type, ...]) -> Signature:
    comparison(args)
    return same_type(args)


def conditions(args: tuple[Type, ...]) -> Signature:
    for have in args:
        if have not in (BOOLEAN, NULL):
            raise WrongTypes(f"takes conditions, not {have}")
    return Signature((BOOLEAN,) * len(args), BOOLEAN)


def anything(args: tuple[Type, ...]) -> Signature:
    return Signature(args, BOOLEAN)


def numeric(have: Type) -> Type:
    """BIGINT for integers, DOUBLE for FLOAT and DOUBLE, a DECIMAL as it is: the types arithmetic is done in."""
    if have == NULL:
        return BIGINT
    if not have.is_numeric:
        raise WrongTypes(f"takes numbers, not {have}")
    return BIGINT if have.is_integer else have if have.is_decimal else DOUBLE


def one_number(args: tuple[Type, ...]) -> Signature:
    return Signature((number := numeric(args[0]),), number)


def _sum(args: tuple[Type, ...]) -> Signature:
    decimals = _decimals(args)
    if decimals is None:
        return _arithmetic(args)
    left, right = decimals
    common = wider(left, right)
    assert common is not None
    return Signature((left, right), decimal(min(common.precision + 1, MOST_DIGITS), common.scale))


def product(args: tuple[Type, ...]) -> Signature:
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


def whole_number(args: tuple[Type, ...]) -> Signature:
    """Rounding may give one more digit before the point."""
    number = numeric(args[0])
    if not number.is_decimal:
        return Signature((number,), number)
    return Signature((number,), decimal(min(number.precision - number.scale + 1, MOST_DIGITS), 0))


def sign_of(args: tuple[Type, ...]) -> Signature:
    number = numeric(args[0])
    return Signature((number,), BIGINT if number.is_decimal else number)


def addition(args: tuple[Type, ...]) -> Signature:
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


def subtraction(args: tuple[Type, ...]) -> Signature:
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


def integers(args: tuple[Type, ...]) -> Signature:
    for have in args:
        if have != NULL and not have.is_integer:
            raise WrongTypes(f"takes integers, not {have}")
    return Signature((BIGINT,) * len(args), BIGINT)


def negation(args: tuple[Type, ...]) -> Signature:
    return Signature(args, args[0]) if args[0] == INTERVAL else one_number(args)


def part_of_time(args: tuple[Type, ...]) -> Signature:
    if args[0] not in (DATE, TIMESTAMP, NULL):
        raise WrongTypes(f"takes a DATE or TIMESTAMP, not {args[0]}")
    return Signature((TIMESTAMP,), BIGINT)


def start_of_unit(args: tuple[Type, ...]) -> Signature:
    if args[0] != STRING or args[1] not in (DATE, TIMESTAMP, NULL):
        raise WrongTypes(f"takes a unit and a TIMESTAMP, not {args[0]} and {args[1]}")
    return Signature((STRING, TIMESTAMP), TIMESTAMP)


def strings(args: tuple[Type, ...]) -> Signature:
    for have in args:
        if have not in (STRING, NULL):
            raise WrongTypes(f"takes STRINGs, not {have}; write CAST(… AS STRING)")
    return Signature((STRING,) * len(args), STRING)


def length_of(args: tuple[Type, ...]) -> Signature:
    if args[0] not in (STRING, BINARY, NULL):
        raise WrongTypes(f"takes a STRING or BINARY, not {args[0]}")
    return Signature((STRING if args[0] == NULL else args[0],), BIGINT)


def _list(have: Type) -> Type:
    if have.item is None:
        raise WrongTypes(f"takes a list, not {have}")
    return have


def list_of_items(args: tuple[Type, ...]) -> Signature:
    common = _common(args)
    item = BIGINT if common == NULL else common
    return Signature((item,) * len(args), list_of(item))


def element_of(args: tuple[Type, ...]) -> Signature:
    item = _list(args[0]).item
    assert item is not None
    if wider(args[1], BIGINT) != BIGINT:
        raise WrongTypes(f"takes an integer as the place, not {args[1]}")
    return Signature((args[0], BIGINT), item)


def items_of(args: tuple[Type, ...]) -> Signature:
    return Signature((_list(args[0]),), BIGINT)


def item_in_list(args: tuple[Type, ...]) -> Signature:
    item = _list(args[0]).item
    assert item is not None
    if item.is_nested or wider(item, args[1]) != item:
        raise WrongTypes(f"looks for {item} in {args[0]}, not for {args[1]}")
    return Signature((args[0], item), BOOLEAN)


def day_of(args: tuple[Type, ...]) -> Signature:
    part_of_time(args)
    return Signature((TIMESTAMP,), DATE)


def name_in_time(args: tuple[Type, ...]) -> Signature:
    part_of_time(args)
    return Signature((TIMESTAMP,), STRING)


def text_of_time(args: tuple[Type, ...]) -> Signature:
    if args[0] not in (DATE, TIMESTAMP, NULL) or args[1] != STRING:
        raise WrongTypes(f"takes a TIMESTAMP and a format, not {args[0]} and {args[1]}")
    return Signature((TIMESTAMP, STRING), STRING)


def seconds_of(args: tuple[Type, ...]) -> Signature:
    part_of_time(args)
    return Signature((TIMESTAMP,), DOUBLE)


def boundaries_between(args: tuple[Type, ...]) -> Signature:
    if args[0] != STRING or {*args[1:]} - {DATE, TIMESTAMP, NULL}:
        raise WrongTypes(f"takes a unit and two TIMESTAMPs, not {', '.join(map(str, args))}")
    return Signature((STRING, TIMESTAMP, TIMESTAMP), BIGINT)


def date_of_parts(args: tuple[Type, ...]) -> Signature:
    return Signature(integers(args).args, DATE)


def rounded(args: tuple[Type, ...]) -> Signature:
    return whole_number(args) if len(args) == 1 else fixed(DOUBLE, BIGINT, result=DOUBLE)(args)
