"""Output streams end to end on Spark: for every cut into epochs and every number of shards the same history of
changes, instant by instant, and it is that of the reference.

PANES_OUTPUT_CASES=200 draws so many queries, over more cuts and shards; `make test` draws a few.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import panes
from panes.answers.answer_from_segments import AnswerFromSegments
from panes.answers.open_segments import OpenSegments
from panes.clock import HandClock
from panes.delta.delta import TS
from panes.optimizer.optimizer import optimize
from panes.plan.nodes import Node
from panes.plan.output_streams import is_known_at_every_instant
from panes.runtime.epoch_runner import Workload
from panes.runtime.epoch_stores import EpochStores
from panes.spark.spark_engine import SparkEngine
from panes.stages.make_plan import make_plan
from panes.stages.running_query import RunningQuery
from panes.state.storage.epoch_log import EpochLog
from panes.testing import counted
from tests.properties.plans import Drawing
from tests.properties.streams import Arrivals
from tests.reference.relations import Reference
from tests.reference.values import Bag
from tests.spark.test_plans_on_spark import no_query_fails, streams

CASES = int(os.environ.get("PANES_OUTPUT_CASES", "0"))
QUERIES = CASES or 12
EPOCHS = (1, 3, 10, 50) if CASES else (1, 7)
SHARDS = (1, 2, 5) if CASES else (1, 3)
TOGETHER = 20
"""So many drawn queries run over the same rows, each once for every number of shards."""

History = dict[int, Bag]


def drawn(batch: int) -> tuple[list[Node], Arrivals]:
    """Queries with output streams, and rows for them: of the same number always the same."""
    random = Random(batch)
    count = min(TOGETHER, QUERIES - batch * TOGETHER)
    plans = [Drawing(random, has_tables=False).output(random.randint(0, 2)) for _ in range(count)]
    return plans, Arrivals.drawn(random, most_rows=60, most_clocks=1)


def in_epochs(arrivals: Arrivals, epochs: int) -> Arrivals:
    last = max(max(table.column(TS).to_pylist(), default=1) for table in arrivals.streams.values())
    clocks = sorted({int(clock) for clock in np.linspace(0, last, epochs + 1)[1:]} - {0})
    return arrivals.with_clocks(clocks)


@pytest.mark.parametrize("batch", range(-(-QUERIES // TOGETHER)))
def test_neither_epochs_nor_shards_show_in_output_streams(spark, batch):
    plans, arrivals = drawn(batch)
    expected: dict[tuple[int, int], History] = {}
    for epochs in EPOCHS:
        for (place, shards), (clock, history) in ran(spark, plans, in_epochs(arrivals, epochs)).items():
            if (place, clock) not in expected:
                expected[place, clock] = Reference(arrivals.tables, clock).history(plans[place])
            assert history == expected[place, clock], f"{epochs} epochs, {shards} shards: {plans[place]}"
    clocks = {place: {clock for other, clock in expected if other == place} for place in range(len(plans))}
    assert all(len(ends) == 1 for ends in clocks.values()), (
        f"where the queries end depends on the epochs: {clocks}"
    )


def ran(
    spark: object, plans: Sequence[Node], arrivals: Arrivals
) -> Mapping[tuple[int, int], tuple[int, History]]:
    """The last clock and all changes of each plan over each number of shards, in the epochs of the arrivals."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = EpochLog(folder / "epochs")
        segments = OpenSegments(log, folder / "states")
        keys = list(product(range(len(plans)), SHARDS))
        queries = [registered(number, plans[place], shards) for number, (place, shards) in enumerate(keys, 1)]
        histories: list[History] = [{} for _ in keys]
        clocks = [0] * len(keys)

        def collect(record):
            for query, history in zip(queries, histories, strict=True):
                ran = record.queries.get(query.id)
                if ran is None or ran.epoch != record.epoch:
                    continue
                clocks[query.id - 1] = ran.clock
                schema = query.plan.plan.schema.arrow
                rows = AnswerFromSegments(segments, schema)
                add(history, rows.events(ran, is_first=ran.epoch == query.first_epoch))

        workload = Workload(queries, retain_epochs=8, idle_after_us=60_000_000)
        engine = SparkEngine(EpochStores(folder, folder, log), HandClock(), spark)
        engine.start(
            streams(folder, arrivals), lambda *_: workload, collect, suspend=no_query_fails, heartbeat_s=None
        )
        engine.wait()
        engine.catch_up()
        return {key: (clocks[place], netted(histories[place])) for place, key in enumerate(keys)}


def registered(number: int, plan: Node, shards: int) -> RunningQuery:
    return RunningQuery(
        id=number,
        plan=make_plan(optimize(plan), every_instant=not is_known_at_every_instant(plan), calendar_days=3),
        shards=shards,
        first_epoch=0,
    )


def add(history: History, events) -> None:
    """Adds what came and went in an epoch; what was always there comes at 0."""
    for (*row, at, weight), copies in counted(events).items():
        history.setdefault(max(at, 0), Counter())[tuple(row)] += weight * copies


def netted(history: History) -> History:
    nets = {at: Counter({row: n for row, n in bag.items() if n}) for at, bag in history.items()}
    return {at: bag for at, bag in nets.items() if bag}


def test_setting_of_a_query_decides_whether_every_instant_is_told(spark, tmp_path):
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"ts": [1, 2, 4, 8], "k": [7, 7, 7, 8]}), tmp_path / "in" / "0.parquet")
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(
            "CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS "
            f"FROM FILES '{tmp_path / 'in'}'; SET changes = 'instant'"
        )
        sql = "SELECT k, count(*) AS n FROM s [RANGE 5 SECONDS] WHERE k = 7 GROUP BY k"
        exact = db.register(sql)
        db.sql("SET changes = 'epoch'")
        net = db.register(sql)
        db.run()
        ups_and_downs = [(1, 0, 1), (2, 1, 2), (4, 2, 3), (6, 3, 2), (7, 2, 1)]
        assert told(net) == [(8, 1, 1)]
        assert told(exact) == [
            row for at, old, new in ups_and_downs for row in ((at, -1, old), (at, 1, new)) if row[2]
        ]


def told(query: panes.Query) -> list[tuple[int, int, int]]:
    """Second, weight and count of every change."""
    rows = [row for change in query.changes(reader="r") for row in change.table.to_pylist()]
    return sorted((round(row["_at"].timestamp()), row["_weight"], row["n"]) for row in rows)
