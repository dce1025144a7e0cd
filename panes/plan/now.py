"""The instant of the answer, τ, in expressions: `now()` and `current_timestamp`.

A query that is asked once sees one instant, which takes the place of `now()` wherever it stands. In a standing
query τ moves on without tuples, so there `now()` stands only in conditions that bound the time of a row: each of
them cuts the lifetimes of rows (`nodes.TemporalFilter`).
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from panes.clock import to_datetime
from panes.plan.durations import length_us
from panes.plan.expressions import Call, Expression, Literal, Now, walk
from panes.plan.nodes import Node, Select, TemporalFilter, Window
from panes.plan.types import BOOLEAN, TIMESTAMP
from panes.plan.windows import BEGINNING

_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}


def reads_now(value: object) -> bool:
    """Whether an expression, or an expression of a plan, reads the instant of the answer otherwise than through a
    TemporalFilter."""
    if isinstance(value, Expression):
        return any(isinstance(part, Now) for part in walk(value))
    if isinstance(value, tuple):
        return any(map(reads_now, value))
    if is_dataclass(value) and not isinstance(value, type):
        return any(reads_now(getattr(value, f.name)) for f in fields(value))
    return False


def has_now(plan: Node) -> bool:
    """Whether the rows of a plan depend on the instant at which it is evaluated, beside what its windows hold."""
    return reads_now(plan) or _has_filter(plan)


def moves_without_tuples(plan: Node) -> bool:
    """Whether rows enter by time alone: those of a window with OFFSET, or of a condition on `now()`."""
    if isinstance(plan, TemporalFilter) or (isinstance(plan, Window) and plan.spec.offset_us):
        return True
    return any(map(moves_without_tuples, plan.children))


def _has_filter(plan: Node) -> bool:
    return isinstance(plan, TemporalFilter) or any(map(_has_filter, plan.children))


def temporal_filter(child: Node, condition: Expression, slides: tuple[int, ...]) -> TemporalFilter | None:
    """The filter that a condition `expression <op> now() ± interval` is, whichever side it is written on; None
    when it has another shape."""
    if not isinstance(condition, Call) or condition.function not in _MIRRORED:
        return None
    left, right = condition.args
    op = condition.function
    if reads_now(left):
        left, right, op = right, left, _MIRRORED[op]
    distance = _distance(right)
    if distance is None or reads_now(left) or left.type != TIMESTAMP:
        return None
    return TemporalFilter(child, left, op, distance, slides)


def _distance(expression: Expression) -> int | None:
    """How far an instant lies from τ; None when it is no constant distance."""
    match expression:
        case Now():
            return 0
        case Call(function="add" | "subtract" as sign, args=(one, other)):
            if isinstance(one, Literal) and sign == "add":
                one, other = other, one
            base = _distance(one)
            if base is None or not isinstance(other, Literal) or other.value is None:
                return None
            length = length_us(other.value)  # type: ignore[arg-type]
            return base + length if sign == "add" else base - length
    return None


def at_instant(plan: Node, now: int) -> Node:
    """The plan as it is at an instant, without `now()`."""
    found = _at(plan, now)
    assert isinstance(found, Node)
    return found


def now_alone_at(plan: Node, now: int) -> Node:
    """The plan with an instant in place of `now()`, and its temporal filters as they are."""
    found = _at(plan, now, filters=False)
    assert isinstance(found, Node)
    return found


def last_instant(now: int, slides: tuple[int, ...]) -> int:
    """The last instant at which a relation moved on that changes at slides only; τ itself without slides."""
    return max((now - now % slide for slide in slides), default=now)


def _at(value: Any, now: int, *, filters: bool = True) -> Any:
    if isinstance(value, Now):
        # Before the first tuple there is no instant that an answer could be of.
        return Literal(TIMESTAMP, to_datetime(now) if now > BEGINNING + 1 else None)
    if isinstance(value, TemporalFilter) and filters:
        return Select(_at(value.child, now), _condition(value, now))
    if isinstance(value, tuple):
        return tuple(_at(item, now, filters=filters) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        changed = {}
        for f in fields(value):
            before = getattr(value, f.name)
            after = _at(before, now, filters=filters) if f.init else before
            if after is not before and after != before:
                changed[f.name] = after
        return replace(value, **changed) if changed else value
    return value


def _condition(node: TemporalFilter, now: int) -> Expression:
    at = to_datetime(last_instant(now, node.slides) + node.distance_us)
    return Call(BOOLEAN, node.op, (node.value, Literal(TIMESTAMP, at)))
