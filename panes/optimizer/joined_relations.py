"""The relations that a tree of joins brings together, and the conditions among them, whatever its shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from panes.plan.expressions import Column, Expression, columns_of, conjuncts, substitute
from panes.plan.nodes import Join, MultiJoin, Node, Project


@dataclass(frozen=True)
class Attribute:
    """A column of one of the relations, by its number."""

    relation: int
    column: str


@dataclass(frozen=True)
class JoinedRelations:
    """Relations that no join computes, with the conditions of all joins above them.

    Two trees over the same relations that give the same answer have the same classes, although one of them may say
    `a = b AND b = c` and the other `a = b AND a = c`.
    """

    relations: tuple[Node, ...]
    classes: tuple[frozenset[Attribute], ...]
    """Attributes that are equal to each other."""
    others: tuple[tuple[frozenset[int], Expression], ...]
    """The conditions that are no equalities, each with the relations that it reads."""
    columns: Mapping[str, Attribute]
    """The columns of the tree, as far as each is one of a relation."""

    def class_of(self, attribute: Attribute) -> frozenset[Attribute]:
        """All attributes that are equal to one, itself included."""
        return next((c for c in self.classes if attribute in c), frozenset((attribute,)))


def joined_relations(node: Node) -> JoinedRelations:
    """The relations below a node: itself alone when it is no join."""
    relations: list[Node] = []
    pairs: list[tuple[Attribute, Attribute]] = []
    others: list[tuple[frozenset[int], Expression]] = []

    def visit(node: Node) -> Mapping[str, Expression]:
        """The columns of a node over columns of relations, which are called by number and name."""
        if isinstance(node, Project) and all(isinstance(e, Column) for _, e in node.columns) and _joins(node):
            below = visit(node.child)
            return {name: substitute(expression, below) for name, expression in node.columns}
        if isinstance(node, MultiJoin):
            each = [visit(child) for child in node.inputs]
            for place in range(len(node.keys[0])):
                first, *rest = (
                    _attribute(own[keys[place]]) for own, keys in zip(each, node.keys, strict=True)
                )
                pairs.extend((first, other) for other in rest)
            every = {name: column for own in each for name, column in own.items()}
            add_conditions(node.residual, every)
            return every
        if not isinstance(node, Join) or node.time is not None:
            relations.append(node)
            number = len(relations) - 1
            return {f.name: Column(f.type, f"{number}:{f.name}") for f in node.schema}
        left, right = visit(node.left), visit(node.right)
        for one, other in zip(node.left_keys, node.right_keys, strict=True):
            pairs.append((_attribute(left[one]), _attribute(right[other])))
        both = {**left, **right}
        add_conditions(node.residual, both)
        return both

    def add_conditions(residual: Expression | None, columns: Mapping[str, Expression]) -> None:
        for condition in conjuncts(residual):
            over = substitute(condition, columns)
            others.append((frozenset(int(name.partition(":")[0]) for name in columns_of(over)), over))

    columns = {name: _attribute(column) for name, column in visit(node).items()}
    return JoinedRelations(tuple(relations), tuple(_classes(pairs)), tuple(others), columns)


def _joins(node: Node) -> bool:
    """Whether a join lies below projections."""
    while isinstance(node, Project):
        node = node.child
    return isinstance(node, MultiJoin) or (isinstance(node, Join) and node.time is None)


def _attribute(column: Expression) -> Attribute:
    assert isinstance(column, Column)
    number, _, name = column.name.partition(":")
    return Attribute(int(number), name)


def _classes(pairs: list[tuple[Attribute, Attribute]]) -> Iterator[frozenset[Attribute]]:
    """What is equal to each other when all pairs are."""
    classes: list[frozenset[Attribute]] = []
    for pair in pairs:
        touched = [c for c in classes if not c.isdisjoint(pair)]
        classes = [c for c in classes if c.isdisjoint(pair)]
        classes.append(frozenset(pair).union(*touched))
    yield from classes
