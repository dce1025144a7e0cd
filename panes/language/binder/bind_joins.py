"""FROM and WHERE: one join tree, selections on the side they belong to, equalities as join keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from panes.language.binder.bind_lookup import bind_lookup, is_looked_up
from panes.language.binder.known_relations import KnownRelations
from panes.language.binder.refusals import check_bounded, check_bounded_with_tables, check_with_tables
from panes.plan.expressions import Expression, columns_of, conjunction
from panes.plan.join_keys import split_equality, split_keys, with_keys
from panes.plan.lookups import table_below
from panes.plan.nodes import Join, Node, OuterJoin, Select
from panes.plan.walk import is_table_only


@dataclass(frozen=True)
class Part:
    """A relation of FROM, or several that an outer join holds together: what can be joined in any order."""

    node: Node
    offset: int


def join_tree(
    parts: Sequence[Part], conditions: Sequence[Expression], catalog: KnownRelations, text: str
) -> Node:
    """The parts of a FROM clause joined from left to right, streams before tables.

    The next one is the first that an equality ties to those before it, so that a product is made only where the
    query asks for one.
    """
    _check_bounded(parts, text)
    rest = list(conditions)
    waiting = sorted(parts, key=_streams_first)
    plan = _selected(waiting.pop(0).node, rest)
    while waiting:
        # A table waits until the streams are joined, whatever ties it to them.
        streams = [part for part in waiting if not is_table_only(part.node)]
        first = streams or waiting
        part = next((p for p in first if any(_ties(c, plan, p.node) for c in rest)), first[0])
        waiting.remove(part)
        plan = _join(plan, part, rest, catalog, text)
    return selected(plan, rest)


def _check_bounded(parts: Sequence[Part], text: str) -> None:
    """Streams that are joined with others have windows."""
    streams = [part for part in parts if not is_table_only(part.node)]
    for part in streams if len(streams) > 1 else ():
        check_bounded("a join", text, part.offset, part.node)


def _streams_first(part: Part) -> int:
    """Streams, then tables that are not retroactive (they keep the pattern), then the others."""
    if not is_table_only(part.node):
        return 0
    table = table_below(part.node)
    return 2 if table is None or table.retroactive else 1


def _selected(node: Node, rest: list[Expression]) -> Node:
    """The node below the conditions that only it can decide; they are taken out of `rest`."""
    mine = [c for c in rest if columns_of(c) and all(name in node.schema for name in columns_of(c))]
    for condition in mine:
        rest.remove(condition)
    return _selected_below(node, mine)


def _selected_below(node: Node, conditions: Sequence[Expression]) -> Node:
    """Select by all the conditions; those on the rows that a LEFT JOIN keeps are tested before it."""
    if not isinstance(node, OuterJoin) or node.is_full:
        return selected(node, conditions)
    below = [c for c in conditions if all(name in node.left.schema for name in columns_of(c))]
    node = replace(node, left=_selected_below(node.left, below))
    return selected(node, [c for c in conditions if c not in below])


def selected(node: Node, conditions: Sequence[Expression]) -> Node:
    """Select by all the conditions, or the node itself when there are none."""
    predicate = conjunction(tuple(conditions))
    return node if predicate is None else Select(node, predicate)


def _join(left: Node, part: Part, rest: list[Expression], catalog: KnownRelations, text: str) -> Node:
    right = _selected(part.node, rest)
    known = set(left.schema.names) | set(right.schema.names)
    mine = [c for c in rest if columns_of(c) and columns_of(c) <= known]
    for condition in mine:
        rest.remove(condition)
    pairs, residual = split_keys(mine, left, right)
    join = Join(*with_keys(left, right, pairs), residual)
    if is_looked_up(left, right):
        return bind_lookup(join, catalog, text, part.offset)
    check_with_tables(left, right, text, part.offset)
    check_bounded_with_tables(left, right, text, part.offset)
    return join


def _ties(condition: Expression, left: Node, right: Node) -> bool:
    return split_equality(condition, frozenset(left.schema.names), right) is not None
