"""FROM and WHERE: one join tree, selections on the side they belong to, equalities as join keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from panes.language.binder.bind_lookup import bind_lookup, is_looked_up
from panes.language.binder.known_relations import KnownRelations
from panes.language.binder.refusals import check_bounded, check_bounded_with_tables, check_with_tables
from panes.language.names import unused
from panes.plan.expressions import Call, Column, Expression, columns_of, conjunction
from panes.plan.lookups import table_below
from panes.plan.nodes import Join, Node, OuterJoin, Project, Select, Unnest
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
        part = next((p for p in first if any(_key(c, plan, p.node) for c in rest)), first[0])
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


def split_keys(
    conditions: Sequence[Expression], left: Node, right: Node
) -> tuple[list[tuple[Expression, Expression]], Expression | None]:
    """The equalities between left and right as pairs, and the other conditions together."""
    pairs, residual = [], []
    for condition in conditions:
        pair = _key(condition, left, right)
        if pair is not None:
            pairs.append(pair)
        else:
            residual.append(condition)
    return pairs, conjunction(tuple(residual))


def _key(condition: Expression, left: Node, right: Node) -> tuple[Expression, Expression] | None:
    """The two sides of an equality between left and right, or None."""
    return split_equality(condition, frozenset(left.schema.names), right)


def split_equality(
    condition: Expression, left_names: frozenset[str], right: Node
) -> tuple[Expression, Expression] | None:
    """`l = r` as (l, r) when l reads only left names and r only the right node."""
    if not isinstance(condition, Call) or condition.function != "eq":
        return None
    for one, other in (condition.args, condition.args[::-1]):
        on_left, on_right = columns_of(one), columns_of(other)
        if on_left and on_right and on_left <= left_names and all(n in right.schema for n in on_right):
            return one, other
    return None


def with_keys(
    left: Node, right: Node, pairs: Sequence[tuple[Expression, Expression]]
) -> tuple[Node, Node, tuple[str, ...], tuple[str, ...]]:
    """Both sides with a column for every key, and the names of those columns."""
    left, left_keys = _computed(left, [one for one, _ in pairs], right.schema.names)
    right, right_keys = _computed(right, [other for _, other in pairs], left.schema.names)
    return left, right, left_keys, right_keys


def _computed(node: Node, keys: list[Expression], others: tuple[str, ...]) -> tuple[Node, tuple[str, ...]]:
    """The node with a column for every key, computed where it is more than a column.

    `others` are the columns of the other side.
    """
    names: dict[Expression, str] = {}
    new: dict[str, Expression] = {}
    for key in dict.fromkeys(keys):
        known = key.name if isinstance(key, Column) else _already_computed(node, key)
        if known is None:
            # There may be a column with a strange name: c."a + 1" is not c.a + 1.
            known = unused(str(key), [*node.schema.names, *others, *new])
            new[known] = key
        names[key] = known
    if new:
        kept = tuple((f.name, Column(f.type, f.name)) for f in node.schema)
        node = Project(node, (*kept, *new.items()))
    return node, tuple(names[key] for key in keys)


def _already_computed(node: Node, key: Expression) -> str | None:
    """The column that an earlier join has computed for the same key."""
    match node:
        case Select():
            return _already_computed(node.child, key)
        case Unnest() if node.column not in columns_of(key):
            return _already_computed(node.child, key)
        case Join():
            sides = (side for side in node.children if all(name in side.schema for name in columns_of(key)))
            return next((found for side in sides if (found := _already_computed(side, key))), None)
        case Project():
            columns = dict(node.columns)
            # Below a projection a name may mean another column than above it.
            kept = all(columns[name] == Column(node.schema[name].type, name) for name in columns_of(key))
            return next((name for name, e in node.columns if kept and e == key), None)
    return None
