"""Chains of selections and projections over a stream, brought to one selection and one projection."""

from __future__ import annotations

from dataclasses import dataclass, replace

from panes.plan.expressions import Expression, conjunction, substitute
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
