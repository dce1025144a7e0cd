"""Cutting a plan into stages: longest parts whose shards can work alone, with a shuffle between them.

Before the first shuffle the rows of a stream pass selections and projections, and where a group-by over a sliding
window follows, they become partial sums per pane. Where the key changes half-way, the part below is a stage of its
own, whose deltas are routed anew by the other key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from panes.operators.input import Input
from panes.plan.nodes import (
    AntiJoin,
    Distinct,
    Drop,
    Except,
    GroupBy,
    Intersect,
    Istream,
    Join,
    Matched,
    MultiJoin,
    Node,
    OuterJoin,
    Over,
    Project,
    Rstream,
    Select,
    SemiJoin,
    Signed,
    StreamScan,
    TableScan,
    TopN,
    Unnest,
    Window,
    Wstream,
)
from panes.plan.output_streams import OUTPUT_STREAMS, generated_stream, is_over_slides
from panes.plan.walk import walk
from panes.plan.windows import RangeWindow, RowsWindow, SessionWindow
from panes.stages.partitioning import Keys, partition_keys

_STATEFUL = (
    AntiJoin,
    Distinct,
    Except,
    GroupBy,
    Intersect,
    Join,
    MultiJoin,
    OuterJoin,
    Over,
    SemiJoin,
    TopN,
    *OUTPUT_STREAMS,
)


@dataclass(frozen=True)
class StageInput:
    """A sub-plan that is computed before a stage, and the columns that decide the shard; `keys` is None when every
    shard gets all rows.

    It is a chain of selections, projections and unnest over a stream or a table, or with `stage` what that earlier
    stage gives. With `group_by` its rows are the partial rows of that group-by, over `window` if it is a chain;
    `node` is what lies below.
    """

    input: Input
    node: Node
    keys: Keys | None
    window: RangeWindow | None = None
    group_by: GroupBy | None = None
    stage: int | None = None

    @property
    def replaced(self) -> Node:
        """The sub-plan that the rows of this input stand for."""
        return self.group_by or self.node

    @property
    def scan(self) -> StreamScan | TableScan:
        node = self.node
        while not isinstance(node, (StreamScan, TableScan)):
            (node,) = node.children
        return node


@dataclass(frozen=True)
class Stage:
    """A part of a plan, the inputs it is computed from, and whether its shards can work alone.

    `every_instant` says that a later stage can tell the value at every instant: it has an output stream, or SLIDE.
    """

    plan: Node
    inputs: tuple[StageInput, ...]
    is_sharded: bool
    every_instant: bool = False


def cut_stages(plan: Node, large_tables: frozenset[str] = frozenset()) -> tuple[Stage, ...]:
    """The stages of a plan, each after those it reads; the last gives the answer.

    Of `large_tables` no shard has all rows, where the keys allow it.
    """
    stages: list[Stage] = []
    _add_stage(generated_stream(plan), stages, large_tables, every_instant=is_over_slides(plan))
    return tuple(stages)


def _add_stage(plan: Node, stages: list[Stage], large_tables: frozenset[str], *, every_instant: bool) -> int:
    inputs = _inputs(plan, {})
    keys = _partition_keys(plan, inputs, large_tables)
    if keys is None and _can_be_cut(plan):
        cuts = _cut_below_the_top(plan, stages, large_tables, every_instant=every_instant)
        if cuts:
            inputs = _inputs(plan, cuts)
            keys = _partition_keys(plan, inputs, large_tables)
    numbered = tuple(
        StageInput(
            Input(f"input-{number}", kind="partials" if source.group_by else "rows"),
            source.node,
            keys.get(source.replaced, ()) if keys else (),
            source.window,
            source.group_by,
            source.stage,
        )
        for number, source in enumerate(inputs)
    )
    stages.append(Stage(plan, numbered, is_sharded=keys is not None, every_instant=every_instant))
    return len(stages) - 1


def _partition_keys(
    plan: Node, inputs: Sequence[StageInput], large_tables: frozenset[str]
) -> Mapping[Node, Keys | None] | None:
    are_partials = {source.replaced: source.group_by is not None for source in inputs}
    return partition_keys(plan, are_partials, large_tables)


def _cut_below_the_top(
    plan: Node, stages: list[Stage], large_tables: frozenset[str], *, every_instant: bool
) -> dict[Node, int]:
    """Adds the stages of the parts below the topmost operator with a state; gives the number of each.

    What would run on one shard all the way is left in the stage above: a shuffle between would gain nothing.
    """
    cuts: dict[Node, int] = {}
    for node in dict.fromkeys(_below_the_top(plan)):
        is_seen = every_instant or _is_below_output(plan, node)
        before = len(stages)
        number = _add_stage(node, stages, large_tables, every_instant=is_seen)
        if any(stage.is_sharded for stage in stages[before:]):
            cuts[node] = number
        else:
            del stages[before:]
    return cuts


def _is_below_output(plan: Node, node: Node) -> bool:
    """Whether an output stream of the plan is computed from a node."""
    outputs = (found for found in walk(plan) if isinstance(found, OUTPUT_STREAMS))
    return any(node in walk(child) for output in outputs for child in output.children)


def _can_be_cut(plan: Node) -> bool:
    """Deltas of INTERNAL windows, results of RESTORE and rows that are counted stay in one place."""
    internal = any(isinstance(node, Window) and node.spec.internal for node in walk(plan))
    return not internal and not _restores(plan) and not _counts_rows(plan)


def _below_the_top(plan: Node) -> list[Node]:
    """The highest operators with a state that are not the topmost one.

    What an output stream looks at is cut whole, projections included: its rows then lie by all of their columns.
    """
    if isinstance(plan, OUTPUT_STREAMS):
        return [child for child in plan.children if _topmost(child)]
    if _has_state(plan):
        return [found for child in plan.children for found in _topmost(child)]
    return [found for child in plan.children for found in _below_the_top(child)]


def _has_state(node: Node) -> bool:
    """Whether a node brings rows together. A count window does, too, but plans with one are not cut."""
    is_session = isinstance(node, Window) and isinstance(node.spec, SessionWindow)
    return is_session or isinstance(node, _STATEFUL)


def _topmost(node: Node) -> list[Node]:
    if _has_state(node):
        return [node]
    if isinstance(node, Unnest) and _topmost(node.child):
        return [node]  # so that what is above can have the rows by their items
    return [found for child in node.children for found in _topmost(child)]


def _inputs(plan: Node, cuts: Mapping[Node, int]) -> list[StageInput]:
    has_partials = not _restores(plan)
    found: dict[Node, StageInput] = {}

    def visit(node: Node) -> None:
        source = _input(node, cuts, has_partials=has_partials)
        if source is not None:
            found.setdefault(source.replaced, source)
            return
        for child in node.children:
            visit(child)

    visit(plan)
    return list(found.values())


def _input(node: Node, cuts: Mapping[Node, int], *, has_partials: bool) -> StageInput | None:
    nameless = Input("")
    if node in cuts:
        return StageInput(nameless, node, (), stage=cuts[node])
    if is_stateless(node):
        return StageInput(nameless, node, ())
    if isinstance(node, GroupBy) and has_partials:
        if node.child in cuts:
            return StageInput(nameless, node.child, (), group_by=node, stage=cuts[node.child])
        if isinstance(node.child, Window) and _has_panes(node.child):
            assert isinstance(node.child.spec, RangeWindow)
            return StageInput(nameless, node.child.child, (), window=node.child.spec, group_by=node)
    return None


def _restores(plan: Node) -> bool:
    """Whether the plan also runs without its SLIDEs, where nothing is worth adding up beforehand."""
    return any(isinstance(node, (Istream, Rstream)) and node.restore for node in walk(plan))


def _counts_rows(plan: Node) -> bool:
    return any(
        isinstance(node, (Window, Wstream)) and isinstance(node.spec, RowsWindow) for node in walk(plan)
    )


def _has_panes(window: Window) -> bool:
    """Whether many tuples share a lifetime: without SLIDE hardly two do, and partial sums save nothing."""
    spec = window.spec
    return (
        isinstance(spec, RangeWindow)
        and spec.slide_us is not None
        and not spec.internal
        and is_stateless(window.child)
    )


def is_stateless(node: Node) -> bool:
    """Whether a node is a chain of selections, projections and unnest over a stream or a table."""
    while isinstance(node, (Drop, Select, Project, Unnest, Matched, Signed)):
        node = node.child
    return isinstance(node, (StreamScan, TableScan))


def selection_stage(matched: Matched) -> tuple[Stage]:
    """The one stage of selections that share a stream: the tuples, on whatever shard."""
    tuples = StageInput(Input("input-0"), matched.child, ())
    return (Stage(matched, (tuples,), is_sharded=True),)
