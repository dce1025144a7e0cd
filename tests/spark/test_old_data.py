"""New queries over old data: registered at any epoch, a query's every answer counts what came before it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from random import Random

import pytest

from panes.answers.answer_from_segments import AnswerFromSegments
from panes.answers.answer_source import AnswerSource
from panes.answers.invoke import invoke
from panes.answers.open_segments import OpenSegments
from panes.clock import HandClock
from panes.delta.delta import BEGINNING
from panes.history.query_clocks import KnownClocks
from panes.history.retention import Retained
from panes.onetime.answer_once import answer_once
from panes.optimizer.optimizer import optimize
from panes.plan.walk import streams_of
from panes.runtime.epoch_runner import Workload
from panes.runtime.epoch_stores import EpochStores
from panes.spark.spark_engine import SparkEngine
from panes.stages.make_plan import make_plan
from panes.stages.running_query import RunningQuery
from panes.state.storage.epoch_log import EpochLog
from panes.testing import Oracle, same_rows
from tests.properties.plans import Drawing
from tests.properties.streams import Arrivals
from tests.spark.test_plans_on_spark import no_query_fails, streams
from tests.test_docs import ROOT, blocks

CASES = int(os.environ.get("PANES_SPARK_CASES", "2"))
PLANS_PER_CASE = 10


@pytest.mark.parametrize("seed", range(CASES))
def test_answers_are_the_oracles_whenever_the_query_was_registered(spark, seed):
    random = Random(seed)
    came = Arrivals.drawn(random, most_rows=60, most_clocks=6)
    drawn = [Drawing(random, has_tables=False).relation(random.randint(0, 3)) for _ in range(PLANS_PER_CASE)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = EpochLog(folder / "epochs")
        engine = SparkEngine(EpochStores(folder, folder, log), HandClock(), spark)
        oracle = Oracle(came.tables)
        segments = OpenSegments(log, folder / "states")
        declared = streams(folder, came)
        by_name = {stream.name: stream for stream in declared}
        known = KnownClocks(log)
        queries = {}
        for number, plan in enumerate(drawn, start=1):
            queries[number] = RunningQuery(
                id=number,
                plan=make_plan(optimize(plan), strategy=random.choice(["upa", "nt"]), calendar_days=3),
                shards=random.choice([1, 2]),
                first_epoch=random.randint(0, len(came.clocks)),
            )
        compared = 0

        def workload(before, _cores):
            begun = [query for query in queries.values() if query.first_epoch <= before.epoch + 1]
            retained = {stream.number: Retained(None) for stream in declared}
            return Workload(begun, retain_epochs=3, idle_after_us=60_000_000, retained=retained)

        def compare(record):
            nonlocal compared
            for number, query in queries.items():
                plan = drawn[number - 1]
                clocks = known.of(by_name[name].number for name in streams_of(plan))
                clock = clocks.at(record.epoch)
                if clock == BEGINNING:
                    continue  # the slower stream has brought nothing yet
                if query.first_epoch <= record.epoch:
                    schema = query.plan.plan.schema.arrow
                    rows = AnswerFromSegments(segments, schema)
                    standing = AnswerSource(
                        number, str(number), query.plan.plan, rows, number, query.first_epoch
                    )
                    answer = invoke(standing, standing.ran_by(record))
                    compared += 1
                else:
                    answer = answer_once(
                        optimize(plan), by_name, engine.stores.history, record.epoch, clock, clocks
                    )
                difference = same_rows(answer.table, oracle.answer_at(plan, clock))
                begun = f"begun in {query.first_epoch}, epoch {record.epoch}, at {clock}"
                assert difference is None, f"{plan} {begun}: {difference}"

        engine.start(declared, workload, compare, suspend=no_query_fails, heartbeat_s=None)
        engine.wait()
        engine.catch_up()
        assert compared >= PLANS_PER_CASE // 2


@pytest.mark.usefixtures("commands_on_spark")
def test_the_program_about_history_prints_what_its_page_shows(capsys):
    page = ROOT / "docs" / "history.md"
    [program] = blocks(page, "python")
    shown, _ = blocks(page, "text")
    exec(compile(program, "history.md", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == shown
