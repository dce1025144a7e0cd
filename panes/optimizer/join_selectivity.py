"""Which share of all combinations of rows a join of several relations gives, the same for every tree.

It is the product of what each class of equal columns (`optimizer/joined_column.py`) and each other condition
leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import prod

from panes.optimizer.assumed import assumed_selectivity
from panes.optimizer.fact_names import join_name
from panes.optimizer.joined_column import JoinedColumn
from panes.optimizer.joined_relations import Attribute, JoinedRelations
from panes.optimizer.statistics import Statistics
from panes.plan.expressions import Column, Expression, conjunction, substitute, walk
from panes.plan.nodes import Join, Node


@dataclass
class JoinSelectivity:
    """The shares of joins, those of pairs computed once."""

    statistics: Statistics
    distinct: Callable[[Node, Sequence[str]], float]
    """How many different values columns of a relation have."""
    _known: dict[tuple[Node, Node, tuple[str, ...], tuple[str, ...], Expression | None], float | None] = (
        field(default_factory=dict)
    )

    def of(self, joined: JoinedRelations) -> float:
        """The results of a join / the product of the sizes of its relations."""
        share = prod(self._of_class(joined, members) for members in joined.classes)
        share *= prod(self._of_condition(joined, *other) for other in joined.others)
        return share * prod(
            self._together(joined, *pair) for pair in combinations(range(len(joined.relations)), 2)
        )

    def _of_class(self, joined: JoinedRelations, members: frozenset[Attribute]) -> float:
        by_relation = {
            a.relation: a for a in sorted(members, key=lambda a: (a.relation, a.column), reverse=True)
        }
        values = {number: self._values(joined, attribute) for number, attribute in by_relation.items()}
        ties = {
            (one, other): self._measured_pair(joined, by_relation[one], by_relation[other])
            for one, other in combinations(sorted(by_relation), 2)
        }
        column = JoinedColumn(values, {pair: tie for pair, tie in ties.items() if tie is not None})
        return column.share(column.relations)

    def _values(self, joined: JoinedRelations, attribute: Attribute) -> float:
        return self.distinct(joined.relations[attribute.relation], [attribute.column])

    def _measured_pair(self, joined: JoinedRelations, one: Attribute, other: Attribute) -> float | None:
        left, right = joined.relations[one.relation], joined.relations[other.relation]
        return self._measured(left, right, (one.column,), (other.column,), None)

    def _of_pair(self, joined: JoinedRelations, one: Attribute, other: Attribute) -> float:
        known = self._measured_pair(joined, one, other)
        return 1 / max(self._values(joined, one), self._values(joined, other)) if known is None else known

    def _of_condition(self, joined: JoinedRelations, read: frozenset[int], condition: Expression) -> float:
        if len(read) == 2:
            left, right = (joined.relations[number] for number in sorted(read))
            known = self._measured(left, right, (), (), _plain(condition))
            if known is not None:
                return known
        return assumed_selectivity(condition)

    def _together(self, joined: JoinedRelations, one: int, other: int) -> float:
        """By how much two relations that several conditions join differ from what these say one by one."""
        pairs = []
        for members in joined.classes:
            left = sorted(a.column for a in members if a.relation == one)
            right = sorted(a.column for a in members if a.relation == other)
            if left and right:
                pairs.append((Attribute(one, left[0]), Attribute(other, right[0])))
        conditions = [condition for read, condition in joined.others if read == {one, other}]
        if len(pairs) + len(conditions) < 2:
            return 1.0
        known = self._measured(
            joined.relations[one],
            joined.relations[other],
            tuple(a.column for a, _ in pairs),
            tuple(b.column for _, b in pairs),
            conjunction(tuple(map(_plain, conditions))),
        )
        if known is None:
            return 1.0
        apart = prod(self._of_pair(joined, *pair) for pair in pairs)
        apart *= prod(self._of_condition(joined, frozenset((one, other)), c) for c in conditions)
        # Where one of them lets nothing through, so do all together, whatever was measured.
        return known / apart if apart else 1.0

    def _measured(
        self,
        left: Node,
        right: Node,
        left_keys: tuple[str, ...],
        right_keys: tuple[str, ...],
        rest: Expression | None,
    ) -> float | None:
        key = (left, right, left_keys, right_keys, rest)
        if key not in self._known:
            self._known[key] = self.statistics.join(join_name(Join(left, right, left_keys, right_keys, rest)))
        return self._known[key]


def _plain(condition: Expression) -> Expression:
    """A condition over columns of relations, without their numbers."""
    columns = [part for part in walk(condition) if isinstance(part, Column)]
    return substitute(condition, {c.name: Column(c.type, c.name.partition(":")[2]) for c in columns})
