"""Columns that nothing above reads are left out where streams and tables begin: states hold them, and joins copy
them."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from panes.plan.expressions import Column, columns_of
from panes.plan.lookups import Matching
from panes.plan.nodes import (
    AntiJoin,
    GroupBy,
    Join,
    Node,
    OuterJoin,
    Project,
    Select,
    SemiJoin,
    StreamScan,
    TableScan,
    Unnest,
    Window,
    with_children,
)


def keep_needed_columns(plan: Node) -> Node:
    """The plan with projections above its streams and tables.

    What a node gives in all its columns stays so: rows that are compared as a whole (DISTINCT, set operations,
    Istream and the like) need every one.
    """
    return _kept(plan, frozenset(plan.schema.names))


def _kept(node: Node, wanted: Set[str]) -> Node:
    """A node that gives at least the wanted columns, in their order."""
    match node:
        case Window():
            return replace(node, child=_stream(node.child, wanted | set(node.spec.partition_by)))
        case Select():
            return replace(node, child=_kept(node.child, wanted | columns_of(node.predicate)))
        case Project():
            columns = tuple(column for column in node.columns if column[0] in wanted) or node.columns[:1]
            read = frozenset[str]().union(*(columns_of(expression) for _, expression in columns))
            return Project(_kept(node.child, read), columns)
        case Unnest():
            return replace(
                node, child=_kept(node.child, (wanted - {node.column}) | columns_of(node.expression))
            )
        case GroupBy():
            args = [columns_of(arg) for a in node.aggregates for arg in a.args]
            return replace(node, child=_kept(node.child, frozenset(node.keys).union(*args)))
        case Join() | OuterJoin():
            return _matching(node, wanted, wanted)
        case SemiJoin() | AntiJoin():
            return _matching(node, wanted, frozenset())
    return with_children(node, *(_kept(child, frozenset(child.schema.names)) for child in node.children))


def _matching(node: Matching, left: Set[str], right: Set[str]) -> Node:
    tested = frozenset[str]() if node.residual is None else columns_of(node.residual)
    time = set() if node.time is None else {node.time}
    return replace(
        node,
        left=_side(node.left, left | tested | time | set(node.left_keys)),
        right=_side(node.right, right | tested | set(node.right_keys)),
    )


def _side(node: Node, wanted: Set[str]) -> Node:
    """A side of a join: a table, a stream whose tuples look one up, or a relation."""
    wanted = wanted & set(node.schema.names)
    return _stream(node, wanted) if _is_chain(node) else _kept(node, wanted)


def _stream(node: Node, wanted: Set[str]) -> Node:
    """A stream or table; a projection on top of its selections costs nothing."""
    if not _is_chain(node):
        return _kept(node, frozenset(node.schema.names))
    names = [name for name in node.schema.names if name in wanted] or list(node.schema.names[:1])
    if len(names) == len(node.schema.names):
        return node
    if isinstance(node, Project):
        return Project(node.child, tuple(column for column in node.columns if column[0] in names))
    return Project(node, tuple((name, Column(node.schema[name].type, name)) for name in names))


def _is_chain(node: Node) -> bool:
    while isinstance(node, (Select, Project, Unnest)):
        node = node.child
    return isinstance(node, (StreamScan, TableScan))
