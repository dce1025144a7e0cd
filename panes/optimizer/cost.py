"""What a physical plan is expected to cost: rows, state and CPU time of every step, per second of event time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from panes.operators.measures import INGEST, SHUFFLE, STORE
from panes.operators.physical_step import Fragment, PhysicalStep
from panes.optimizer.assumed import FIXED
from panes.optimizer.estimates import Estimates
from panes.optimizer.flow import Flow
from panes.optimizer.pipelined_visits import visits_by_origin
from panes.optimizer.statistics import FactName, Statistics
from panes.optimizer.step_cpu import step_cpu
from panes.optimizer.step_flow import step_flow
from panes.optimizer.step_state import step_state
from panes.plan import nodes
from panes.plan.walk import streams_of
from panes.stages.explain_tree import StepKey
from panes.stages.physical_plan import PhysicalInput, PhysicalPlan, PhysicalStage
from panes.stages.step_cost import StepCost
from panes.state.storage.manifest import ANSWER


@dataclass(frozen=True)
class PlanCost:
    """What a plan does in a second of event time."""

    steps: Mapping[StepKey, StepCost]
    """Those that are measured, too: all steps, and under the names `answer` and `store` in the last stage what the
    answer and the segments of all stages cost."""
    shuffles: Mapping[StepKey, StepCost] = field(default_factory=dict)
    """The routing of the rows of each input, by stage and name."""
    ingest: Mapping[str, float] = field(default_factory=dict)
    """CPU seconds of reading each stream, which all plans over it do together."""
    alone: float = 0.0
    """CPU seconds of the stage that costs most of those that run on one shard: no other core can help it."""

    @cached_property
    def rate(self) -> float:
        """Rows that its steps give, all together."""
        return sum(step.rows_out for step in self.steps.values())

    @cached_property
    def state(self) -> float:
        """Rows that its steps keep, all together."""
        return sum(step.state for step in self.steps.values())

    @cached_property
    def cpu(self) -> float:
        """CPU seconds, all together; a value of 1 keeps one core busy."""
        return self.own + sum(self.ingest.values())

    @property
    def own(self) -> float:
        """CPU seconds without the reading of streams."""
        return sum(step.cpu for step in (*self.steps.values(), *self.shuffles.values()))


def plan_cost(
    plan: PhysicalPlan, statistics: Statistics, estimates: Estimates | None = None, shards: int = 1
) -> PlanCost:
    """The cost of a plan that runs on that many shards. `estimates` of the same statistics are used again."""
    return _Costing(plan, statistics, estimates or Estimates(statistics), shards).cost()


@dataclass
class _Costing:
    plan: PhysicalPlan
    statistics: Statistics
    estimates: Estimates
    shards: int
    steps: dict[StepKey, StepCost] = field(default_factory=dict)
    shuffles: dict[StepKey, StepCost] = field(default_factory=dict)
    alone: list[float] = field(default_factory=list)

    def cost(self) -> PlanCost:
        given: list[Flow] = []
        for number, stage in enumerate(self.plan.stages):
            sources = {source.name: self._input(number, stage, source, given) for source in stage.inputs}
            given.append(self._stage(number, stage, sources))
        self._answer(given[-1])
        ingest = {
            stream: self._beside(INGEST, self.statistics.rate(stream), 1)
            for stream in sorted(self.plan.streams)
        }
        return PlanCost(self.steps, self.shuffles, ingest, max(self.alone, default=0.0))

    def _beside(self, what: str, rows: float, tasks: int) -> float:
        """CPU seconds of something that is done beside operators."""
        cost = self.statistics.cost
        return (rows * cost(what, "row") + cost(what, FIXED) * tasks / self.estimates.span) / 1e6

    def _input(self, number: int, stage: PhysicalStage, source: PhysicalInput, given: list[Flow]) -> Flow:
        """What comes to a stage by one of its inputs."""
        first = Flow() if source.stage is None else given[source.stage]
        if source.stream is not None:
            first = Flow(self.statistics.rate(source.stream))
        flow = self._fragment(number, source.name, source.fragment, {"rows": first}, 1)
        copies = self._shards(stage) if source.is_whole else 1
        routed = flow.share(copies)
        cost = self._beside(SHUFFLE, routed.rows, 1)
        assumed = self._is_assumed(stage.plan)
        self.shuffles[StepKey(number, source.name, SHUFFLE)] = StepCost(
            flow.rows, routed.rows, 0.0, cost, assumed, cpu_assumed=not self._is_measured(SHUFFLE)
        )
        return routed

    def _stage(self, number: int, stage: PhysicalStage, sources: Mapping[str, Flow]) -> Flow:
        if stage.fragment is None:
            return Flow(sum(flow.rows for flow in sources.values()))
        flow = self._fragment(number, "", stage.fragment, sources, self._shards(stage))
        if not stage.is_sharded:
            mine = (step.cpu for key, step in self.steps.items() if key.stage == number and not key.part)
            self.alone.append(sum(mine))
        return flow

    def _fragment(
        self, number: int, part: str, fragment: Fragment, sources: Mapping[str, Flow], tasks: int
    ) -> Flow:
        """Adds the steps of a fragment, which as many tasks run; gives what leaves it."""
        flows: list[Flow] = []
        for step in fragment.steps:
            inputs = [flows[place] for place in step.inputs]
            if step.operator == "Entry":
                flow = self._entering(step, sources)
            else:
                flow = step_flow(step, inputs, self.estimates)
            state = step_state(step, inputs, self.estimates)
            cpu = step_cpu(step, inputs, flow, state, tasks, self.estimates)
            came = sum(input.rows for input in inputs) if inputs else flow.rows
            self.steps[StepKey(number, part, step.name)] = StepCost(
                came,
                flow.rows,
                state,
                cpu,
                self._is_assumed(step.node),
                cpu_assumed=not self._is_measured(step.operator),
                visits=self._visits(step, inputs),
            )
            flows.append(flow)
        return flows[-1]

    def _visits(self, step: PhysicalStep, inputs: Sequence[Flow]) -> tuple[float, ...]:
        if step.operator != "MultiJoin" or not isinstance(step.node, nodes.MultiJoin):
            return ()
        return visits_by_origin(step.node, [flow.rows for flow in inputs], self.estimates)

    def _entering(self, step: PhysicalStep, sources: Mapping[str, Flow]) -> Flow:
        name = str(dict(step.arguments)["name"])
        if name in sources:
            return sources[name]
        return Flow(self.statistics.rate(name)) if isinstance(step.node, nodes.StreamScan) else Flow()

    def _answer(self, given: Flow) -> None:
        """What keeps the answer and writes the segments."""
        last = self.plan.stages[-1]
        held = self.estimates.of(last.plan).size
        assumed = self._is_assumed(last.plan)
        self.steps[StepKey(self.plan.last, "", ANSWER)] = StepCost(
            given.rows,
            given.rows,
            held,
            self._beside(ANSWER, given.rows, self._shards(last)),
            assumed,
            cpu_assumed=not self._is_measured(ANSWER),
        )
        came = sum(shuffle.rows_out for shuffle in self.shuffles.values())
        self.steps[StepKey(self.plan.last, "", STORE)] = StepCost(
            came,
            0.0,
            0.0,
            self._beside(STORE, came, sum(map(self._shards, self.plan.stages))),
            assumed,
            cpu_assumed=not self._is_measured(STORE),
        )

    def _is_assumed(self, node: nodes.Node) -> bool:
        """Whether nothing was measured of the streams that a node is computed from."""
        facts = self.statistics.facts
        return not any(FactName("rate", stream) in facts for stream in streams_of(node))

    def _is_measured(self, operator: str) -> bool:
        return FactName("cost", f"{operator} {FIXED}") in self.statistics.facts

    def _shards(self, stage: PhysicalStage) -> int:
        return self.shards if stage.is_sharded else 1
