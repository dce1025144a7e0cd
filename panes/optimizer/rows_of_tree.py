"""What is known of the relations of a tree of joins, and of the conditions among them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod

from panes.optimizer.assumed import assumed_selectivity
from panes.optimizer.equality_classes import EqualityClass, EqualityClasses
from panes.optimizer.estimates import Estimates
from panes.optimizer.joined_column import JoinedColumn
from panes.optimizer.joined_rows import JoinedCondition, JoinedRows
from panes.plan.expressions import Call, Column, Expression, columns_of, conjunction
from panes.plan.join_tree import JoinTree
from panes.plan.nodes import Join, Node, Select


def rows_of_tree(tree: JoinTree, classes: EqualityClasses, estimates: Estimates) -> JoinedRows:
    """The estimates of all joins of leaves of a tree."""
    reading = _Reading(tree, classes, estimates)
    return JoinedRows([estimates.of(leaf) for leaf in reading.leaves], reading.columns, reading.conditions)


@dataclass(frozen=True)
class _Reading:
    tree: JoinTree
    classes: EqualityClasses
    estimates: Estimates

    @cached_property
    def leaves(self) -> list[Node]:
        """The leaves, each with the conditions that it decides alone."""
        own: dict[int, list[Expression]] = {}
        for condition in self.classes.conditions(range(len(self.tree.leaves))):
            read = self._read(condition)
            if len(read) == 1:
                own.setdefault(min(read), []).append(condition)
        leaves = list(self.tree.leaves)
        for number, conditions in own.items():
            predicate = conjunction(tuple(conditions))
            assert predicate is not None
            leaves[number] = Select(leaves[number], predicate)
        return leaves

    @cached_property
    def columns(self) -> list[JoinedColumn]:
        """One for each class that ties leaves together."""
        return [self._column(found) for found in self.classes.classes if len(found.of_leaf) > 1]

    @cached_property
    def conditions(self) -> list[JoinedCondition]:
        found = [self._condition(c) for c in self.classes.others if len(self._read(c)) > 1]
        return found + (self._together() if self._has_measured else [])

    @cached_property
    def _has_measured(self) -> bool:
        return any(name.kind == "join" for name in self.estimates.statistics.facts)

    @cached_property
    def _leaf_of(self) -> dict[str, int]:
        return {name: number for number, leaf in enumerate(self.tree.leaves) for name in leaf.schema.names}

    def _read(self, expression: Expression) -> set[int]:
        return {self._leaf_of[name] for name in columns_of(expression)}

    def _column(self, found: EqualityClass) -> JoinedColumn:
        values = {leaf: self._values(members[0]) for leaf, members in found.of_leaf.items()}
        if not self._has_measured:
            return JoinedColumn(values)
        pairs = (tuple(sorted(pair)) for pair in combinations(values, 2))
        ties = {(one, other): self._share(one, other, [found]) for one, other in pairs}
        return JoinedColumn(values, {pair: tie for pair, tie in ties.items() if tie is not None})

    def _values(self, expression: Expression) -> float:
        """How many different values an expression has: as many as the columns of a leaf that it is made of."""
        by_leaf: dict[int, list[str]] = {}
        for name in sorted(columns_of(expression)):
            by_leaf.setdefault(self._leaf_of[name], []).append(name)
        return max(self.estimates.distinct(self.leaves[leaf], names) for leaf, names in by_leaf.items())

    def _condition(self, condition: Expression) -> JoinedCondition:
        read = self._read(condition)
        relations = sum(1 << leaf for leaf in read)
        if isinstance(condition, Call) and condition.function == "eq":
            one, other = (sum(1 << leaf for leaf in self._read(side)) for side in condition.args)
            if one and other and not one & other:
                return JoinedCondition(relations, 1 / max(map(self._values, condition.args)), (one, other))
        known = None
        if self._has_measured and len(read) == 2:
            known = self._share(min(read), max(read), [], condition)
        return JoinedCondition(relations, assumed_selectivity(condition) if known is None else known)

    def _together(self) -> list[JoinedCondition]:
        """By how much the share of all conditions between two leaves differs from the shares of each."""
        found = []
        for one, other in combinations(range(len(self.leaves)), 2):
            both = 1 << one | 1 << other
            classes = [c for c in self.classes.classes if one in c.of_leaf and other in c.of_leaf]
            others = [c for c in self.classes.others if self._read(c) == {one, other}]
            if len(classes) + len(others) < 2:
                continue
            known = self._share(one, other, classes, conjunction(tuple(others)))
            apart = prod(self._column(c).share(both) for c in classes)
            apart *= prod(self._condition(c).share for c in others)
            if known is not None and apart:
                found.append(JoinedCondition(both, known / apart))
        return found

    def _share(
        self, one: int, other: int, classes: list[EqualityClass], residual: Expression | None = None
    ) -> float | None:
        """The share of pairs of rows of two leaves that agree in classes and pass another condition; None where
        they agree in an expression, of which nothing is measured."""
        pairs = [(found.of_leaf[one][0], found.of_leaf[other][0]) for found in classes]
        keys = [(a.name, b.name) for a, b in pairs if isinstance(a, Column) and isinstance(b, Column)]
        if len(keys) < len(pairs):
            return None
        left, right = tuple(a for a, _ in keys), tuple(b for _, b in keys)
        return self.estimates.match(Join(self.leaves[one], self.leaves[other], left, right, residual))
