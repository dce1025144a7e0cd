"""Walking over a plan."""

from __future__ import annotations

from collections.abc import Iterator

from panes.plan.nodes import Node, Project, Select, StreamScan, TableScan, Values


def walk(plan: Node) -> Iterator[Node]:
    """Every node of a plan, parents before children."""
    yield plan
    for child in plan.children:
        yield from walk(child)


def streams_of(plan: Node) -> frozenset[str]:
    """The names of the base streams that a plan reads."""
    return frozenset(node.stream for node in walk(plan) if isinstance(node, StreamScan))


def tables_of(plan: Node) -> frozenset[str]:
    """The names of the tables that a plan reads."""
    return frozenset(node.table for node in walk(plan) if isinstance(node, TableScan))


def is_table_only(plan: Node) -> bool:
    """Whether no stream feeds a plan: it reads tables alone, and can only be asked once."""
    return not any(isinstance(node, StreamScan) for node in walk(plan))


def has_relation(plan: Node) -> bool:
    """Whether updates of a table may change what a plan gives at any instant. Those of a table that is only looked
    up change nothing that is there."""
    return any(isinstance(node, TableScan) and node.stream is None for node in walk(plan))


def constants_below(node: Node) -> Values | None:
    """The constants under a chain of selections and projections; None when there is anything else in it."""
    while isinstance(node, (Select, Project)):
        node = node.child
    return node if isinstance(node, Values) else None
