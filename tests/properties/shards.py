"""The stages of a plan over several shards, in one process: what the tasks of an epoch do, without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from panes.answers.answer_store import AnswerStore, answer_of
from panes.answers.sorted_rows import sorted_rows
from panes.delta.delta import EXP
from panes.operators.anti_join import AntiJoin
from panes.operators.dataflow import Dataflow
from panes.operators.measures import Measures
from panes.operators.set_operation_by_count import SetOperationByCount
from panes.operators.set_operation_by_lifetime import SetOperationByLifetime
from panes.operators.tools.strategy import Departures
from panes.optimizer.optimizer import optimize
from panes.plan import nodes
from panes.plan.box_schedule import BoxSchedule
from panes.plan.order_of_answer import relation_of
from panes.stages.fragment_run import FragmentRun
from panes.stages.make_plan import make_plan
from panes.stages.measure_log import StepPlace
from panes.stages.physical_plan import PhysicalInput
from panes.stages.redistribute import Redistribution
from panes.stages.routing import Route
from panes.stages.running_query import RunningQuery
from panes.state.buffers.chunk import Chunk
from panes.state.storage.manifest import ANSWER


@dataclass
class Shards:
    """A registered query at work: a dataflow for each shard of each stage."""

    query: RunningQuery
    boxes: Mapping[str, BoxSchedule] = field(default_factory=dict)
    """What the drop boxes of the streams keep, by name."""
    dataflows: list[list[Dataflow]] = field(init=False)
    answers: list[AnswerStore] = field(init=False)
    """The answer on each shard of the last stage."""
    done: dict[StepPlace, Measures] = field(default_factory=dict)
    """What the steps did in the last span, on all shards together."""

    def __post_init__(self) -> None:
        self.dataflows = []
        for number, stage in enumerate(self.query.plan.stages):
            assert stage.fragment is not None
            shards = range(self.query.shards_of(number))
            self.dataflows.append([Dataflow(stage.fragment) for _ in shards])
        self.answers = [AnswerStore() for _ in self.dataflows[-1]]

    @classmethod
    def of(
        cls,
        plan: nodes.Node,
        shards: int,
        *,
        strategy: str = "upa",
        every_instant: bool = False,
        large_tables: frozenset[str] = frozenset(),
        boxes: Mapping[str, BoxSchedule] | None = None,
    ) -> Shards:
        """The stages of a plan as a registered query has them."""
        made = make_plan(
            optimize(plan), strategy=strategy, every_instant=every_instant, large_tables=large_tables
        )
        return cls(RunningQuery(1, made, shards, 0), boxes or {})

    def process(self, arrivals: Mapping[str, pa.Table], since: int, clock: int) -> pa.Table:
        """The delta of the answer over a span, of all shards together."""
        given: list[list[pa.Table]] = []
        self.done = {}
        for number, stage in enumerate(self.query.plan.stages):
            shards = self.query.shards_of(number)
            inputs: list[dict[str, list[pa.Table]]] = [{} for _ in range(shards)]
            for source in stage.inputs:
                route = Route(source, shards, None if stage.is_sharded else 0)
                for rows in self._rows(source, arrivals, given):
                    box = self.boxes.get(source.stream or "", BoxSchedule())
                    computed, steps = FragmentRun(rows).input(source, since, box=box)
                    self._note(number, source.name, steps)
                    for shard, mine in route.split(computed):
                        inputs[shard].setdefault(source.name, []).append(mine)
            deltas = [
                dataflow.process(
                    {name: pa.concat_tables(tables) for name, tables in mine.items()}, since, clock
                )
                for dataflow, mine in zip(self.dataflows[number], inputs, strict=True)
            ]
            given.append([delta.table for delta in deltas])
            for dataflow in self.dataflows[number]:
                self._note(number, "", dataflow.measures)
                _measure_anew(dataflow)
        for answer, delta in zip(self.answers, deltas, strict=True):
            answer.apply(delta)
        return pa.concat_tables(table.select(given[-1][0].column_names) for table in given[-1])

    def _note(self, stage: int, part: str, steps: Mapping[str, Measures]) -> None:
        for name, measures in steps.items():
            place = StepPlace(self.query.id, stage, part, name)
            self.done[place] = self.done.get(place, Measures()) + measures

    def _rows(
        self, source: PhysicalInput, arrivals: Mapping[str, pa.Table], given: list[list[pa.Table]]
    ) -> list[pa.Table]:
        """What an input is computed from: the rows of a stream or table, or of all shards of an earlier stage."""
        name = source.stream or source.table
        if name is not None:
            rows = arrivals[name]
            return [rows] if rows.num_rows else []
        assert source.stage is not None
        return [table for table in given[source.stage] if table.num_rows]

    def answer(self, clock: int) -> pa.Table:
        """The answer at the clock, as readers add it up."""
        chunks = [chunk for answer in self.answers for chunk in answer.chunks]
        alive = [chunk.table.filter(pc.field(EXP) > clock) for chunk in chunks]
        plan = self.query.plan.plan
        rows = answer_of([rows for rows in alive if rows.num_rows], relation_of(plan).schema.arrow)
        return sorted_rows(rows, plan)

    def redistributed(self, shards: int, clock: int) -> Shards:
        """The same query on another number of shards, which goes on from the states of this one."""
        after = Shards(replace(self.query, shards=shards), self.boxes)
        for number, stage in enumerate(self.query.plan.stages):
            old, new = len(self.dataflows[number]), len(after.dataflows[number])
            states = {shard: self._chunks(number, shard) for shard in range(old)}
            redistribution = Redistribution(stage, old, new)
            for shard, dataflow in enumerate(after.dataflows[number]):
                mine = states[0]
                if stage.is_sharded:
                    read = {source: states[source] for source in redistribution.sources(shard)}
                    mine = redistribution.chunks(shard, read)
                for name, buffer in dataflow.buffers.items():
                    buffer.restore(mine[name])
                    buffer.compact()
                if number == self.query.plan.last:
                    after.answers[shard] = AnswerStore(mine[ANSWER])
                    after.answers[shard].gather(clock)
        return after

    def _chunks(self, stage: int, shard: int) -> dict[str, Sequence[Chunk]]:
        chunks = {name: buffer.chunks for name, buffer in self.dataflows[stage][shard].buffers.items()}
        return chunks | (
            {ANSWER: self.answers[shard].chunks} if stage == self.query.plan.last else {ANSWER: ()}
        )


def _measure_anew(dataflow: Dataflow) -> None:
    """Lets a dataflow count from zero, as one of a task does, which is made for a single span."""
    dataflow.measures = dict.fromkeys(dataflow.measures, Measures())
    for operator in dataflow.operators:
        operator.noted.clear()
        if isinstance(operator, (AntiJoin, SetOperationByCount, SetOperationByLifetime)):
            operator.departures = Departures()
