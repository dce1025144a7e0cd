"""Comparisons of one value with several constants become one IN, which looks each value up once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from panes.plan.expressions import Call, Constants, Expression, Literal, Value, listed_constants
from panes.plan.nodes import AntiJoin, Join, Node, OuterJoin, Select, SemiJoin, with_children
from panes.plan.types import BOOLEAN


def merge_or_into_in(plan: Node) -> Node:
    """The plan with IN in conditions that compare a value with one constant or another.

        Select ((a.k = 1) OR (a.v > 5)) OR (a.k = 2)    →    Select a.k IN (1, 2) OR (a.v > 5)

    Both are TRUE when a constant is equal, else NULL when the value or a constant is NULL, else FALSE.
    """
    plan = with_children(plan, *map(merge_or_into_in, plan.children))
    match plan:
        case Select():
            predicate = _merged(plan.predicate)
            return plan if predicate is plan.predicate else Select(plan.child, predicate)
        case Join() | OuterJoin() | SemiJoin() | AntiJoin() if plan.residual is not None:
            residual = _merged(plan.residual)
            return plan if residual is plan.residual else replace(plan, residual=residual)
    return plan


def _merged(condition: Expression) -> Expression:
    if not isinstance(condition, Call) or condition.function not in ("and", "or", "not"):
        return condition
    if condition.function != "or":
        args = tuple(map(_merged, condition.args))
        same = all(one is other for one, other in zip(args, condition.args, strict=True))
        return condition if same else replace(condition, args=args)
    parts = list(_disjuncts(condition))
    values: dict[Expression, list[Value]] = {}
    for part in parts:
        compared = _compared(part)
        if compared is not None:
            values.setdefault(compared[0], []).extend(compared[1])
    several = {value for value, found in values.items() if len(found) > 1}
    merged: dict[Expression, None] = {}
    for part in parts:
        compared = _compared(part)
        if compared is not None and compared[0] in several:
            merged[_is_one_of(compared[0], values[compared[0]])] = None
        else:
            merged[_merged(part)] = None
    return condition if list(merged) == parts else _disjunction(list(merged))


def _disjuncts(condition: Expression) -> Iterator[Expression]:
    if isinstance(condition, Call) and condition.function == "or":
        for part in condition.args:
            yield from _disjuncts(part)
    else:
        yield condition


def _disjunction(parts: Sequence[Expression]) -> Expression:
    whole, *rest = parts
    for part in rest:
        whole = Call(BOOLEAN, "or", (whole, part))
    return whole


def _compared(condition: Expression) -> tuple[Expression, Sequence[Value]] | None:
    """The value and the constants of `value = constant` or `value IN (constants)`; None for anything else."""
    if not isinstance(condition, Call) or condition.function not in ("eq", "in"):
        return None
    value, *options = condition.args
    if condition.function == "eq" and isinstance(value, Literal):
        value, options = options[0], [value]
    if isinstance(value, Literal) or any(option.type != value.type for option in options):
        return None
    if isinstance(options[0], Literal) and condition.function == "eq":
        return value, (options[0].value,)
    constants = listed_constants(condition)
    return None if constants is None else (value, constants)


def _is_one_of(value: Expression, constants: Sequence[Value]) -> Expression:
    different = tuple(dict.fromkeys(constants))
    if len(different) == 1:
        return Call(BOOLEAN, "eq", (value, Literal(value.type, different[0])))
    return Call(BOOLEAN, "in", (value, Constants(value.type, different)))
