"""Which functions and aggregates of users a plan calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from panes.plan.expressions import Aggregate, Expression, OwnCall
from panes.plan.expressions import walk as walk_expression
from panes.plan.nodes import Node
from panes.plan.walk import walk


def own_calls(plan: Node) -> tuple[OwnCall | Aggregate, ...]:
    """The calls of functions of users, and their aggregates, each once."""
    found = (call for node in walk(plan) for f in fields(node) for call in _calls(getattr(node, f.name)))
    return tuple(dict.fromkeys(found))


def _calls(value: object) -> Iterator[OwnCall | Aggregate]:
    if isinstance(value, Node):
        return  # it is walked by itself
    if isinstance(value, Expression):
        yield from (e for e in walk_expression(value) if isinstance(e, OwnCall))
    elif isinstance(value, tuple):
        for item in value:
            yield from _calls(item)
    elif isinstance(value, Aggregate):
        if value.path:
            yield value
        for arg in value.args:
            yield from _calls(arg)
    elif is_dataclass(value) and not isinstance(value, type):
        for f in fields(value):
            yield from _calls(getattr(value, f.name))
