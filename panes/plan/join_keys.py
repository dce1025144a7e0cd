"""Equalities as the keys of joins."""

from __future__ import annotations

from collections.abc import Sequence

from panes.plan.expressions import Call, Column, Expression, columns_of, conjunction
from panes.plan.nodes import Join, MultiJoin, Node, Project, Select, Unnest
from panes.plan.unused import unused

KeyPair = tuple[Expression, Expression]
"""What is equal, on the left and on the right."""


def split_keys(
    conditions: Sequence[Expression], left: Node, right: Node
) -> tuple[list[KeyPair], Expression | None]:
    """The equalities between left and right as pairs, and the other conditions together."""
    pairs, residual = [], []
    for condition in conditions:
        pair = split_equality(condition, frozenset(left.schema.names), right)
        if pair is not None:
            pairs.append(pair)
        else:
            residual.append(condition)
    return pairs, conjunction(tuple(residual))


def split_equality(condition: Expression, left_names: frozenset[str], right: Node) -> KeyPair | None:
    """`l = r` as (l, r) when l reads only left names and r only the right node."""
    if not isinstance(condition, Call) or condition.function != "eq":
        return None
    for one, other in (condition.args, condition.args[::-1]):
        on_left, on_right = columns_of(one), columns_of(other)
        if on_left and on_right and on_left <= left_names and all(n in right.schema for n in on_right):
            return one, other
    return None


def with_keys(
    left: Node, right: Node, pairs: Sequence[KeyPair]
) -> tuple[Node, Node, tuple[str, ...], tuple[str, ...]]:
    """Both sides with a column for every key, and the names of those columns."""
    left, left_keys = with_key_columns(left, [one for one, _ in pairs], right.schema.names)
    right, right_keys = with_key_columns(right, [other for _, other in pairs], left.schema.names)
    return left, right, left_keys, right_keys


def with_key_columns(
    node: Node, keys: Sequence[Expression], others: tuple[str, ...]
) -> tuple[Node, tuple[str, ...]]:
    """The node with a column for every key, computed where it is more than a column.

    `others` are the columns of the other side.
    """
    names: dict[Expression, str] = {}
    new: dict[str, Expression] = {}
    for key in dict.fromkeys(keys):
        known = key.name if isinstance(key, Column) else already_computed(node, key)
        if known is None:
            # There may be a column with a strange name: c."a + 1" is not c.a + 1.
            known = unused(str(key), [*node.schema.names, *others, *new])
            new[known] = key
        names[key] = known
    if new:
        kept = tuple((f.name, Column(f.type, f.name)) for f in node.schema)
        node = Project(node, (*kept, *new.items()))
    return node, tuple(names[key] for key in keys)


def already_computed(node: Node, key: Expression) -> str | None:
    """The column of a node that an earlier join has computed for the same key; None when there is none."""
    match node:
        case Select():
            return already_computed(node.child, key)
        case Unnest() if node.column not in columns_of(key):
            return already_computed(node.child, key)
        case Join() | MultiJoin():
            sides = (side for side in node.children if all(name in side.schema for name in columns_of(key)))
            return next((found for side in sides if (found := already_computed(side, key))), None)
        case Project():
            columns = dict(node.columns)
            # Below a projection a name may mean another column than above it.
            if any(columns[name] != Column(node.schema[name].type, name) for name in columns_of(key)):
                return None
            below = already_computed(node.child, key)
            known = key if below is None else Column(key.type, below)
            return next((name for name, e in node.columns if e in (key, known)), None)
    return None
