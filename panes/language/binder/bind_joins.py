"""FROM and WHERE: one join tree, selections on the side they belong to, equalities as join keys."""

from __future__ import annotations

from collections.abc import Sequence

from panes.language.binder.bind_lookup import bind_lookup, is_looked_up
from panes.language.binder.known_relations import KnownRelations
from panes.language.binder.refusals import check_bounded, check_bounded_with_tables, check_with_tables
from panes.language.binder.scope import Relation, Scope
from panes.language.names import unused
from panes.plan.expressions import Call, Column, Expression, columns_of, conjunction
from panes.plan.lookups import table_below
from panes.plan.nodes import Join, Node, Project, Select
from panes.plan.walk import is_table_only


def join_tree(scope: Scope, conditions: Sequence[Expression], catalog: KnownRelations) -> Node:
    """The relations of a scope joined from left to right, streams before tables.

    The next relation is the first one that an equality ties to those before it, so that a product is made
    only where the query asks for one.
    """
    _check_bounded(scope)
    rest = list(conditions)
    waiting = sorted(scope.relations, key=_streams_first)
    plan = _selected(waiting.pop(0).node, rest)
    while waiting:
        # A table waits until the streams are joined, whatever ties it to them.
        streams = [relation for relation in waiting if not is_table_only(relation.node)]
        first = streams or waiting
        relation = next((r for r in first if any(_key(c, plan, r.node) for c in rest)), first[0])
        waiting.remove(relation)
        plan = _join(plan, relation, rest, scope, catalog)
    return selected(plan, rest)


def _check_bounded(scope: Scope) -> None:
    """Streams that are joined with others have windows."""
    streams = [relation for relation in scope.relations if not is_table_only(relation.node)]
    for relation in streams if len(streams) > 1 else ():
        check_bounded("a join", scope.text, relation.offset, relation.node)


def _streams_first(relation: Relation) -> int:
    """Streams, then tables that are not retroactive (they keep the pattern), then the others."""
    if not is_table_only(relation.node):
        return 0
    table = table_below(relation.node)
    return 2 if table is None or table.retroactive else 1


def _selected(node: Node, rest: list[Expression]) -> Node:
    """The node below the conditions that only it can decide; they are taken out of `rest`."""
    mine = [c for c in rest if columns_of(c) and all(name in node.schema for name in columns_of(c))]
    for condition in mine:
        rest.remove(condition)
    return selected(node, mine)


def selected(node: Node, conditions: Sequence[Expression]) -> Node:
    """Select by all the conditions, or the node itself when there are none."""
    predicate = conjunction(tuple(conditions))
    return node if predicate is None else Select(node, predicate)


def _join(
    left: Node, relation: Relation, rest: list[Expression], scope: Scope, catalog: KnownRelations
) -> Node:
    right = _selected(relation.node, rest)
    pairs = []
    for condition in list(rest):
        pair = _key(condition, left, right)
        if pair is not None:
            pairs.append(pair)
            rest.remove(condition)
    known = set(left.schema.names) | set(right.schema.names)
    residual = [c for c in rest if columns_of(c) and columns_of(c) <= known]
    for condition in residual:
        rest.remove(condition)
    join = Join(*with_keys(left, right, pairs), conjunction(tuple(residual)))
    if is_looked_up(left, right):
        return bind_lookup(join, catalog, scope.text, relation.offset)
    check_with_tables(left, right, scope.text, relation.offset)
    check_bounded_with_tables(left, right, scope.text, relation.offset)
    return join


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
        case Join():
            sides = (side for side in node.children if all(name in side.schema for name in columns_of(key)))
            return next((found for side in sides if (found := _already_computed(side, key))), None)
        case Project():
            columns = dict(node.columns)
            # Below a projection a name may mean another column than above it.
            kept = all(columns[name] == Column(node.schema[name].type, name) for name in columns_of(key))
            return next((name for name, e in node.columns if kept and e == key), None)
    return None
