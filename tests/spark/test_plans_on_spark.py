"""Drawn plans end to end on Spark: over any cut into epochs and any number of shards, the oracle's answers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from itertools import count
from pathlib import Path

import pyarrow.parquet as pq
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from panes.answers.answer_from_segments import AnswerFromSegments
from panes.answers.answer_source import AnswerSource
from panes.answers.invoke import invoke
from panes.answers.open_segments import OpenSegments
from panes.clock import HandClock
from panes.delta.delta import TS
from panes.optimizer.optimizer import optimize
from panes.plan.stream import Stream
from panes.runtime.epoch_runner import Workload
from panes.runtime.epoch_stores import EpochStores
from panes.spark.spark_engine import SparkEngine
from panes.stages.make_plan import make_plan
from panes.stages.running_query import RunningQuery
from panes.state.storage.epoch_log import EpochLog
from panes.testing import Oracle, same_rows
from tests.base_stream import base_stream
from tests.properties.plans import plans
from tests.properties.streams import STREAMS, Arrivals, arrivals

CASES = int(os.environ.get("PANES_SPARK_CASES", "3"))
PLANS_PER_CASE = 8
"""Run together over the same epochs: an epoch costs the same for one query as for a few."""


def streams(folder: Path, drawn: Arrivals) -> list[Stream]:
    """The arrivals as files, a file of each stream per epoch, and the streams that read them."""
    created = []
    for number, name in enumerate(STREAMS, start=1):
        table = drawn.tables[name].rename_columns(["k", "v", "w", "at"])
        (folder / name).mkdir()
        for epoch, (came, _, _) in enumerate(drawn.spans()):
            part = came[name].rename_columns(["k", "v", "w", "at"])
            path = folder / name / f"{epoch}.parquet"
            pq.write_table(part, path)
            os.utime(path, (epoch, epoch))
        assert table.column_names[-1] == "at"
        statement = (
            f"CREATE STREAM {name} (k BIGINT, v DOUBLE, w STRING, at BIGINT) TIMESTAMP BY at MICROSECONDS "
            f"FROM FILES '{folder / name}' WITH (files_per_epoch = 1)"
        )
        created.append(base_stream(statement, number))
    return created


def no_query_fails(failures: Mapping[int, str]) -> None:
    raise AssertionError(failures)


@settings(
    max_examples=CASES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
@given(
    drawn=st.lists(plans(), min_size=PLANS_PER_CASE, max_size=PLANS_PER_CASE),
    came=arrivals(),
    shards=st.sampled_from([1, 2, 5]),
    strategy=st.sampled_from(["upa", "nt"]),
    exchange=st.sampled_from(["files", "shuffle"]),
)
def test_answers_are_the_oracles_after_every_epoch(spark, drawn, came, shards, strategy, exchange):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = EpochLog(folder / "epochs")
        numbers = count(1)
        queries = {}
        for plan in drawn:
            number = next(numbers)
            queries[number] = RunningQuery(
                id=number,
                plan=make_plan(optimize(plan), strategy=strategy, calendar_days=3),
                shards=shards,
                first_epoch=0,
            )
        oracle = Oracle(came.tables)
        engine = SparkEngine(EpochStores(folder, folder, log), HandClock(), spark)
        epochs = []
        segments = OpenSegments(log, folder / "states")

        def compare(record):
            for number, query in queries.items():
                schema = query.plan.plan.schema.arrow
                rows = AnswerFromSegments(segments, schema)
                standing = AnswerSource(number, str(number), query.plan.plan, rows, number, first_epoch=0)
                ran = standing.ran_by(record)
                answer = invoke(standing, ran)
                if answer.as_of is None:
                    continue  # the slower stream has brought nothing yet
                expected = oracle.answer_at(drawn[number - 1], ran.clock)
                difference = same_rows(answer.table, expected)
                assert difference is None, f"{drawn[number - 1]} at {ran.clock}: {difference}"
            epochs.append(record)

        workload = Workload(
            list(queries.values()), retain_epochs=8, idle_after_us=60_000_000, exchange=exchange
        )
        engine.start(
            streams(folder, came), lambda *_: workload, compare, suspend=no_query_fails, heartbeat_s=None
        )
        engine.wait()
        engine.catch_up()
        last = max(max(table.column(TS).to_pylist(), default=0) for table in came.streams.values())
        assert epochs[-1].clock == last
