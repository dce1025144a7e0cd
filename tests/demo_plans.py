"""What docs/demo-plans.md shows: EXPLAIN ANALYZE of the demo's queries, run as tasks run them, without Spark."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pyarrow as pa

from benchmarks.measuring import packets, plans, tariffs
from panes.cli.demo_queries import QUERIES
from panes.delta.delta import BEGINNING
from panes.operators.measures import Measures
from panes.optimizer.cost import plan_cost
from panes.optimizer.statistics import Statistics
from panes.runtime import operator_task
from panes.runtime.operator_task import StatesBefore
from panes.runtime.task_plans import StageTask
from panes.stages.clock_rule import Span
from panes.stages.explain import Explained, explain
from panes.stages.explain_tree import StepKey
from panes.stages.fragment_run import FragmentRun
from panes.stages.measure_log import Measured, StepPlace, measured_after
from panes.stages.physical_plan import PhysicalPlan
from panes.stages.running_query import RunningQuery
from panes.state.storage.index import pin_of_task
from panes.state.storage.task_states import TaskStates

PAGE = Path(__file__).parent.parent / "docs" / "demo-plans.md"
EPOCHS = 12
"""Of a second each."""
_SECOND = 1_000_000


def analyzed(plan: PhysicalPlan, folder: Path) -> Explained:
    """The plan after some epochs on one shard, with what its steps did."""
    query = RunningQuery(1, plan, 1, 0)
    known: Measured = {}
    pins: dict[str, str] = {}
    for epoch in range(EPOCHS):
        since = BEGINNING if epoch == 0 else epoch * _SECOND
        span = Span(epoch, since, (epoch + 1) * _SECOND, epoch - 1, min(epoch, 1))
        done, pins = _epoch(query, packets(epoch), span, StatesBefore(folder, pins))
        known = measured_after(known, epoch, {1: 0.0 if epoch == 0 else 1.0}, done)
    measured = {StepKey(*place[1:]): measures for place, measures in known.items()}
    cost = plan_cost(plan, Statistics())
    return Explained(plan, 1, measured=measured, expected={**cost.steps, **cost.shuffles})


def _epoch(
    query: RunningQuery, rows: pa.Table, span: Span, states: StatesBefore
) -> tuple[dict[StepPlace, Measures], dict[str, str]]:
    """What the steps of an epoch did, and where its states are."""
    done: dict[StepPlace, Measures] = {}
    given: list[pa.Table] = []
    before = states.opened()
    after = [TaskStates(before, span.epoch, level, 0, "a") for level in range(max(query.plan.levels) + 1)]
    for number, stage in enumerate(query.plan.stages):
        arrivals = {}
        for place, source in enumerate(stage.inputs):
            came = given[source.stage] if source.stage is not None else rows
            if source.table is not None:
                came = tariffs(span.epoch)
            arrivals[place], steps = FragmentRun(came).input(source, span.since)
            done |= {StepPlace(1, number, source.name, name): m for name, m in steps.items()}
        task = StageTask(query, number, tuple(range(len(stage.inputs))), (), None)
        some = {place: table for place, table in arrivals.items() if table.num_rows}
        work = operator_task._Shard(task, 0, span, before, after[query.plan.levels[number]])
        report, delta = operator_task._advance(work, some)
        done |= {StepPlace(1, number, "", name): Measures(*m) for name, m in report.steps.items()}
        given.append(delta.table)
    saved = {pin_of_task(level, 0): task.finish() for level, task in enumerate(after)}
    return done, {name: index.pin for name, index in saved.items() if index is not None}


def renewed() -> str:
    """The page as it must be, but for times and bytes."""
    parts = [_HEAD]
    demo = plans()
    with tempfile.TemporaryDirectory() as folder:
        for query in QUERIES:
            sql = "\n".join(
                line.removeprefix(" " * 12) for line in query.sql.strip("\n").splitlines()
            ).strip()
            text = explain(analyzed(demo[query.name], Path(folder) / query.name))
            parts.append(f"## {query.title}\n\n```sql\n{sql}\n```\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def masked(text: str) -> str:
    """The text without CPU times and bytes, which differ from machine to machine."""
    return re.sub(r"\d+\.\d+", "#", re.sub(r" +(?=\d+\.\d)", " ", text))


_HEAD = f"""# The demo's queries, explained and measured

`EXPLAIN ANALYZE` of the queries that `make demo` runs, after {EPOCHS} epochs of a second and 1,000 rows each, on
one shard; the tariff of a link changes in every epoch. The figures are averages per epoch: rows that went in and
came out, expirations and retractions among the messages, state rows that were read or moved, CPU time, the state
that is kept, and the bytes written. What is expected beside them is assumed throughout: it is the plan of a new
database. [Reading EXPLAIN](explain.md) says what the lines mean.
`python -m tests.demo_plans` renews the page, and a test compares everything but times and bytes.
"""

if __name__ == "__main__":
    PAGE.write_text(renewed(), encoding="utf-8")
