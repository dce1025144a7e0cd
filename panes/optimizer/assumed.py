"""What is assumed of conditions and operators that were not measured yet."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from panes.plan.expressions import Call, Expression, Literal, listed_constants

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

WEIGH = "weigh"
"""The part for a result of a join of rows that are taken back: those that cancel each other out are left out."""

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
    "Join": {
        "row": 1.2,
        "probe": 0.5,
        "visit": 0.3,
        "insert": 0.25,
        "expire": 0.05,
        WEIGH: 2.0,
        FIXED: 3000.0,
    },
    "MultiJoin": {
        "row": 3.0,
        "probe": 2.2,
        "visit": 0.15,
        "insert": 0.2,
        "expire": 0.05,
        WEIGH: 2.0,
        FIXED: 8000.0,
    },
    "AntiJoin": {"row": 3.5, FIXED: 7000.0},
    "Distinct": {"row": 1.0, FIXED: 900.0},
    "DistinctStar": {"row": 1.8, FIXED: 2200.0},
    "DropBox": {"row": 0.1, FIXED: 200.0},
    "Entry": {"row": 0.03, FIXED: 170.0},
    "ExplicitExpiry": {"row": 1.0, FIXED: 1300.0},
    "GroupBy": {"row": 4.0, FIXED: 2100.0},
    "HeaviestOfPanes": {"row": 1.0, FIXED: 4000.0},
    "HeaviestOfStream": {"row": 1.0, FIXED: 4000.0},
    "Lookup": {"row": 0.5, FIXED: 1000.0},
    "MatchAndSum": {"row": 0.3, FIXED: 2500.0},
    "Over": {"row": 4.0, FIXED: 4000.0},
    "PreAggregate": {"row": 0.08, FIXED: 950.0},
    "Project": {"row": 0.005, FIXED: 100.0},
    "ReleaseOnTime": {"row": 0.1, FIXED: 150.0},
    "RowsWindow": {"row": 1.0, FIXED: 2000.0},
    "Select": {"row": 0.01, FIXED: 300.0},
    "TemporalFilter": {"row": 0.05, FIXED: 300.0},
    "SemiJoin": {"row": 2.2, FIXED: 3500.0},
    "SetOperationByCount": {"row": 1.0, FIXED: 900.0},
    "SetOperationByLifetime": {"row": 2.5, FIXED: 1500.0},
    "TimeWindow": {"row": 0.02, FIXED: 140.0},
    "TopN": {"row": 3.0, FIXED: 3000.0},
    "Union": {"row": 0.02, FIXED: 100.0},
    "Calendar": {RETRACT: 7.0},
    "Scan": {"row": 0.02, FIXED: 0.0},
    "answer": {"row": 0.4, FIXED: 1800.0},
    "read segments": {"row": 0.05, FIXED: 2500.0},
    "read tuples": {"row": 0.05, FIXED: 2500.0},
    "read sums": {"row": 0.05, FIXED: 12_000.0},
    "read history": {"row": 0.08, FIXED: 10_000.0},
    "epoch": {"row": 1.0, FIXED: 200_000.0},
    "ingest": {"row": 0.2, FIXED: 3000.0},
    "shuffle": {"row": 0.1, FIXED: 200.0},
    "store": {"row": 0.3, FIXED: 1500.0},
}
"""What operators cost, as `python -m benchmarks.cost_model defaults` has measured it."""

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
            constants = listed_constants(condition)
            return min(_OTHER, _EQUAL * (len(condition.args) - 1 if constants is None else len(constants)))
    return _SELECTIVITY.get(condition.function, _OTHER)


def assumed_costs() -> Iterator[tuple[str, str, float]]:
    """Operators, the parts of their costs, and what each is assumed to be; `other` is any other operator."""
    for operator, costs in (_COSTS | {"other": _COST}).items():
        for part, cost in costs.items():
            yield operator, part, cost


def assumed_cost(operator: str, part: str) -> float:
    """CPU microseconds of a part of an operator."""
    return _COSTS.get(operator, _COST).get(part, _COST["row"])
