"""A physical plan at work on one shard, in this process: what its steps did, span by span, without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from time import thread_time_ns

import pyarrow as pa

from panes.answers.answer_store import AnswerStore
from panes.delta.delta import BEGINNING
from panes.operators.dataflow import Dataflow
from panes.operators.measures import STATE, Measures
from panes.sharing.shared_indexes import Slices
from panes.stages.fragment_run import FragmentRun
from panes.stages.measure_log import StepPlace
from panes.stages.physical_plan import PhysicalPlan
from panes.state.storage.manifest import ANSWER

NUMBER = 1
"""Of the query, in the places of its steps."""


@dataclass
class PlanRun:
    """The operators of a plan with their state, and its answer."""

    plan: PhysicalPlan
    members: Slices | None = None
    """The slices of the queries that share the plan."""
    clock: int = BEGINNING
    _dataflows: list[Dataflow] = field(init=False)
    _answer: AnswerStore = field(default_factory=AnswerStore)

    def __post_init__(self) -> None:
        self._dataflows = [
            Dataflow(stage.fragment) for stage in self.plan.stages if stage.fragment is not None
        ]

    def span(self, arrivals: Mapping[str, pa.Table], clock: int) -> dict[StepPlace, Measures]:
        """Runs a span up to the clock; gives what each step did in it."""
        done: dict[StepPlace, Measures] = {}
        given: list[pa.Table] = []
        since, self.clock = self.clock, clock
        for number, stage in enumerate(self.plan.stages):
            inputs: dict[str, pa.Table] = {}
            for source in stage.inputs:
                name = source.stream or source.table
                rows = arrivals[name] if name is not None else given[source.stage or 0]
                if rows.num_rows:
                    inputs[source.name], steps = FragmentRun(rows).input(source, since, self.members)
                    done |= {StepPlace(NUMBER, number, source.name, step): m for step, m in steps.items()}
            dataflow = self._dataflows[number]
            before = dict(dataflow.measures)
            delta = dataflow.process({n: t for n, t in inputs.items() if t.num_rows}, since, clock)
            given.append(delta.table)
            for step, after in dataflow.measures.items():
                done[StepPlace(NUMBER, number, "", step)] = _difference(after, before[step])
        began = thread_time_ns()
        self._answer.apply(delta)
        done[StepPlace(NUMBER, self.plan.last, "", ANSWER)] = Measures(
            rows_in=delta.rows, cpu_us=(thread_time_ns() - began) / 1000, spans=1
        )
        return done


def _difference(after: Measures, before: Measures) -> Measures:
    """What was done between two measurements; state is what it is after."""
    done = {
        f.name: getattr(after, f.name) - (0 if f.name in STATE else getattr(before, f.name))
        for f in fields(Measures)
    }
    return Measures(**done)
