"""Cutting a plan in two: the stateless work below the shuffle, done by Spark, and the operators above it.

What Spark can do on its own is a chain of selections and projections over a base stream and, where a group-by
over a time window follows, its partial sums per pane. The rest runs in Python, shard by shard.
"""

from __future__ import annotations

from dataclasses import dataclass

from panes.operators.input import Input
from panes.pipeline.partitioning import Keys, partition_keys
from panes.plan.nodes import GroupBy, Node, Project, Select, StreamScan, Window, Wstream
from panes.plan.walk import walk
from panes.plan.windows import RangeWindow, RowsWindow


@dataclass(frozen=True)
class StageInput:
    """A sub-plan that Spark computes, and the columns that decide the shard.

    With `group_by` the rows are the partial rows of that group-by, over `window`; `node` is what lies below.
    """

    input: Input
    node: Node
    keys: Keys
    window: RangeWindow | None = None
    group_by: GroupBy | None = None

    @property
    def replaced(self) -> Node:
        """The sub-plan that the rows of this input stand for."""
        return self.group_by or self.node

    @property
    def scan(self) -> StreamScan:
        node = self.node
        while not isinstance(node, StreamScan):
            (node,) = node.children
        return node


@dataclass(frozen=True)
class Stage:
    """A plan, the inputs it is computed from, and whether its shards can work alone."""

    plan: Node
    inputs: tuple[StageInput, ...]
    is_sharded: bool
    is_ordered: bool
    """Whether it matters which of two tuples of one time came first: a shuffle does not keep their order."""


def cut(plan: Node) -> Stage:
    """The one stage of a plan. (A plan whose partitioning key changes runs in one shard.)"""
    found = list(dict.fromkeys(_inputs(plan)))
    keys = partition_keys(plan, frozenset(replaced for replaced, *_ in found))
    inputs = tuple(
        StageInput(
            Input(f"input-{number}", kind="partials" if group_by else "rows"),
            node,
            keys.get(replaced, ()) if keys else (),
            window,
            group_by,
        )
        for number, (replaced, node, window, group_by) in enumerate(found)
    )
    return Stage(plan, inputs, is_sharded=keys is not None, is_ordered=_counts_rows(plan))


_Found = tuple[Node, Node, RangeWindow | None, GroupBy | None]


def _inputs(node: Node) -> list[_Found]:
    if _is_stateless(node):
        return [(node, node, None, None)]
    if isinstance(node, GroupBy) and isinstance(node.child, Window) and _has_panes(node.child):
        assert isinstance(node.child.spec, RangeWindow)
        return [(node, node.child.child, node.child.spec, node)]
    return [found for child in node.children for found in _inputs(child)]


def _counts_rows(plan: Node) -> bool:
    return any(
        isinstance(node, (Window, Wstream)) and isinstance(node.spec, RowsWindow) for node in walk(plan)
    )


def _has_panes(window: Window) -> bool:
    """Whether many tuples share a lifetime: without SLIDE hardly two do, and partial sums save nothing."""
    spec = window.spec
    slides = isinstance(spec, RangeWindow) and spec.slide_us is not None and not spec.internal
    return slides and _is_stateless(window.child)


def _is_stateless(node: Node) -> bool:
    while isinstance(node, (Select, Project)):
        node = node.child
    return isinstance(node, StreamScan)
