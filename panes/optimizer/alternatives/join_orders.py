"""Joins in other orders than that of the text.

The rows of a join, their lifetimes and the instants at which they are given are the same in every order: a result
begins with the last of its rows and ends with the first that leaves, however they are put together. Nothing above
can tell, INTERNAL windows, output streams and RESTORE included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from panes.optimizer.alternatives.alternative import Alternative
from panes.optimizer.equality_classes import EqualityClasses
from panes.optimizer.estimates import Estimates
from panes.optimizer.join_costs import JoinCosts
from panes.optimizer.join_order import JoinOrder, join_order
from panes.optimizer.joined_rows import JoinedRows
from panes.optimizer.rows_of_tree import rows_of_tree
from panes.optimizer.rules.merge_projects import merge_projects
from panes.plan.join_tree import JoinTree, join_tree_of, joined
from panes.plan.nodes import Join, Node, Project, Select, StreamScan, TableScan, with_children
from panes.plan.walk import walk

_RUNNERS_UP = 2
"""Orders beside the best that are costed as physical plans: what stands above the joins may like them better."""
_NEARLY = 1.5
"""How many times the cost of the best they may have."""


def join_orders(plan: Node, estimates: Estimates) -> tuple[Alternative, ...]:
    """The plan with its joins in the order that costs least, and in the next best ones, each under its order; the
    order of the plan itself is not among them.

    A plan with several trees of joins has all of them in their best order, and then one of them in another.
    """
    reordering = _Reordering(estimates)
    found = [reordering.reordered(plan)]
    for node, tree in reordering.trees.items():
        found += [reordering.reordered(plan, {node: rank}) for rank in range(1, len(tree.orders))]
    return tuple(alternative for alternative in found if alternative.name)


@dataclass
class _Reordering:
    estimates: Estimates
    trees: dict[Node, _Tree] = field(default_factory=dict)
    """Those of three leaves and more, by the node at the top."""

    def reordered(self, plan: Node, ranks: Mapping[Node, int] | None = None) -> Alternative:
        """The plan with each tree in the order of a rank, the best where none is given. The name is that of all
        orders that the plan did not have."""
        names: list[str] = []
        made = self._node(plan, ranks or {}, names)
        # Joins in another order have a projection on top that brings the columns back into theirs.
        return Alternative(", ".join(names), merge_projects(made) if names else made)

    def _node(self, node: Node, ranks: Mapping[Node, int], names: list[str]) -> Node:
        tree = self._tree(node)
        if tree is None:
            return with_children(node, *(self._node(child, ranks, names) for child in node.children))
        order = tree.orders[ranks.get(node, 0)]
        if tree.is_written(order):
            return self._below(node, ranks, names)
        names.append(tree.name(order))
        return tree.joined(order, [self._node(leaf, ranks, names) for leaf in tree.tree.leaves])

    def _below(self, node: Node, ranks: Mapping[Node, int], names: list[str]) -> Node:
        """A tree that stays as it is, over leaves in which joins may be reordered."""
        if join_tree_of(node) is None:
            return self._node(node, ranks, names)
        return with_children(node, *(self._below(child, ranks, names) for child in node.children))

    def _tree(self, node: Node) -> _Tree | None:
        found = join_tree_of(node)
        if found is None or len(found.leaves) < 3:
            return None
        if node not in self.trees:
            self.trees[node] = _Tree.of(node, found, self.estimates)
        return self.trees[node]


@dataclass(frozen=True)
class _Tree:
    """A tree of joins, and the orders that are worth a look."""

    tree: JoinTree
    classes: EqualityClasses
    rows: JoinedRows
    orders: tuple[JoinOrder, ...]
    is_left_deep: bool

    @classmethod
    def of(cls, node: Node, tree: JoinTree, estimates: Estimates) -> _Tree:
        classes = EqualityClasses.of(tree)
        rows = rows_of_tree(tree, classes, estimates)
        costs = JoinCosts.of(estimates.statistics)
        best, *others = join_order(rows, costs)
        orders = [best, *(other for other in others if other.cost <= _NEARLY * best.cost)][: 1 + _RUNNERS_UP]
        if not all(rows.keys(*join) for join in rows.joins(best.order)):
            # A product runs on one shard, which may not be fast enough.
            orders += [
                order for order in join_order(rows, replace(costs, product=inf))[:1] if order.cost < inf
            ]
        return cls(tree, classes, rows, tuple(dict.fromkeys(orders)), _is_left_deep(node))

    def is_written(self, order: JoinOrder) -> bool:
        """Whether the plan has this order already."""
        return self.is_left_deep and order.order == tuple(range(len(self.tree.leaves)))

    def joined(self, order: JoinOrder, leaves: Sequence[Node]) -> Node:
        """The leaves, in whatever order their own joins are, joined in an order."""
        conditions = self.classes.conditions(order.order)
        return joined([leaves[number] for number in order.order], conditions, self.tree.columns)

    def name(self, order: JoinOrder) -> str:
        """The order as one writes it: `(b ⋈ c) ⋈ a`, with `×` where there is no key."""
        first, *rest = (_alias(self.tree.leaves[number]) for number in order.order)
        text = first
        for alias, (left, right) in zip(rest, self.rows.joins(order.order), strict=True):
            sign = "⋈" if self.rows.keys(left, right) else "×"
            text = f"{f'({text})' if left & (left - 1) else text} {sign} {alias}"
        return text


def _is_left_deep(node: Node) -> bool:
    """Whether a tree of joins has no other on a right side."""
    while isinstance(node, (Select, Project)):
        node = node.child
    if not isinstance(node, Join):
        return True
    return join_tree_of(node.right) is None and _is_left_deep(node.left)


def _alias(leaf: Node) -> str:
    """What a relation is called in the text, or what it is made of."""
    own = {name.rpartition(".")[0] for name in leaf.schema.names}
    if len(own) == 1 and "" not in own:
        return own.pop()
    scans: Sequence[str] = [node.alias for node in walk(leaf) if isinstance(node, (StreamScan, TableScan))]
    return ", ".join(dict.fromkeys(scans)) if len(scans) == 1 else f"{{{', '.join(dict.fromkeys(scans))}}}"
