"""Chains of selections and projections over a stream, brought to one selection and one projection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from panes.plan.expressions import Call, Case, Cast, Column, Expression, conjunction
from panes.plan.nodes import Node, Project, Select, StreamScan

Columns = tuple[tuple[str, Expression], ...]


@dataclass(frozen=True)
class Stateless:
    """A selection and then a projection, both over the columns of a stream."""

    scan: StreamScan
    predicate: Expression | None = None
    columns: Columns | None = None
    """None: the columns of the stream."""


def stateless_of(node: Node) -> Stateless | None:
    """What a chain of selections and projections comes to; None when there is anything else in it."""
    if isinstance(node, StreamScan):
        return Stateless(node)
    if not isinstance(node, (Select, Project)):
        return None
    below = stateless_of(node.child)
    if below is None:
        return None
    known = None if below.columns is None else dict(below.columns)
    if isinstance(node, Select):
        mine = node.predicate if known is None else substitute(node.predicate, known)
        parts = (mine,) if below.predicate is None else (below.predicate, mine)
        return replace(below, predicate=conjunction(parts))
    columns = node.columns if known is None else tuple((n, substitute(e, known)) for n, e in node.columns)
    return replace(below, columns=columns)


def substitute(expression: Expression, columns: Mapping[str, Expression]) -> Expression:
    """The expression with other expressions in place of its columns."""
    match expression:
        case Column(name=name):
            return columns[name]
        case Call(args=args):
            return replace(expression, args=tuple(substitute(arg, columns) for arg in args))
        case Cast(arg=arg):
            return replace(expression, arg=substitute(arg, columns))
        case Case(branches=branches, otherwise=otherwise):
            return replace(
                expression,
                branches=tuple((substitute(c, columns), substitute(v, columns)) for c, v in branches),
                otherwise=substitute(otherwise, columns),
            )
    return expression
