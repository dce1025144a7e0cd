"""What is assumed of conditions and operators that were not measured yet."""

from __future__ import annotations

from math import prod

from panes.plan.expressions import Call, Expression, Literal

RATE = 1000.0
"""Rows per second of a stream that has brought none."""

TABLE_ROWS = 1000.0
"""Rows of a table of which nobody knows."""

SPAN = 1.0
"""Seconds of event time of an epoch."""

FIXED = "fixed"
"""The part of an operator's cost that every span has, however few its rows are."""

_EQUAL, _RANGE, _LIKE, _NULL, _OTHER = 0.1, 1 / 3, 0.25, 0.05, 0.5
_SELECTIVITY = {
    "eq": _EQUAL,
    "ne": 1 - _EQUAL,
    "lt": _RANGE,
    "le": _RANGE,
    "gt": _RANGE,
    "ge": _RANGE,
    "like": _LIKE,
    "ilike": _LIKE,
    "is_null": _NULL,
    "is_not_null": 1 - _NULL,
}
"""By the name of a function that gives a condition: how many of the rows pass."""

_COSTS: dict[str, dict[str, float]] = {
    "Join": {"row": 0.6, "probe": 0.25, "insert": 0.2, "expire": 0.05, FIXED: 1000.0},
    "Select": {"row": 0.05, FIXED: 100.0},
    "DropBox": {"row": 0.1, FIXED: 60.0},
    "Project": {"row": 0.02, FIXED: 60.0},
}
_COST = {"row": 0.3, FIXED: 400.0}
"""Of an operator that has no entry of its own."""


def assumed_selectivity(condition: Expression) -> float:
    """How many of the rows pass a condition, by its form alone."""
    if isinstance(condition, Literal):
        return 1.0 if condition.value is True else 0.0
    if not isinstance(condition, Call):
        return _OTHER
    match condition.function:
        case "and":
            return prod(assumed_selectivity(part) for part in condition.args)
        case "or":
            return 1 - prod(1 - assumed_selectivity(part) for part in condition.args)
        case "not":
            return 1 - assumed_selectivity(condition.args[0])
        case "in":
            return min(_OTHER, _EQUAL * (len(condition.args) - 1))
    return _SELECTIVITY.get(condition.function, _OTHER)


def assumed_cost(operator: str, part: str) -> float:
    """CPU microseconds of a part of an operator."""
    return _COSTS.get(operator, _COST).get(part, _COST["row"])
