"""Columns of which no two rows of a relation have the same values."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from panes.plan.expressions import Column
from panes.plan.nodes import (
    AntiJoin,
    Distinct,
    Except,
    GroupBy,
    Intersect,
    Join,
    MultiJoin,
    Node,
    OrderBy,
    Over,
    Project,
    Select,
    SemiJoin,
    TopN,
)

UniqueColumns = frozenset[frozenset[str]]


def unique_columns(node: Node) -> UniqueColumns:
    """Sets of columns that tell all rows of a relation apart at every instant, where NULL equals NULL.

    The empty set is among them for a relation of at most one row. There is none when rows may be equal.
    """
    return frozenset(_found(node))


def is_without_duplicates(node: Node) -> bool:
    """Whether no row of a relation is there twice."""
    return bool(unique_columns(node))


def _found(node: Node) -> Iterator[frozenset[str]]:
    match node:
        case Distinct():
            yield frozenset(node.schema.names)
            yield from _found(node.child)
        case GroupBy():
            yield frozenset(node.keys)
        case Select() | TopN() | OrderBy() | Over():
            yield from _found(node.child)
        case SemiJoin() | AntiJoin() | Except():
            yield from _found(node.left)
        case Intersect():
            # A row is there as often as on the side that has fewer of it.
            yield from _found(node.left)
            if is_without_duplicates(node.right):
                yield frozenset(node.schema.names)
        case Project():
            kept = {e.name: name for name, e in node.columns if isinstance(e, Column)}
            for columns in _found(node.child):
                if columns <= kept.keys():
                    yield frozenset(kept[column] for column in columns)
        case Join(time=None) | MultiJoin():
            for each in product(*map(unique_columns, node.children)):
                yield frozenset[str]().union(*each)
