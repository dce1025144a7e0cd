"""DISTINCT below joins: δ(π(L ⋈ R)) = δ(π(δ(π(L)) ⋈ δ(π(R)))), where sides have the columns that are read of them.

Joins then keep each value once, however often it is in the window (update-patterns, 5.4.2), and what is below a
negation forgets duplicates without keeping its whole input. The outer δ is left out where the columns of the
answer decide which rows of the sides a row is made of: then no two rows are equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, replace

from panes.optimizer.alternatives.alternative import Alternative
from panes.optimizer.estimates import Estimates
from panes.plan.expressions import Call, Column, Expression, columns_of
from panes.plan.nodes import AntiJoin, Distinct, Join, Node, Project, Select, SemiJoin, with_children
from panes.plan.types import DOUBLE, FLOAT
from panes.plan.walk import is_table_only

_FLOATS = (FLOAT, DOUBLE)
"""Types of which equal values need not be the same: 0.0 and -0.0."""
_COMPARING = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "in", "is_null", "is_not_null"})
"""Functions that give the same for equal arguments."""
_FEW = 0.5
"""Where fewer than this share of the rows are different, duplicates are worth leaving out."""


def distinct_below_joins(plan: Node, estimates: Estimates) -> tuple[Alternative, ...]:
    """The plan with every DISTINCT below the joins under it: on all of their inputs, and on those alone in which
    duplicates are expected."""
    everywhere = _Pushing(None).pushed(plan)
    if everywhere == plan:
        return ()
    found = [Alternative("DISTINCT below joins", everywhere)]
    some = _Pushing(estimates).pushed(plan)
    if some not in (plan, everywhere):
        found.append(Alternative("DISTINCT below joins, where many are equal", some))
    return tuple(found)


@dataclass(frozen=True)
class _Narrowed:
    """A relation without the duplicates of its inputs, and columns that tell all its rows apart; None when equal
    rows may be left in it."""

    node: Node
    key: frozenset[str] | None


@dataclass(frozen=True)
class _Pushing:
    estimates: Estimates | None
    """If given, DISTINCT is put only where these expect duplicates."""

    def pushed(self, node: Node) -> Node:
        if isinstance(node, Distinct):
            columns = _columns(node.child)
            below = node.child
            if isinstance(below, Project):
                columns, below = below.columns, below.child
            if _has_join(below) and not any(map(_tells_zeros, _read(columns, below))):
                return self._below(columns, below)
        return with_children(node, *map(self.pushed, node.children))

    def _below(self, columns: tuple[tuple[str, Expression], ...], below: Node) -> Node:
        read = frozenset[str]().union(*(columns_of(e) for _, e in columns))
        narrowed = self._narrowed(below, read)
        given = Project(narrowed.node, columns)
        decided = _closed({e.name for _, e in columns if isinstance(e, Column)}, narrowed.node)
        return given if narrowed.key is not None and narrowed.key <= decided else Distinct(given)

    def _narrowed(self, node: Node, wanted: Set[str]) -> _Narrowed:
        """A relation that has the wanted columns of a node, with the same values in them, each at least once."""
        if not _has_join(node):
            return self._input(node, wanted)
        match node:
            case Join():
                need = wanted | _matched(node)
                left = self._narrowed(node.left, need & set(node.left.schema.names))
                right = self._narrowed(node.right, need & set(node.right.schema.names))
                both = None if left.key is None or right.key is None else left.key | right.key
                return _Narrowed(with_children(node, left.node, right.node), both)
            case SemiJoin() | AntiJoin():
                need = (wanted | _matched(node)) & set(node.left.schema.names)
                left = self._narrowed(node.left, need)
                return _Narrowed(with_children(node, left.node, self.pushed(node.right)), left.key)
            case Select():
                below = self._narrowed(node.child, wanted | columns_of(node.predicate))
                return _Narrowed(replace(node, child=below.node), below.key)
        assert isinstance(node, Project)
        columns = tuple(column for column in node.columns if column[0] in wanted) or node.columns[:1]
        names = {e.name: name for name, e in columns if isinstance(e, Column)}
        below = self._narrowed(node.child, names.keys())
        is_told = below.key is not None and below.key <= names.keys()
        key = frozenset(names[name] for name in below.key or ()) if is_told else None
        return _Narrowed(Project(below.node, columns), key)

    def _input(self, node: Node, wanted: Set[str]) -> _Narrowed:
        names = tuple(name for name in node.schema.names if name in wanted) or node.schema.names[:1]
        is_comparable = not any(node.schema[name].type.is_nested for name in names)
        # A table stays as it is: shards may have all of it, and its rows are not many.
        if is_table_only(node) or not is_comparable or not self._repeats(node, names):
            return _Narrowed(self.pushed(node), None)
        below = self.pushed(node)
        if len(names) < len(node.schema.names):
            below = Project(below, tuple((name, Column(node.schema[name].type, name)) for name in names))
        return _Narrowed(below if isinstance(below, Distinct) else Distinct(below), frozenset(names))

    def _repeats(self, node: Node, names: tuple[str, ...]) -> bool:
        if self.estimates is None:
            return True
        return self.estimates.distinct(node, names) < _FEW * self.estimates.of(node).size


def _has_join(node: Node) -> bool:
    """Whether a DISTINCT can go below a join here."""
    match node:
        case Join() | SemiJoin() | AntiJoin():
            return node.time is None  # a lookup decides by the time of a tuple, which equal rows do not share
        case Select():
            return _has_join(node.child)
        case Project():
            return all(isinstance(e, Column) for _, e in node.columns) and _has_join(node.child)
    return False


def _matched(node: Join | SemiJoin | AntiJoin) -> frozenset[str]:
    """The columns that a join reads to find its matches."""
    tested = frozenset[str]() if node.residual is None else columns_of(node.residual)
    return tested | frozenset(node.left_keys) | frozenset(node.right_keys)


def _read(columns: tuple[tuple[str, Expression], ...], node: Node) -> Iterator[Expression]:
    """What is computed from rows without duplicates: columns of the answer, and conditions of the joins."""
    yield from (e for _, e in columns if not isinstance(e, Column))
    if not _has_join(node):
        return
    if isinstance(node, (Join, SemiJoin, AntiJoin)) and node.residual is not None:
        yield node.residual
    if isinstance(node, Select):
        yield node.predicate
    for child in _joined(node):
        yield from _read((), child)


def _tells_zeros(expression: Expression) -> bool:
    """Whether an expression may give different values for rows that DISTINCT takes for equal."""
    if isinstance(expression, Column):
        return expression.type in _FLOATS
    inside = expression.children
    if isinstance(expression, Call) and expression.function in _COMPARING:
        inside = tuple(arg for arg in inside if not isinstance(arg, Column))
    return any(map(_tells_zeros, inside))


def _joined(node: Node) -> tuple[Node, ...]:
    """The inputs of a node whose columns it gives."""
    return node.children if isinstance(node, Join) else node.children[:1]


def _closed(columns: Set[str], node: Node) -> Set[str]:
    """Columns of a tree of joins, and those that are equal to one of them in all of its rows."""
    found = set(columns)
    pairs = list(_equal(node))
    while more := {name for pair in pairs if found & pair for name in pair} - found:
        found |= more
    return found


def _equal(node: Node) -> Iterator[frozenset[str]]:
    if not _has_join(node):
        return
    if isinstance(node, Join):
        for one, other in zip(node.left_keys, node.right_keys, strict=True):
            if node.left.schema[one].type not in _FLOATS:
                yield frozenset({one, other})
    if isinstance(node, Project):
        yield from (frozenset({name, e.name}) for name, e in node.columns if isinstance(e, Column))
    for child in _joined(node):
        yield from _equal(child)


def _columns(node: Node) -> tuple[tuple[str, Expression], ...]:
    return tuple((f.name, Column(f.type, f.name)) for f in node.schema)
