"""What Spark's Python workers load: operators and state, and nothing that parses, binds or plans.

Tasks get plans that are bound already. A worker that loaded the parser would start later, and would depend on
libraries that only the driver needs. No Spark session is needed to see what is imported.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable

import pytest
from pyspark import cloudpickle

import panes
from panes.runtime import ingest_task, operator_task
from panes.runtime.task_plans import PlanValues, TaskPlans
from panes.spark.sent import Sent
from panes.state.storage.epoch_log import NOTHING

ONLY_FOR_THE_DRIVER = (
    "sqlglot",
    "duckdb",
    "sqlite3",
    "rich",
    "typer",
    "panes.catalog",
    "panes.cli",
    "panes.connection",
    "panes.database",
    "panes.language",
    "panes.onetime",
    "panes.optimizer",
    "panes.registered",
    "panes.sqlite_file",
    "panes.statements",
    "panes.spark.spark_engine",
    "panes.runtime.epoch_runner",
)

LOAD = """
import sys
from pyspark import cloudpickle
from panes.spark.daemon import prepare
prepare()
before = set(sys.modules)
cloudpickle.loads(sys.stdin.buffer.read())
print(*(sorted(set(sys.modules) - before)))
print(*sorted(sys.modules))
"""

QUERIES = (
    "SELECT src FROM packets [RANGE 1 MINUTE] WHERE src > 1",
    "SELECT src FROM packets [RANGE 1 MINUTE] WHERE src > 2",
    "SELECT src, count(*) AS n, avg(size) AS a FROM packets [RANGE 1 MINUTE SLIDE 10 SECONDS] GROUP BY src",
    "SELECT count(*) AS n, median(size) AS m FROM packets [ROWS 10]",
    "SELECT DISTINCT a.src FROM packets [RANGE 1 MINUTE] AS a, packets [NOW] AS b WHERE a.src = b.src",
    "SELECT src FROM packets [RANGE 1 MINUTE] EXCEPT SELECT src FROM packets [NOW]",
    "SELECT Istream(upper(proto)) FROM packets [RANGE 1 MINUTE] WHERE proto LIKE 't%'",
)


def loaded(program: str, given: bytes = b"") -> list[set[str]]:
    """The modules that a program prints, line by line, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", program], input=given, stdout=subprocess.PIPE, check=True)
    return [set(line.split()) for line in done.stdout.decode().splitlines()]


def out_of_place(modules: Iterable[str]) -> list[str]:
    return [m for m in modules if any(m == name or m.startswith(f"{name}.") for name in ONLY_FOR_THE_DRIVER)]


@pytest.mark.parametrize("task", [operator_task, ingest_task], ids=lambda module: module.__name__)
def test_a_task_loads_nothing_that_only_the_driver_needs(task):
    (modules,) = loaded(f"import sys, {task.__name__}; print(*sys.modules)")
    assert task.__name__ in modules
    assert out_of_place(modules) == []


def test_a_worker_loads_nothing_more_when_it_gets_queries(tmp_path):
    with panes.connect(tmp_path / "db") as db:
        db.sql(
            "CREATE STREAM packets (ts BIGINT, src BIGINT, size DOUBLE, proto STRING) TIMESTAMP BY ts SECONDS; "
            "SET share_from = 2"
        )
        for query in QUERIES:
            db.register(query)
        running = db._running.workload(NOTHING, 2).queries
    assert len(running) == len(QUERIES)
    assert any(query.members is not None for query in running)
    shipped = [
        *running,
        *(mine.index.value.to_ship() for query in running if query.members for mine in query.members.all),
        Sent,
        PlanValues,
        TaskPlans,
    ]
    more, all_modules = loaded(LOAD, cloudpickle.dumps(shipped))
    assert more == set(), "the daemon should import these before it forks workers"
    assert out_of_place(all_modules) == []
