"""Columns that nothing above reads are left out where streams and tables begin: states hold them, and joins copy
them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from dataclasses import dataclass, replace

from panes.plan.expressions import Column, columns_of
from panes.plan.keeps_state import keeps_state
from panes.plan.lookups import Matching
from panes.plan.nodes import (
    AntiJoin,
    GroupBy,
    Join,
    Node,
    OuterJoin,
    Project,
    Select,
    SemiJoin,
    StreamScan,
    TableScan,
    TemporalFilter,
    Unnest,
    Window,
    with_children,
)
from panes.plan.walk import walk


def keep_needed_columns(plan: Node) -> Node:
    """The plan with projections above its streams and tables.

        Project a.k                           Project a.k
          Join on a.k = b.k                     Join on a.k = b.k
            Window [RANGE 1 MINUTE]               Window [RANGE 1 MINUTE]
              Stream a                    →         Project a.k
            Window [RANGE 1 MINUTE]                   Stream a
              Stream b                            …

    What a node gives in all its columns stays so: rows that are compared as a whole (DISTINCT, set operations,
    Istream and the like) need every one. What is there twice has at both places the columns that either needs, so
    that it is still computed once.
    """
    keeping = _Keeping({node: frozenset() for node in _there_twice(plan)})
    kept = keeping.kept(plan, frozenset(plan.schema.names))
    while keeping.has_more:
        keeping.has_more = False
        kept = keeping.kept(plan, frozenset(plan.schema.names))
    return kept


def _there_twice(plan: Node) -> list[Node]:
    """The sub-plans with state that a plan has at more than one place."""
    scans = Counter(node for node in walk(plan) if isinstance(node, (StreamScan, TableScan)))
    if all(times == 1 for times in scans.values()):
        return []
    return [node for node, times in Counter(filter(keeps_state, walk(plan))).items() if times > 1]


@dataclass
class _Keeping:
    wanted: dict[Node, frozenset[str]]
    """The columns of what is there twice that are needed at any of its places, as far as they are known."""
    has_more: bool = False
    """Whether more of these became known."""

    def kept(self, node: Node, wanted: Set[str]) -> Node:
        """A node that gives at least the wanted columns, in their order."""
        if self.wanted and node in self.wanted:
            known = self.wanted[node]
            self.wanted[node] = known.union(wanted)
            wanted = self.wanted[node]
            self.has_more |= wanted != known
        match node:
            case Window():
                return replace(node, child=self._stream(node.child, wanted | set(node.spec.partition_by)))
            case Select():
                return replace(node, child=self.kept(node.child, wanted | columns_of(node.predicate)))
            case TemporalFilter():
                return replace(node, child=self.kept(node.child, wanted | columns_of(node.value)))
            case Project():
                columns = tuple(column for column in node.columns if column[0] in wanted) or node.columns[:1]
                read = frozenset[str]().union(*(columns_of(expression) for _, expression in columns))
                return Project(self.kept(node.child, read), columns)
            case Unnest():
                wanted = (wanted - {node.column}) | columns_of(node.expression)
                return replace(node, child=self.kept(node.child, wanted))
            case GroupBy():
                args = [columns_of(arg) for a in node.aggregates for arg in a.args]
                return replace(node, child=self.kept(node.child, frozenset(node.keys).union(*args)))
            case Join() | OuterJoin():
                return self._matching(node, wanted, wanted)
            case SemiJoin() | AntiJoin():
                return self._matching(node, wanted, frozenset())
        return with_children(
            node, *(self.kept(child, frozenset(child.schema.names)) for child in node.children)
        )

    def _matching(self, node: Matching, left: Set[str], right: Set[str]) -> Node:
        tested = frozenset[str]() if node.residual is None else columns_of(node.residual)
        time = set() if node.time is None else {node.time}
        return replace(
            node,
            left=self._side(node.left, left | tested | time | set(node.left_keys)),
            right=self._side(node.right, right | tested | set(node.right_keys)),
        )

    def _side(self, node: Node, wanted: Set[str]) -> Node:
        """A side of a join: a table, a stream whose tuples look one up, or a relation."""
        wanted = wanted & set(node.schema.names)
        return self._stream(node, wanted) if _is_chain(node) else self.kept(node, wanted)

    def _stream(self, node: Node, wanted: Set[str]) -> Node:
        """A stream or table; a projection on top of its selections costs nothing."""
        if not _is_chain(node):
            return self.kept(node, frozenset(node.schema.names))
        names = [name for name in node.schema.names if name in wanted] or list(node.schema.names[:1])
        if len(names) == len(node.schema.names):
            return node
        if isinstance(node, Project):
            return Project(node.child, tuple(column for column in node.columns if column[0] in names))
        return Project(node, tuple((name, Column(node.schema[name].type, name)) for name in names))


def _is_chain(node: Node) -> bool:
    while isinstance(node, (Select, Project, Unnest)):
        node = node.child
    return isinstance(node, (StreamScan, TableScan))
