"""Sub-plans that compute the same are computed once, whatever their columns are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field

from panes.plan.expressions import Column, substitute
from panes.plan.keeps_state import keeps_state
from panes.plan.nodes import Node, Project, Select, StreamScan, TableScan, with_children
from panes.plan.order_of_answer import relation_of
from panes.plan.structure import structure
from panes.plan.walk import is_table_only, walk
from panes.sharing.template import template_of
from panes.stages.cut_stages import cut_stages


def find_equal_subplans(plan: Node) -> Node:
    """The plan with a renaming in place of every sub-plan that is there before under other names.

        Join on x.n = y.n                     Join on x.n = y.n
          Project a.k AS x.k, n AS x.n          Project a.k AS x.k, n AS x.n
            Group by a.k: n                       Group by a.k: n
              Window … Stream s AS a      →         Window … Stream s AS a
          Project b.k AS y.k, m AS y.n          Project x.k AS y.k, x.n AS y.n
            Group by b.k: m                       Project a.k AS x.k, n AS x.n
              Window … Stream s AS b                … the same once more

    Sub-plans that are the same become one step when a plan is made. That pays where they keep state, and where it
    does not bring a stage to one shard because its inputs need the same rows by different keys. Where queries
    that are equal up to constants share a plan, sub-plans with selections stay two: their constants may differ.
    """
    if not _reads_twice(plan):
        return plan
    replaced = _Finding(plan).replaced(plan)
    return plan if replaced == plan or _on_one_shard(replaced) > _on_one_shard(plan) else replaced


def _on_one_shard(plan: Node) -> int:
    """How many stages of a plan run on one shard. What is computed once has one key: two joins may need two."""
    if is_table_only(plan):
        return 0
    return sum(not stage.is_sharded for stage in cut_stages(relation_of(plan)))


def _reads_twice(plan: Node) -> bool:
    """Whether there is a stream or table that is read more than once."""
    read = Counter(
        (type(node), node.stream if isinstance(node, StreamScan) else node.table)
        for node in walk(plan)
        if isinstance(node, (StreamScan, TableScan))
    )
    return any(times > 1 for times in read.values())


@dataclass
class _Finding:
    plan: Node
    first: dict[Hashable, Node] = field(default_factory=dict)
    """by their structures the sub-plans that were there before."""
    _is_shared: bool | None = None

    def replaced(self, node: Node) -> Node:
        if not any(map(keeps_state, walk(node))):
            return node
        found = structure(node)
        first = self.first.get(found)
        if first is None or first == node or not self._may_be_one(node):
            node = _below_renaming(with_children(node, *map(self.replaced, node.children)), node)
            self.first.setdefault(found, node)
            return node
        pairs = zip(node.schema, first.schema.names, strict=True)
        return Project(first, tuple((f.name, Column(f.type, name)) for f, name in pairs))

    def _may_be_one(self, node: Node) -> bool:
        if not any(isinstance(n, Select) and not is_table_only(n) for n in walk(node)):
            return True
        if self._is_shared is None:
            self._is_shared = template_of(self.plan) is not None
        return not self._is_shared


def _below_renaming(node: Node, before: Node) -> Node:
    """A selection over a sub-plan that was replaced, below the renaming: there selections belong."""
    if not isinstance(node, Select) or not isinstance(before, Select) or node.child is before.child:
        return node
    renaming = node.child
    if not isinstance(renaming, Project) or isinstance(before.child, Project):
        return node
    return with_children(renaming, Select(renaming.child, substitute(node.predicate, dict(renaming.columns))))
