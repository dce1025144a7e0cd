"""What is assumed of conditions and operators that were not measured yet."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from panes.plan.expressions import Call, Expression, Literal

RATE = 1000.0
"""Rows per second of a stream that has brought none."""

TABLE_ROWS = 1000.0
"""Rows of a table of which nobody knows."""

SPAN = 1.0
"""Seconds of event time that an epoch takes."""

FIXED = "fixed"
"""The part of an operator's cost that every span has, however few its rows are."""

RETRACT = "retract"
"""The part for a row of a calendar queue that is taken back before its time: both stay until their day is merged,
and whatever looks there finds them."""

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
    "Join": {"row": 0.6, "probe": 0.2, "visit": 0.15, "insert": 0.2, "expire": 0.05, FIXED: 1000.0},
    "Select": {"row": 0.05, FIXED: 100.0},
    "Project": {"row": 0.02, FIXED: 60.0},
    "DistinctStar": {"row": 0.5, FIXED: 400.0},
    "Distinct": {"row": 0.7, FIXED: 400.0},
    "SemiJoin": {"row": 0.45, FIXED: 1000.0},
    "AntiJoin": {"row": 1.1, FIXED: 1500.0},
    "SetOperationByCount": {"row": 0.6, FIXED: 400.0},
    "SetOperationByLifetime": {"row": 1.4, FIXED: 600.0},
    "Calendar": {RETRACT: 3.0},
    "ingest": {"row": 0.2, FIXED: 3000.0},
    "store": {"row": 0.3, FIXED: 1500.0},
    "answer": {"row": 0.3, FIXED: 500.0},
    "epoch": {"row": 1.0, FIXED: 200_000.0},
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


def parts_of(operator: str) -> Sequence[str]:
    """The parts of the cost of an operator."""
    return tuple(_COSTS.get(operator, _COST))


def assumed_cost(operator: str, part: str) -> float:
    """CPU microseconds of a part of an operator."""
    return _COSTS.get(operator, _COST).get(part, _COST["row"])
