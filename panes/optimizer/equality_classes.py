"""What is equal in all results of a join, by its conditions and by what follows from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from panes.plan.expressions import Call, Expression, columns_of
from panes.plan.join_tree import JoinTree
from panes.plan.types import BOOLEAN


@dataclass(frozen=True)
class EqualityClass:
    """Expressions of one type that have the same value in every result, each over the columns of one leaf."""

    members: tuple[tuple[int, Expression], ...]
    """The number of a leaf, and what is computed from its columns, in the order of the text."""

    @cached_property
    def of_leaf(self) -> Mapping[int, tuple[Expression, ...]]:
        """The members of each leaf that has any."""
        found: dict[int, list[Expression]] = {}
        for leaf, member in self.members:
            found.setdefault(leaf, []).append(member)
        return {leaf: tuple(members) for leaf, members in found.items()}

    def equalities(self, order: Iterable[int]) -> list[Expression]:
        """As few equalities as make all members equal when the leaves are joined in an order.

        The members of one leaf are compared on it. Every later leaf is compared with the first that has a member:
        so a join with a third leaf has a key by which the rows of the first two lie together already.
        """
        found: list[Expression] = []
        first: Expression | None = None
        for leaf in order:
            own = self.of_leaf.get(leaf, ())
            found += [_equal(own[0], other) for other in own[1:]]
            if own and first is not None:
                found.append(_equal(first, own[0]))
            elif own:
                first = own[0]
        return found


@dataclass(frozen=True)
class EqualityClasses:
    """The conditions of a tree of joins as classes of what is equal, and the rest.

    Equality is transitive, and inner joins have no results in which a compared value is NULL: of a.k = b.k and
    b.k = c.k it follows that a.k = c.k, so that a and c can be joined before b. Equalities between lists stay as
    they are, and so do those with an expression over several leaves.
    """

    classes: tuple[EqualityClass, ...]
    others: tuple[Expression, ...]

    @classmethod
    def of(cls, tree: JoinTree) -> EqualityClasses:
        """The classes of a tree, in the order of its conditions."""
        leaf_of = {name: number for number, leaf in enumerate(tree.leaves) for name in leaf.schema.names}
        members: dict[Expression, int] = {}
        classes: list[list[Expression]] = []
        others = []
        for condition in tree.conditions:
            sides = _sides(condition, leaf_of)
            if sides is None:
                others.append(condition)
                continue
            members |= dict(sides)
            both = [found for found in classes if any(side in found for side, _ in sides)]
            merged = list(dict.fromkeys([*(side for found in both for side in found), *dict(sides)]))
            place = classes.index(both[0]) if both else len(classes)
            classes[place : place + 1] = [merged]
            classes = [found for found in classes if found is merged or found not in both]
        return cls(
            tuple(EqualityClass(tuple((members[side], side) for side in found)) for found in classes),
            tuple(others),
        )

    def conditions(self, order: Sequence[int]) -> tuple[Expression, ...]:
        """Conditions that are together the same as those of the tree, for leaves that are joined in an order.

        Where both sides of a join have members of one class, exactly one equality is between them.
        """
        equal = [equality for found in self.classes for equality in found.equalities(order)]
        return (*equal, *self.others)


def _sides(condition: Expression, leaf_of: Mapping[str, int]) -> list[tuple[Expression, int]] | None:
    """The two sides of an equality, each with the leaf that it is over; None for other conditions."""
    if not isinstance(condition, Call) or condition.function != "eq":
        return None
    one, other = condition.args
    if one == other or one.type != other.type or one.type.is_nested:
        return None  # x = x says that x is not NULL
    found = []
    for side in (one, other):
        leaves = {leaf_of[name] for name in columns_of(side)}
        if len(leaves) != 1:
            return None
        found.append((side, leaves.pop()))
    return found


def _equal(one: Expression, other: Expression) -> Expression:
    return Call(BOOLEAN, "eq", (one, other))
