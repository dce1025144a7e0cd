"""FROM and WHERE: parts joined in the order of the text, and conditions above them. Rules move these to where they
are best tested, and the joins to where conditions tie them (`optimizer/rules`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from panes.language.binder.bind_lookup import bind_lookup, is_looked_up
from panes.language.binder.known_relations import KnownRelations
from panes.language.binder.refusals import (
    check_bounded,
    check_bounded_with_tables,
    check_with_tables,
    unbounded_stream,
)
from panes.plan.expressions import Expression, columns_of
from panes.plan.join_keys import split_equality, split_keys, with_keys
from panes.plan.lookups import table_below
from panes.plan.nodes import Join, Node
from panes.plan.now import temporal_filter
from panes.plan.selected import selected
from panes.plan.walk import is_table_only


@dataclass(frozen=True)
class Part:
    """A relation of FROM, or several that an outer join holds together: what can be joined in any order."""

    node: Node
    offset: int


def join_tree(
    parts: Sequence[Part], conditions: Sequence[Expression], catalog: KnownRelations, text: str
) -> Node:
    """The streams of a FROM clause joined from left to right, and then its tables, below all conditions.

    Tuples look up a table by the conditions that tie it to them, and these say whose time counts. So they stand
    in joins with tables, and the next table is the first that an equality ties to what is before it.
    """
    _check_bounded(parts, text)
    rest = list(conditions)
    waiting = sorted(parts, key=_streams_first)
    streams = [part for part in waiting if not is_table_only(part.node)] or waiting[:1]
    del waiting[: len(streams)]
    plan = streams[0].node
    for part in streams[1:]:
        plan = _checked(Join(plan, part.node, (), ()), part, catalog, text)
    plan = selected(plan, _taken(rest, plan))
    above: list[Expression] = []
    while waiting:
        part = next((p for p in waiting if any(_ties(c, plan, p.node) for c in rest)), waiting[0])
        waiting.remove(part)
        above += _taken(rest, part.node)
        pairs, residual = split_keys(_taken(rest, plan, part.node), plan, part.node)
        plan = _checked(Join(*with_keys(plan, part.node, pairs), residual), part, catalog, text)
    return selected(plan, [*above, *rest])


def bounded_by_now(
    parts: Sequence[Part], conditions: Sequence[Expression]
) -> tuple[list[Part], list[Expression]]:
    """The parts, those without windows below the conditions on `now()` that let their rows leave, and the
    conditions that are left. A stream that meets no other one stays as it is: it looks tables up."""
    if sum(not is_table_only(part.node) for part in parts) < 2:
        return list(parts), list(conditions)
    bounded, rest = [], list(conditions)
    for part in parts:
        node = part.node
        own = [c for c in rest if columns_of(c) <= set(node.schema.names)]
        for condition in own if unbounded_stream(node) is not None else ():
            cut = temporal_filter(node, condition, ())
            if cut is not None and cut.op in ("gt", "ge"):
                node = cut
                rest.remove(condition)
        bounded.append(Part(node, part.offset))
    return bounded, rest


def _checked(join: Join, part: Part, catalog: KnownRelations, text: str) -> Node:
    """The join with a part, as a lookup where it is one; refused where it would have to remember without end."""
    if is_looked_up(join.left, join.right):
        return bind_lookup(join, catalog, text, part.offset)
    check_with_tables(join.left, join.right, text, part.offset)
    check_bounded_with_tables(join.left, join.right, text, part.offset)
    return join


def _taken(conditions: list[Expression], *known: Node) -> list[Expression]:
    """Takes the conditions that columns of some nodes decide."""
    names = {name for node in known for name in node.schema.names}
    mine = [c for c in conditions if columns_of(c) and columns_of(c) <= names]
    for condition in mine:
        conditions.remove(condition)
    return mine


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


def _ties(condition: Expression, left: Node, right: Node) -> bool:
    return split_equality(condition, frozenset(left.schema.names), right) is not None
