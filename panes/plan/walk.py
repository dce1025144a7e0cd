"""Walking over a plan."""

from __future__ import annotations

from collections.abc import Iterator

from panes.plan.nodes import Node, StreamScan


def walk(plan: Node) -> Iterator[Node]:
    """Every node of a plan, parents before children."""
    yield plan
    for child in plan.children:
        yield from walk(child)


def streams_of(plan: Node) -> frozenset[str]:
    """The names of the base streams that a plan reads."""
    return frozenset(node.stream for node in walk(plan) if isinstance(node, StreamScan))
