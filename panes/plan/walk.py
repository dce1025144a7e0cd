"""Walking over a plan."""

from __future__ import annotations

from collections.abc import Iterator

from panes.plan.nodes import Node


def walk(plan: Node) -> Iterator[Node]:
    """Every node of a plan, parents before children."""
    yield plan
    for child in plan.children:
        yield from walk(child)
