"""Which share of all combinations of rows a join of several relations gives, the same for every tree.

Of relations that are equal in one column, with v₁ ≥ v₂ ≥ … ≥ vₙ different values, the share is 1 / (v₁ v₂ … vₙ₋₁):
of two, the one with fewer values has only such as the other has (thesis, 5.3.1: φ12 has 1 / max(v₁, v₂), and
min(v₁, v₂) values go on). That is the product along the spanning tree of greatest shares, where two relations have
1 / max(v, v') or what was measured of them. So measured shares of pairs can be put together as assumed ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import prod

from panes.optimizer.assumed import assumed_selectivity
from panes.optimizer.fact_names import join_name
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
        attributes = [by_relation[number] for number in sorted(by_relation)]
        reached, rest, share = attributes[:1], attributes[1:], 1.0
        while rest:
            best, found = max(
                ((self._of_pair(joined, a, b), b) for a in reached for b in rest), key=lambda pair: pair[0]
            )
            share *= best
            reached.append(found)
            rest.remove(found)
        return share

    def _of_pair(self, joined: JoinedRelations, one: Attribute, other: Attribute) -> float:
        left, right = joined.relations[one.relation], joined.relations[other.relation]
        known = self._measured(left, right, (one.column,), (other.column,), None)
        if known is not None:
            return known
        return 1 / max(self.distinct(left, [one.column]), self.distinct(right, [other.column]))

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
        return known / apart

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
