"""What a plan says is what tasks make of it: every query of the corpus, under every strategy."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from panes.delta.delta import BEGINNING, TS
from panes.operators.dataflow import Dataflow
from panes.runtime import operator_task
from panes.runtime.task_plans import StageTask
from panes.stages.clock_rule import Span
from panes.stages.explain import Explained, explain_json
from panes.stages.fragment_run import FragmentRun
from panes.stages.make_plan import make_plan
from panes.stages.running_query import RunningQuery
from panes.state.storage.epoch_states import EpochStates
from panes.state.storage.manifest import ANSWER, CHANGES
from panes.state.storage.task_states import TaskStates
from tests.stages.corpus_plans import PLANS, RUNS

EPOCH = 0


def steps_in(data):
    yield data
    for below in data["inputs"]:
        yield from steps_in(below)


def rows_of(source) -> pa.Table:
    """Some rows of a stream, with the columns that an input needs."""
    entry = dict(source.fragment.steps[0].arguments)
    schema = entry["schema"]
    columns = {}
    for field in schema:
        column = pa.nulls(3, field.type.arrow)
        columns[field.name.removeprefix(entry["prefix"])] = column
    return pa.table({**columns, TS: pa.array([1, 2, 3], pa.int64())})


@pytest.mark.parametrize(("name", "strategy"), RUNS)
def test_explain_shows_the_operators_and_buffers_that_tasks_make(
    name: str, strategy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logical = PLANS[name]
    made: list[Dataflow] = []

    class Spied(Dataflow):
        def __post_init__(self) -> None:
            super().__post_init__()
            made.append(self)

    monkeypatch.setattr(operator_task, "Dataflow", Spied)
    plan = make_plan(logical, strategy=strategy)
    query = RunningQuery(1, plan, 1, EPOCH)
    numbers, given, kept = {}, {}, {}
    for number, stage in enumerate(plan.stages):
        for source in stage.inputs:
            numbers[number, source.name] = len(numbers)
    for number, stage in enumerate(plan.stages):
        arrivals = {}
        for source in stage.inputs:
            rows = rows_of(source) if source.stage is None else given[source.stage]
            arrivals[numbers[number, source.name]], _ = FragmentRun(rows).input(source, BEGINNING)
        inputs = tuple(numbers[number, source.name] for source in stage.inputs)
        task = StageTask(query, number, inputs, (), None)
        states = TaskStates(EpochStates(tmp_path, {}, 1), EPOCH, 0, 0, "a_1")
        work = operator_task._Shard(task, 0, Span(EPOCH, BEGINNING, 10), EpochStates(tmp_path, {}, 1), states)
        _, delta = operator_task._advance(work, arrivals)
        kept[number] = states._saved[task.place.shard(0)].buffers.keys()
        given[number] = delta.table
    said = explain_json(Explained(plan, 1))
    steps = {
        (s["stage"], s["step"]): s
        for s in steps_in(said["plan"])
        if "stage" in s and "before_shuffle" not in s
    }
    ran = {
        (number, step.name): (type(operator).__name__, {n: b.kind for n, b in operator.buffers.items()})
        for number, dataflow in enumerate(made)
        for step, operator in zip(dataflow.fragment.steps, dataflow.operators, strict=True)
        if type(operator).__name__ != "Entry"
    }
    assert {
        key: (step["operator"], {b["name"]: b["kind"] for b in step["buffers"]})
        for key, step in steps.items()
    } == ran
    assert all(kind for _, buffers in ran.values() for kind in buffers.values())
    for number in range(len(plan.stages)):
        shown = {f"{step}.{b}" for (stage, step), (_, bs) in ran.items() if stage == number for b in bs}
        assert set(kept[number]) - {ANSWER, CHANGES} == shown
