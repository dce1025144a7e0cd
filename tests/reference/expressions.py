"""Scalar expressions over one row."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from panes.plan.expressions import Call, Case, Column, Expression, Literal
from tests.reference.values import order, plain

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
_ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
}


def evaluate(expression: Expression, row: Mapping[str, Any]) -> Any:
    """The value of an expression; None is NULL."""
    match expression:
        case Column(name=name):
            return row[name]
        case Literal(value=value):
            return plain(value)
        case Case(branches=branches, otherwise=otherwise):
            for condition, value in branches:
                if evaluate(condition, row):
                    return evaluate(value, row)
            return evaluate(otherwise, row)
        case Call(function=function, args=args):
            return _call(function, [evaluate(arg, row) for arg in args])
    raise TypeError(f"the reference does not know {expression}")


def _call(function: str, values: list[Any]) -> Any:
    match function:
        case "is_null":
            return values[0] is None
        case "is_not_null":
            return values[0] is not None
        case "and":
            return False if False in values else None if None in values else True
        case "or":
            return True if True in values else None if None in values else False
        case "is_distinct":
            return order(values[0]) != order(values[1])
        case "is_not_distinct":
            return order(values[0]) == order(values[1])
        case "array":
            return tuple(values)
    if None in values:
        return None
    if function == "not":
        return not values[0]
    if function in _COMPARISONS:
        return _COMPARISONS[function](*map(order, values))
    return plain(_ARITHMETIC[function](*values))
