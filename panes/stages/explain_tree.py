"""A physical plan as a tree, the answer on top and the streams at the bottom: what EXPLAIN shows, as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from panes.operators.measures import SHUFFLE
from panes.operators.physical_step import BufferPlan, Fragment, PhysicalStep
from panes.plan.band import band_of
from panes.plan.describe import describe
from panes.plan.kept_text import kept_text
from panes.plan.lost_results import lost_results
from panes.plan.nodes import Drop, Join, MultiJoin, Node, StreamScan
from panes.plan.patterns import Pattern, pattern_of
from panes.plan.schema import Schema
from panes.plan.shape import shape
from panes.stages.physical_plan import PhysicalInput, PhysicalPlan, PhysicalStage
from panes.stages.store_kinds import store_kind

_DOES = {
    "ReleaseOnTime": "Release on time",
    "ExplicitExpiry": "Expire by negative tuples",
    "ToSlide": "Wait for the slide",
    "PreAggregate": "Sum per lifetime and group",
    "HeaviestOfPanes": "Keep the most frequent values of each pane and group",
    "HeaviestOfStream": "Lower the counts of values together where there are too many",
    "MatchAndSum": "Match with the selections of all queries of the group, sum per pane and group",
}
"""What steps do that are not the main step of their node."""
_HOW = {
    "DistinctStar": "shown and youngest rows, δ*",
    "Distinct": "by counts, δ",
    "SetOperationByCount": "by counts",
    "SetOperationByLifetime": "by lifetimes",
}
"""How a step does what its node says, where there are several ways."""


class StepKey(NamedTuple):
    """Which step of a plan: its stage, the input before whose shuffle it runs (or none), and its name."""

    stage: int
    part: str
    step: str


@dataclass(frozen=True)
class ExplainedStep:
    """A step, or a shuffle between two of them, with what it reads."""

    does: str
    operator: str
    key: StepKey | None
    """None of a shuffle, which is no step."""
    pattern: Pattern
    """Of the edge that leaves it, as it runs."""
    reason: str
    buffers: tuple[BufferPlan, ...]
    columns: Schema
    inputs: tuple[ExplainedStep, ...]
    digest: str = ""
    """What it computes, where it runs before a shuffle: other queries that compute the same share it."""
    routing: StepKey | None = None
    """Of a shuffle: under which key its cost is known."""
    orders: tuple[str, ...] = ()
    """Of a pipelined join: for each input, in which order its new rows meet the others."""
    lost: float = 0.0
    """Of a join of windows with SLIDE: the share of the results that come and go between two slides."""

    @property
    def cost_key(self) -> StepKey | None:
        return self.key or self.routing


def explain_tree(
    plan: PhysicalPlan, shards: int | None, kept: Mapping[str, float] | None = None
) -> ExplainedStep:
    """The tree of a plan that runs on that many shards. `kept` are the shares that its drop boxes keep now, by
    stream; those that it has no share for keep all."""
    return _Tree(plan, shards, kept or {}).stage(plan.last)


def shards_text(shards: int | None) -> str:
    """A number of shards in words; None is as many as the cluster has cores."""
    if shards is None:
        return "a shard per core"
    return "1 shard" if shards == 1 else f"{shards} shards"


def once_for(readers: int) -> str:
    """What is said of a step whose output several others read."""
    return f" (computed once, read {readers} times)" if readers > 1 else ""


def logical_tree(plan: Node, over: ExplainedStep | None = None) -> ExplainedStep:
    """The tree of what no epoch runs, but is computed when somebody asks; `over` what epochs keep, or a stream."""
    if over is not None and isinstance(plan, StreamScan):
        return over
    pattern, reason = pattern_of(plan)
    below = tuple(logical_tree(child, over) for child in plan.children)
    when = " (when invoked)" if over is not None else ""
    does = describe(plan) + when
    return ExplainedStep(does, type(plan).__name__, None, pattern, reason, (), plan.schema, below)


def steps_of(tree: ExplainedStep) -> Iterator[ExplainedStep]:
    """Every step of a tree, those above first."""
    yield tree
    for below in tree.inputs:
        yield from steps_of(below)


@dataclass(frozen=True)
class _Tree:
    plan: PhysicalPlan
    shards: int | None
    kept: Mapping[str, float]

    def stage(self, number: int) -> ExplainedStep:
        stage = self.plan.stages[number]
        sources = {source.name: self._shuffle(source, stage, number) for source in stage.inputs}
        if stage.fragment is None:
            return self._store(stage, number, tuple(sources.values()))
        return self._step(stage.fragment, len(stage.fragment.steps) - 1, number, "", sources)

    def _store(self, stage: PhysicalStage, number: int, sources: tuple[ExplainedStep, ...]) -> ExplainedStep:
        kind = store_kind(stage.plan)
        assert kind is not None, "a stage without operators has a store"
        labeled = pattern_of(stage.plan)
        return ExplainedStep(
            kind.does(stage.plan),
            kind.name,
            StepKey(number, "", "answer"),
            labeled.pattern,
            labeled.reason,
            kind.buffers(stage.plan),
            stage.plan.schema,
            sources,
        )

    def _shuffle(self, source: PhysicalInput, stage: PhysicalStage, number: int) -> ExplainedStep:
        if source.stage is None:
            below = self._step(source.fragment, len(source.fragment.steps) - 1, number, source.name, {})
        else:
            sources = {"rows": self.stage(source.stage)}
            below = self._step(source.fragment, len(source.fragment.steps) - 1, number, source.name, sources)
        return ExplainedStep(
            self._route(source, stage),
            "Shuffle",
            None,
            below.pattern,
            below.reason,
            (),
            below.columns,
            (below,),
            routing=StepKey(number, source.name, SHUFFLE),
        )

    def _route(self, source: PhysicalInput, stage: PhysicalStage) -> str:
        if not stage.is_sharded:
            return "Shuffle to one shard"
        shards = shards_text(self.shards)
        if source.is_whole:
            return "Copy to every shard"
        if source.keys:
            return f"Shuffle to {shards} by {', '.join(source.keys)}"
        return f"Spread over {shards}" if source.stream is not None else f"Shuffle to {shards} by row"

    def _does(self, step: PhysicalStep) -> str:
        if not isinstance(step.node, Drop):
            return does_of(step)
        stream = step.node.stream
        return f"Drop: keep {kept_text(stream, self.kept.get(stream, 1.0))}"

    def _step(
        self, fragment: Fragment, place: int, stage: int, part: str, sources: dict[str, ExplainedStep]
    ) -> ExplainedStep:
        step = fragment.steps[place]
        if step.operator == "Entry":
            name = dict(step.arguments)["name"]
            if str(name) in sources:
                return sources[str(name)]
        below = tuple(self._step(fragment, number, stage, part, sources) for number in step.inputs)
        readers = sum(other.inputs.count(place) for other in fragment.steps)
        return ExplainedStep(
            self._does(step) + once_for(readers),
            step.operator,
            StepKey(stage, part, step.name),
            step.output.pattern,
            reason_of(step),
            step.buffers,
            step.output.schema,
            below,
            fragment.digests[place] if part else "",
            orders=_orders(step.node) if isinstance(step.node, MultiJoin) else (),
            lost=lost_results(step.node) if step.operator in ("Join", "MultiJoin") else 0.0,
        )


def does_of(step: PhysicalStep) -> str:
    """What a step does, in one line."""
    if step.operator in _DOES:
        return _DOES[step.operator]
    how = _HOW.get(step.operator)
    if step.operator == "Join" and isinstance(step.node, Join) and not step.node.left_keys:
        band = band_of(step.node.residual, *(set(side.schema.names) for side in step.node.children))
        how = None if band is None else f"by ranges of {band.left} and {band.right}"
    return f"{describe(step.node)} ({how})" if how else describe(step.node)


def _orders(join: MultiJoin) -> tuple[str, ...]:
    names = [shape(node) for node in join.inputs]
    return tuple(
        f"new rows of {name} meet {', '.join(names[:place] + names[place + 1 :])}"
        for place, name in enumerate(names)
    )


def reason_of(step: PhysicalStep) -> str:
    """Why the edge that leaves a step has its pattern."""
    labeled = pattern_of(step.node)
    if step.output.pattern is labeled.pattern:
        return labeled.reason
    if step.output.pattern is Pattern.STRICT:
        return "every departure is a negative tuple"
    return "of the rows before they are released"
