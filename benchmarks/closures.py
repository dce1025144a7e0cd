"""What every epoch ships to each task, with the plans of all queries inside and with the plans in a broadcast.

    python -m benchmarks.closures [--queries 100]

It tells the bytes of the closure of operator tasks, and the CPU time to pickle it on the driver and to unpickle it
in a worker. Spark is not needed for it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark import cloudpickle

import panes
from panes.delta.delta import BEGINNING
from panes.plan.stream import Stream
from panes.runtime.job_plan import JobPlan
from panes.runtime.operator_task import OperatorTask, StatesBefore
from panes.runtime.task_plans import SentPlans, TaskPlans
from panes.stages.clock_rule import ClockRule, Position
from panes.stages.running_query import RunningQuery
from panes.state.storage.epoch_log import NOTHING

TIMES = 20
QUERY = (
    "SELECT k, count(*) AS n, sum(x) AS total FROM s [RANGE {range} SECONDS SLIDE 5 SECONDS] "
    "WHERE x > {least} GROUP BY k"
)


@dataclass(frozen=True)
class Inside:
    """Plans that travel in the closure."""

    value: TaskPlans


@dataclass(frozen=True)
class Named:
    """Stands for plans in a broadcast: the closure has its number alone."""

    number: int

    @property
    def value(self) -> TaskPlans:
        raise NotImplementedError("it is only shipped")


def running(queries: int) -> tuple[list[Stream], list[RunningQuery]]:
    """The queries, each with another window, as epochs run them."""
    with tempfile.TemporaryDirectory() as name, panes.connect(Path(name) / "db") as db:
        db.sql("CREATE STREAM s (ts BIGINT, k BIGINT, x BIGINT) TIMESTAMP BY ts SECONDS")
        for number in range(queries):
            db.register(QUERY.format(range=10 + number, least=number % 7))
        found = db._running.workload(NOTHING, 2).queries
        return list(db._connection.catalog.base_streams()), list(found)


def milliseconds(call: Callable[[], object]) -> float:
    call()
    began = time.process_time()
    for _ in range(TIMES):
        call()
    return 1000 * (time.process_time() - began) / TIMES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--queries", type=int, default=100)
    arguments = parser.parse_args()
    streams, queries = running(arguments.queries)
    positions = {query.id: Position(frozenset({1}), BEGINNING, -1, begins=True) for query in queries}
    rule = ClockRule(0, streams, {}, positions, 2 * 10**15, 0, 10**7, occasion="rows")
    job = JobPlan(queries, rule)
    print(f"{arguments.queries} queries, closure of an operator task")
    print(f"{'plans':<14}{'bytes':>10}{'to pickle, ms':>16}{'to unpickle, ms':>18}")
    ways: dict[str, SentPlans] = {"inside": Inside(job.plans), "in a broadcast": Named(1)}
    for name, plans in ways.items():
        task = OperatorTask(
            0, plans, job.values, rule, None, StatesBefore(Path("states")), "writer", is_last=True
        )
        closure = cloudpickle.dumps(task)
        pickling = milliseconds(lambda task=task: cloudpickle.dumps(task))
        loading = milliseconds(lambda closure=closure: cloudpickle.loads(closure))
        print(f"{name:<14}{len(closure):>10,}{pickling:>16.2f}{loading:>18.2f}")


if __name__ == "__main__":
    main()
