"""Negations above or below joins: (A − B) ⋈ C = (A ⋈ C) − B.

Below the joins a negation spares them the rows that it leaves out, but then they process what it takes back. Above
them only what is above has negative tuples (update-patterns, 5.4.2). Semi-joins can stand in both places too.

A negation here is a NOT EXISTS or NOT IN: it keeps or drops a row by its values alone, so it passes whatever only
adds columns to rows or repeats them. EXCEPT ALL does not: of a value that is there twice on the left and once on
the right it leaves one, so A ⋈ C would have to be compared with B ⋈ C.
Lookups stay where they are: how long they keep versions of their table depends on what is below them. So does a
negation of which a side is a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, product
from typing import TypeGuard

from panes.optimizer.alternatives.alternative import Alternative
from panes.plan.expressions import Column, Expression, columns_of, substitute
from panes.plan.expressions import walk as walk_expression
from panes.plan.nodes import (
    AntiJoin,
    Join,
    Node,
    Project,
    Select,
    SemiJoin,
    StreamScan,
    TableScan,
    with_children,
)
from panes.plan.walk import is_table_only, walk

_Exists = SemiJoin | AntiJoin
_Kinds = tuple[type[_Exists], ...]

_MOST = 3
"""Negations and semi-joins of a plan of which all combinations are tried; more go up or down together."""


def place_negation(plan: Node) -> tuple[Alternative, ...]:
    """The plans in which each negation and each semi-join stands above all joins that it can pass, or below them,
    without the plan itself."""
    first = _Placing(plan)
    first.made()
    movable = first.movable
    if not movable:
        return ()
    ways = product((True, False), repeat=len(movable))
    together = ((up,) * len(movable) for up in (True, False))
    plans = {_shape(plan): Alternative("as written", plan)}
    for ups in ways if len(movable) <= _MOST else together:
        made = _Placing(plan, ups=ups).made()
        plans.setdefault(_shape(made), Alternative(_name(movable, ups), made))
    return tuple(plans.values())[1:]


def negation_placed(plan: Node, *, up: bool) -> Node:
    """The plan with all negations above the joins that they can pass, or below them; semi-joins stay."""
    made = _Placing(plan, (AntiJoin,), default=up).made()
    return plan if _shape(made) == _shape(plan) else made


def _name(movable: Sequence[_Filter], ups: Sequence[bool]) -> str:
    places = ["up" if up else "down" for up in ups]
    words = [filter_.word for filter_ in movable]
    if len(set(zip(words, places, strict=True))) == len(set(words)):
        return ", ".join(dict.fromkeys(f"{word} {place}" for word, place in zip(words, places, strict=True)))
    named = (f"{f.word} of {f.read} {place}" for f, place in zip(movable, places, strict=True))
    return ", ".join(named)


def _shape(node: Node) -> tuple[object, ...]:
    """What tells placements apart: a plan without the projections that carry columns on."""
    if _is_renaming(node):
        return _shape(node.child)
    name = node.alias if isinstance(node, (StreamScan, TableScan)) else ""
    return (type(node), name, *map(_shape, node.children))


@dataclass(frozen=True)
class _Filter:
    """A semi- or anti-join without its left side, on which it reads the keys and some columns more."""

    node: _Exists
    right: Node
    left_keys: tuple[str, ...]
    right_keys: tuple[str, ...]
    residual: Expression | None
    tested: frozenset[str]
    """The columns of the left side that the residual reads."""

    @property
    def word(self) -> str:
        return "semi-join" if isinstance(self.node, SemiJoin) else "negation"

    @property
    def read(self) -> str:
        """What it reads on the right."""
        return ", ".join(n.alias for n in walk(self.right) if isinstance(n, (StreamScan, TableScan)))

    @property
    def needs(self) -> frozenset[str]:
        """The columns of the left side that it reads."""
        return self.tested | frozenset(self.left_keys)

    @property
    def place(self) -> tuple[bool, str]:
        """Its place among others at the same edge: what takes nothing back is below what does."""
        return isinstance(self.node, AntiJoin), f"{self.read} {self.left_keys} {self.residual}"

    def renamed(self, names: Mapping[str, str]) -> _Filter:
        """The same over a left side whose columns have other names."""
        return replace(
            self,
            left_keys=tuple(names[key] for key in self.left_keys),
            residual=_renamed(self.residual, {name: names[name] for name in self.tested}),
            tested=frozenset(names[name] for name in self.tested),
        )

    def with_keys(self, equal: Mapping[str, str]) -> _Filter:
        """The same with keys that are equal to its own. What the residual reads stays: equal values need not be
        the same to it, as 0.0 and -0.0."""
        return replace(self, left_keys=tuple(equal.get(key, key) for key in self.left_keys))

    def over(self, left: Node) -> Node:
        """The semi- or anti-join over a left side."""
        return replace(
            self.node,
            left=left,
            right=self.right,
            left_keys=self.left_keys,
            right_keys=self.right_keys,
            residual=self.residual,
        )


def _renamed(condition: Expression | None, names: Mapping[str, str]) -> Expression | None:
    if condition is None:
        return None
    found = (column for column in walk_expression(condition) if isinstance(column, Column))
    return substitute(condition, {c.name: Column(c.type, names.get(c.name, c.name)) for c in found})


@dataclass
class _Placing:
    """A plan whose semi- and anti-joins are moved."""

    plan: Node
    kinds: _Kinds = (SemiJoin, AntiJoin)
    ups: Sequence[bool] = ()
    """For each of those that can be moved, in the order in which they are found, whether it is to go up."""
    default: bool = True
    """Whether those for which `ups` does not say it go up."""
    movable: list[_Filter] = field(default_factory=list)
    """Those that were found."""
    _given: set[str] = field(default_factory=set)
    """Names of columns that were made."""

    def made(self) -> Node:
        return self._placed(self.plan)

    def _placed(self, node: Node) -> Node:
        # Selections and projections on top of all joins and negations stay there.
        if not isinstance(node, (Join, SemiJoin, AntiJoin)) or not self._has_join(node):
            return with_children(node, *map(self._placed, node.children))
        core, filters = self._lifted(node)
        first = len(self.movable)
        self.movable += filters
        ups = [*self.ups[first:], *[self.default] * len(filters)][: len(filters)]
        for up in (False, True):
            mine = (one for one, is_up in zip(filters, ups, strict=True) if is_up is up)
            for one in sorted(mine, key=lambda one: one.place):
                core = one.over(core) if up else self._sunk_or_over(core, one)
        names = node.schema.names
        return core if core.schema.names == names else Project(core, _columns(core, names))

    def _passes(self, node: Node) -> bool:
        """Whether a semi- or anti-join that is left of a node, or right of it in a join, can be above it."""
        if isinstance(node, (Join, SemiJoin, AntiJoin)):
            return node.time is None
        return isinstance(node, Select) or _is_renaming(node)

    def _below(self, node: Node) -> tuple[Node, ...]:
        """The inputs of a node whose rows its own are made of."""
        return node.children[:1] if isinstance(node, (SemiJoin, AntiJoin)) else node.children

    def _has_join(self, node: Node) -> bool:
        """Whether there is a join among what semi- and anti-joins can pass."""
        if not self._passes(node):
            return False
        return isinstance(node, Join) or any(map(self._has_join, self._below(node)))

    def _moves(self, node: Node) -> TypeGuard[_Exists]:
        return (
            isinstance(node, self.kinds) and node.time is None and not any(map(is_table_only, node.children))
        )

    def _lifted(self, node: Node) -> tuple[Node, list[_Filter]]:
        """A node without the semi- and anti-joins that can be above it, and these, the lowest first. It may have
        more columns then, which they read."""
        if not self._passes(node):
            return self._placed(node), []
        if self._moves(node):
            core, filters = self._lifted(node.left)
            return core, [*filters, self._filter(node)]
        if isinstance(node, Join):
            left, filters = self._lifted(node.left)
            right, others = self._lifted(node.right)
            return with_children(node, left, right), filters + others
        if isinstance(node, (SemiJoin, AntiJoin)):
            core, filters = self._lifted(node.left)
            return with_children(node, core, self._placed(node.right)), filters
        core, filters = self._lifted(node.children[0])
        if not isinstance(node, Project) or not filters:
            return with_children(node, core), filters
        return self._carried(node, core, filters)

    def _filter(self, node: _Exists) -> _Filter:
        read = frozenset[str]() if node.residual is None else columns_of(node.residual)
        tested = read & frozenset(node.left.schema.names)
        right, keys, residual = self._placed(node.right), node.right_keys, node.residual
        twice = self._outside(node.right) & set(right.schema.names)
        if twice:
            # Higher up, columns of the same name may come to its left.
            names = {name: self._fresh(name) if name in twice else name for name in right.schema.names}
            right = Project(right, tuple((names[name], e) for name, e in _columns(right, right.schema.names)))
            keys = tuple(names[key] for key in keys)
            residual = _renamed(residual, {name: names[name] for name in read - tested})
        return _Filter(node, right, node.left_keys, keys, residual, tested)

    def _carried(self, node: Project, core: Node, filters: Sequence[_Filter]) -> tuple[Node, list[_Filter]]:
        """A projection below semi- and anti-joins that were below it: it carries the columns that they read."""
        names = {e.name: name for name, e in reversed(node.columns) if isinstance(e, Column)}
        more = []
        for old in sorted(frozenset[str]().union(*(one.needs for one in filters)) - names.keys()):
            names[old] = self._fresh(old)
            more.append((names[old], Column(core.schema[old].type, old)))
        return Project(core, (*node.columns, *more)), [one.renamed(names) for one in filters]

    def _sunk_or_over(self, node: Node, one: _Filter) -> Node:
        return self._sunk(node, one) or one.over(node)

    def _sunk(self, node: Node, one: _Filter) -> Node | None:
        """The node with the semi- or anti-join below its joins, as far down as can be; None when it cannot pass
        any of them."""
        if not self._passes(node):
            return None
        if isinstance(node, Join):
            return self._sunk_into_side(node, one)
        if isinstance(node, Project):
            one = one.renamed({name: e.name for name, e in node.columns if isinstance(e, Column)})
        first, *others = node.children
        below = self._sunk(first, one)
        return None if below is None else with_children(node, below, *others)

    def _sunk_into_side(self, join: Join, one: _Filter) -> Node | None:
        """The join with the semi- or anti-join on the side whose columns it reads, or equal ones."""
        left, right = join.children
        to_left, to_right = (
            dict(zip(join.right_keys, join.left_keys, strict=True)),
            dict(zip(join.left_keys, join.right_keys, strict=True)),
        )
        for keys_of_left, keys_of_right in (({}, {}), (to_left, to_right)):
            mine = one.with_keys(keys_of_left)
            if mine.needs <= set(left.schema.names) and not is_table_only(left):
                return with_children(join, self._sunk_or_over(left, mine), right)
            mine = one.with_keys(keys_of_right)
            if mine.needs <= set(right.schema.names) and not is_table_only(right):
                return with_children(join, left, self._sunk_or_over(right, mine))
        return None

    def _outside(self, inner: Node) -> set[str]:
        """The names of all columns of the plan that are not below a node."""

        def names(node: Node) -> Iterator[str]:
            if node is not inner:
                yield from node.schema.names
                for child in node.children:
                    yield from names(child)

        return set(names(self.plan))

    def _fresh(self, name: str) -> str:
        """A name that no column of the plan has."""
        if not self._given:
            self._given.update(known for node in walk(self.plan) for known in node.schema.names)
        made = next(f"{name}_{n}" for n in count(1) if f"{name}_{n}" not in self._given)
        self._given.add(made)
        return made


def _is_renaming(node: Node) -> TypeGuard[Project]:
    """Whether a node gives columns of its child as they are, under whatever name."""
    return isinstance(node, Project) and all(isinstance(e, Column) for _, e in node.columns)


def _columns(node: Node, names: Sequence[str]) -> tuple[tuple[str, Expression], ...]:
    return tuple((name, Column(node.schema[name].type, name)) for name in names)
