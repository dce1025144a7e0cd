"""Lookups below joins: a tuple looks a table up once when it comes, and not with every partner that it finds.

It meets the table as it was at its own time, so the answer is the same on both sides of a join. What costs less
depends on how many partners tuples find, and on how many find none.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from panes.optimizer.alternatives.alternative import Alternative
from panes.plan.expressions import Column, columns_of
from panes.plan.lookups import Matching, is_lookup
from panes.plan.nodes import Join, Node, Project, with_children
from panes.plan.walk import is_table_only


def push_lookups(plan: Node) -> tuple[Alternative, ...]:
    """The plan with all lookups as far below joins as the tuples whose time they go by; none when they are there.

    Lookup on a.k = n.k, at the time of a          Join on a.v = b.v
      Join on a.v = b.v                              Lookup on a.k = n.k, at the time of a
        Window … Stream a                     →        Window … Stream a
        Window … Stream b                              Table n
      Table n                                        Window … Stream b
    """
    pushed = _pushed(plan)
    return () if pushed == plan else (Alternative("lookups below joins", pushed),)


def _pushed(node: Node) -> Node:
    node = with_children(node, *map(_pushed, node.children))
    if not is_lookup(node) or node.time is None:
        return node
    below = _below(node, node.left)
    return node if below is None else _in_order(below, node)


def _below(lookup: Matching, left: Node) -> Node | None:
    """The lookup further down in its left side; None when it stays above it."""
    match left:
        case Join(time=None):
            tuples = next((side for side in left.children if _read(lookup) <= set(side.schema.names)), None)
            # Streams come first in a join with a table, which has no tuples.
            if tuples is None or is_table_only(tuples):
                return None
            found = _pushed(replace(lookup, left=tuples))
            sides = (found if side is tuples else side for side in left.children)
            return with_children(left, *sides)
        case Project() if all(isinstance(e, Column) and e.name == name for name, e in left.columns):
            # A projection that only leaves columns out. Above the lookup they are left out as well.
            return _below(lookup, left.child)
    return None


def _read(lookup: Matching) -> Set[str]:
    """The columns of tuples that a lookup reads."""
    assert lookup.time is not None
    tested = frozenset[str]() if lookup.residual is None else columns_of(lookup.residual)
    return {lookup.time, *lookup.left_keys} | (tested & set(lookup.left.schema.names))


def _in_order(node: Node, lookup: Matching) -> Node:
    if node.schema == lookup.schema:
        return node
    return Project(node, tuple((f.name, Column(f.type, f.name)) for f in lookup.schema))
