"""Functions that are short for others: what the binder writes in their place."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from panes.plan.expressions import Expression, Literal
from panes.plan.functions import ALIASES, DATE_PARTS
from panes.plan.types import DOUBLE, STRING

if TYPE_CHECKING:
    from panes.language.binder.bind_expressions import ExpressionBinder

ShortForm = Callable[["ExpressionBinder", exp.Expression], Expression | None]
"""What to write for a call; None when it is not short for anything with these arguments."""


def _mod(binder: ExpressionBinder, node: exp.Expression) -> Expression:
    return binder.call("modulo", [binder.bind(arg) for arg in node.expressions], node)


def _date_part(binder: ExpressionBinder, node: exp.Expression) -> Expression:
    """`date_part('year', x)`, short for `year(x)`."""
    parts = f"parts are {', '.join(DATE_PARTS)}"
    if len(node.expressions) != 2 or not node.expressions[0].is_string:
        binder.refuse("date_part is written date_part('part', x)", node, parts)
    part, value = node.expressions
    word = part.name.lower()
    if word not in DATE_PARTS:
        binder.refuse(f"there is no part {part.name!r}", part, parts)
    return binder.call(ALIASES.get(word, word), (binder.bind(value),), node)


def _if(binder: ExpressionBinder, node: exp.Expression) -> Expression:
    """`if(c, x, y)`, short for CASE."""
    if len(node.expressions) not in (2, 3):
        binder.refuse(f"{node.name} is written {node.name}(condition, x, y)", node)
    condition, value, *otherwise = node.expressions
    branch = exp.If(this=condition, true=value)
    case = exp.Case(this=None, ifs=[branch], default=otherwise[0] if otherwise else None)
    return binder.bind(case.update_positions(node))


def _logarithm(binder: ExpressionBinder, node: exp.Expression) -> Expression:
    """`log(x)` is that to the base of 10, `log(b, x)` the quotient of two."""
    args = [binder.bind(arg) for arg in node.expressions]
    if len(args) == 1:
        return binder.call("log10", args, node)
    if len(args) != 2:
        binder.refuse("log is written log(x), or log(base, x)", node)
    base, value = (binder.call("ln", (arg,), node) for arg in args)
    return binder.call("divide", (value, base), node)


def _added(function: str) -> ShortForm:
    """`date_add(x, INTERVAL …)`, short for x + INTERVAL …"""

    def write(binder: ExpressionBinder, node: exp.Expression) -> Expression:
        if len(node.expressions) != 2 or not isinstance(node.expressions[1], exp.Interval):
            binder.refuse(
                f"{node.name} is written {node.name}(x, INTERVAL 1 HOUR)", node, "or x + INTERVAL 1 HOUR"
            )
        return binder.call(function, [binder.bind(arg) for arg in node.expressions], node)

    return write


def _date_diff(binder: ExpressionBinder, node: exp.Expression) -> Expression | None:
    """`datediff(end, begin)`, short for date_diff('day', begin, end)."""
    if len(node.expressions) != 2:
        return None
    end, begin = (binder.bind(arg) for arg in node.expressions)
    return binder.call("date_diff", (Literal(STRING, "day"), begin, end), node)


def _pi(binder: ExpressionBinder, node: exp.Expression) -> Expression:
    if node.expressions:
        binder.refuse("pi is written pi()", node)
    return Literal(DOUBLE, math.pi)


SHORT_FORMS: Mapping[str, ShortForm] = {
    "mod": _mod,
    "date_part": _date_part,
    "datepart": _date_part,
    "if": _if,
    "iif": _if,
    "log": _logarithm,
    "date_add": _added("add"),
    "date_sub": _added("subtract"),
    "date_diff": _date_diff,
    "pi": _pi,
}
