"""Joins of three and more windows in one operator, without intermediate results (thesis, 5.2).

A tree of joins keeps the results of all joins but the last. A pipeline keeps none: it makes them again for every
new row. It is possible where all inputs agree in a key, because then each of them can be looked up, and routed to
shards, by that key alone. What is equal in some inputs only is tested on combinations of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import permutations

from panes.optimizer.alternatives.alternative import Alternative
from panes.optimizer.equality_classes import EqualityClass, EqualityClasses
from panes.optimizer.estimates import Estimates
from panes.optimizer.heuristic_orders import heuristic_orders
from panes.optimizer.pipelined_visits import size_of, visits_in_order
from panes.optimizer.rules.merge_projects import merge_projects
from panes.plan.expressions import Expression, columns_of, conjunction
from panes.plan.join_keys import with_key_columns
from panes.plan.join_tree import JoinTree, join_tree_of, with_columns
from panes.plan.nodes import MultiJoin, Node, with_children
from panes.plan.selected import selected
from panes.plan.shape import shape

_MOST = 5
"""Inputs of which all orders are compared: a hundred and twenty."""


def pipeline_joins(plan: Node, estimates: Estimates) -> tuple[Alternative, ...]:
    """The plan with every tree of three and more joined relations that have a key in common as one operator, whose
    inputs are in the order in which the fewest combinations are made; none when there is no such tree."""
    pipelining = _Pipelining(estimates)
    made = pipelining.node(plan)
    if not pipelining.names:
        return ()
    # Joins in another order have a projection on top that brings the columns back into theirs.
    return (Alternative(", ".join(pipelining.names), merge_projects(made)),)


@dataclass
class _Pipelining:
    estimates: Estimates
    names: list[str] = field(default_factory=list)

    def node(self, node: Node) -> Node:
        tree = join_tree_of(node)
        if tree is None:
            return with_children(node, *map(self.node, node.children))
        made = self._pipelined(tree) if len(tree.leaves) > 2 else None
        return self._below(node) if made is None else made

    def _below(self, node: Node) -> Node:
        """A tree that stays one, over leaves in which others may be pipelined."""
        if join_tree_of(node) is None:
            return self.node(node)
        return with_children(node, *map(self._below, node.children))

    def _pipelined(self, tree: JoinTree) -> Node | None:
        classes = EqualityClasses.of(tree)
        written = tuple(range(len(tree.leaves)))
        keys = [found for found in classes.classes if found.of_leaf.keys() == set(written)]
        if not keys:
            return None
        join = self._join(tree, classes, keys)
        order = self._order(join)
        names = ", ".join(shape(tree.leaves[number]) for number in order)
        self.names.append(f"pipelined {names}")
        inputs = tuple(self.node(join.inputs[number]) for number in order)
        in_order = MultiJoin(inputs, tuple(join.keys[number] for number in order), join.residual)
        return with_columns(in_order, tree.columns)

    def _join(self, tree: JoinTree, classes: EqualityClasses, keys: list[EqualityClass]) -> MultiJoin:
        """The join of all leaves, in the order of the text."""
        in_keys = {e for found in keys for e in found.equalities(range(len(tree.leaves)))}
        own: list[list[Expression]] = [[] for _ in tree.leaves]
        rest = []
        for condition in classes.conditions(range(len(tree.leaves))):
            reads = [
                n for n, leaf in enumerate(tree.leaves) if columns_of(condition) & set(leaf.schema.names)
            ]
            if len(reads) == 1:
                own[reads[0]].append(condition)
            elif condition not in in_keys:
                rest.append(condition)
        inputs: list[Node] = []
        names: list[tuple[str, ...]] = []
        for number, leaf in enumerate(tree.leaves):
            wanted = [found.of_leaf[number][0] for found in keys]
            others = tuple(name for other in tree.leaves if other is not leaf for name in other.schema.names)
            taken = (*others, *(name for made in inputs for name in made.schema.names))
            made, columns = with_key_columns(selected(leaf, own[number]), wanted, taken)
            inputs.append(made)
            names.append(columns)
        return MultiJoin(tuple(inputs), tuple(names), conjunction(tuple(rest)))

    def _order(self, join: MultiJoin) -> tuple[int, ...]:
        """The global order of the inputs that makes the fewest combinations; of equal ones that of the text."""
        expected = [self.estimates.of(node) for node in join.inputs]
        rates = [found.rate + found.early for found in expected]
        size = size_of(join, self.estimates)
        orders = (
            list(permutations(range(len(rates))))
            if len(rates) <= _MOST
            else [
                tuple(range(len(rates))),
                *heuristic_orders(rates, lambda one, other: size(1 << one | 1 << other)),
            ]
        )
        return min(orders, key=lambda order: (float(f"{visits_in_order(order, rates, size):.9e}"), order))
