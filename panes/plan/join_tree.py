"""Trees of inner joins, taken apart into what they join and the conditions under which they do, and put together
in any order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from panes.plan.can_fail import can_fail
from panes.plan.expressions import (
    Call,
    Column,
    Expression,
    OwnCall,
    columns_of,
    conjunction,
    conjuncts,
    substitute,
)
from panes.plan.expressions import walk as walk_expression
from panes.plan.join_keys import already_computed, split_equality, with_keys
from panes.plan.nodes import Join, Node, Project, Select
from panes.plan.selected import selected
from panes.plan.types import BOOLEAN
from panes.plan.unused import unused
from panes.plan.walk import is_table_only

Columns = tuple[tuple[str, Expression], ...]


@dataclass(frozen=True)
class JoinTree:
    """Relations that are joined, in the order of the plan that they are from.

    No two leaves have a column of the same name. An equality between columns of two leaves is a key of a join in
    most orders, and one between expressions is, too.
    """

    leaves: tuple[Node, ...]
    conditions: tuple[Expression, ...]
    """Over columns of the leaves. Together they say which combinations of rows are in the answer."""
    columns: Columns
    """The columns of the answer, computed from those of the leaves."""

    def in_order(self, order: Sequence[int]) -> Node:
        """The same relation, with the leaves joined in another order: each is joined with all before it."""
        return joined([self.leaves[place] for place in order], self.conditions, self.columns)


def join_tree_of(node: Node) -> JoinTree | None:
    """The tree of inner joins that a node is the top of; None when it is none, or a join with a table.

    Selections and projections that stand between joins become part of it, as far as they can be computed
    at another place: not if they call functions of users, and not if they can fail, since they may depend on
    selections below them. A join with a table belongs to no tree: there streams come first, and lookups go by the
    time of a tuple.
    """
    shown = node.columns if isinstance(node, Project) else None
    top = node.child if isinstance(node, Project) else node
    if not _leads_to_join(top):
        return None
    taking = _TakingApart()
    below = taking.columns_of(top)
    if shown is None:
        columns = tuple((name, below[name]) for name in node.schema.names)
    else:
        columns = tuple((name, substitute(expression, below)) for name, expression in shown)
    return JoinTree(tuple(taking.leaves), tuple(dict.fromkeys(taking.conditions)), columns)


def joined(leaves: Sequence[Node], conditions: Sequence[Expression], columns: Columns | None = None) -> Node:
    """The leaves joined from left to right, each with all before it, and a projection to the columns.

    Every condition stands where its columns are first known: on a leaf, as a key of a join, computed below it
    where it is more than a column, or in what a join tests beside its keys. An equality that follows from others
    before it is left out. Without columns the answer has those of all leaves, in their order.
    """
    if columns is None:
        columns = tuple((f.name, Column(f.type, f.name)) for leaf in leaves for f in leaf.schema)
    rest = list(conditions)
    equal = _Equal()
    plan, *waiting = (selected(leaf, _taken(rest, leaf)) for leaf in leaves)
    for leaf in waiting:
        plan = _join(plan, leaf, rest, equal)
    return with_columns(selected(plan, rest), columns)


def _leads_to_join(node: Node) -> bool:
    while _is_passed(node):
        (node,) = node.children
    return isinstance(node, Join) and node.time is None and not any(map(is_table_only, node.children))


def _is_passed(node: Node) -> bool:
    """Whether a selection or projection may be computed at another place of the tree."""
    match node:
        case Select():
            return not can_fail(node.predicate)
        case Project():
            known = {f.name: Column(f.type, f.name) for f in node.child.schema}
            computed = [e for name, e in node.columns if not isinstance(e, Column)]
            if all(column in dict(node.columns).items() for column in known.items()):
                # It only adds columns: keys of the join above it.
                return not any(isinstance(e, OwnCall) for c in computed for e in walk_expression(c))
            return not any(map(can_fail, computed))
    return False


@dataclass
class _TakingApart:
    """Collects the leaves of a tree and their conditions, from left to right."""

    leaves: list[Node] = field(default_factory=list)
    conditions: list[Expression] = field(default_factory=list)

    def columns_of(self, node: Node) -> Mapping[str, Expression]:
        """The columns of a node, over those of the leaves."""
        if not _leads_to_join(node):
            return self._leaf(node)
        match node:
            case Select():
                below = self.columns_of(node.child)
                self.conditions += [substitute(c, below) for c in conjuncts(node.predicate)]
                return below
            case Project():
                below = self.columns_of(node.child)
                return {name: substitute(expression, below) for name, expression in node.columns}
            case Join():
                left = self.columns_of(node.left)
                right = self.columns_of(node.right)
                for one, other in zip(node.left_keys, node.right_keys, strict=True):
                    self.conditions.append(Call(BOOLEAN, "eq", (left[one], right[other])))
                both = {**left, **right}
                self.conditions += [substitute(c, both) for c in conjuncts(node.residual)]
                return both
        raise TypeError(f"{type(node).__name__} is in no tree of joins")

    def _leaf(self, node: Node) -> Mapping[str, Expression]:
        taken = [name for leaf in self.leaves for name in leaf.schema.names]
        if not set(taken).isdisjoint(node.schema.names):
            # Two derived tables may have the same names inside; they are joined under other ones.
            new: dict[str, str] = {}
            for name in node.schema.names:
                new[name] = unused(name, [*taken, *new.values()])
            columns = tuple((new[f.name], Column(f.type, f.name)) for f in node.schema)
            self.leaves.append(Project(node, columns))
            return {f.name: Column(f.type, new[f.name]) for f in node.schema}
        self.leaves.append(node)
        return {f.name: Column(f.type, f.name) for f in node.schema}


@dataclass
class _Equal:
    """What is known to be equal in all rows, because joins have compared it."""

    classes: dict[Expression, set[Expression]] = field(default_factory=dict)

    def add(self, one: Expression, other: Expression) -> bool:
        """Whether it is new that these are equal."""
        ones, others = self.classes.get(one, {one}), self.classes.get(other, {other})
        if other in ones:
            return False
        both = ones | others
        self.classes |= dict.fromkeys(both, both)
        return True


def _join(left: Node, right: Node, rest: list[Expression], equal: _Equal) -> Join:
    known = frozenset(left.schema.names)
    mine = _taken(rest, left, right)
    pairs, residual = [], []
    for condition in mine:
        pair = split_equality(condition, known, right)
        if pair is None:
            residual.append(condition)
        elif equal.add(*pair):
            pairs.append(pair)
    return Join(*with_keys(left, right, pairs), conjunction(tuple(residual)))


def _taken(conditions: list[Expression], *known: Node) -> list[Expression]:
    """Takes the conditions that columns of some nodes decide."""
    names = {name for node in known for name in node.schema.names}
    mine = [c for c in conditions if columns_of(c) and columns_of(c) <= names]
    for condition in mine:
        conditions.remove(condition)
    return mine


def with_columns(node: Node, columns: Columns) -> Node:
    """The columns over a node, without computing again what a join has for its keys."""
    if tuple(name for name, _ in columns) == node.schema.names and all(
        e == Column(e.type, name) for name, e in columns
    ):
        return node
    return Project(node, tuple((name, _found(expression, node)) for name, expression in columns))


def _found(expression: Expression, node: Node) -> Expression:
    known = None if isinstance(expression, Column) else already_computed(node, expression)
    return expression if known is None else Column(expression.type, known)
