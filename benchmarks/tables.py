"""Tables that change while queries run: `python -m benchmarks.tables`.

    lookup     tuples that look up a non-retroactive table of 100,000 rows, on one core
    updates    1,000 changes of single rows per second against a window of 1,000,000 tuples: what the operators and
               the answer take for each second, with a retroactive table and, in turns, with one that is not
    live       the same on Spark, as fast as time passes: how far the answer is behind what was written
    writing    changes of single rows, by statements and by `db.load`, durable when the call returns
    loading    1,000,000 rows by `db.load`, into an empty table and once more with `replace=True`

Lookups and updates are run as tasks run them, without Spark, and their times are CPU seconds, so that others on
the same machine count less. The times of writing and loading are those of a clock on the wall, with the CPU
seconds beside them.
"""

from __future__ import annotations

import os

os.environ.setdefault("POLARS_MAX_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import cProfile
import pstats
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import panes
from benchmarks.result_files import save
from panes.delta.delta import BEGINNING, EXP, FOREVER, TS, WEIGHT
from panes.language import bind, parse
from panes.language import statements as st
from panes.optimizer.optimizer import optimize
from panes.stages.make_plan import make_plan
from panes.stages.running_query import RunningQuery
from tests.language.corpus import Shelf
from tests.properties.shards import Shards

NAME = "tables"
TABLE = 100_000
DELTA = 200_000
WINDOW = 1_000_000
PER_SECOND, UPDATES, SECONDS = 10_000, 1_000, 12
LOADED = 1_000_000
STATEMENTS, THREADS, TOGETHER = 1_000, 8, 100
LIVE_SECONDS = 30
AIMS = {"lookup": 2_000_000, "updates": UPDATES, "loading": 10.0}
"""Tuples per second, changes per second, seconds."""

_SECOND = 1_000_000
_DEFINED = (
    "CREATE STREAM p (ts BIGINT, src BIGINT, bytes BIGINT) TIMESTAMP BY ts MICROSECONDS",
    "CREATE TABLE hosts (src BIGINT PRIMARY KEY, owner BIGINT)",
    "CREATE TABLE hosts_then (src BIGINT PRIMARY KEY, owner BIGINT) NON RETROACTIVE",
)


def shards_of(sql: str) -> Shards:
    """A query on one shard."""
    shelf = Shelf()
    for text in _DEFINED:
        (statement,) = parse(text)
        assert isinstance(statement, (st.CreateStream, st.CreateTable))
        shelf.things[statement.name] = statement
    (select,) = parse(sql)
    assert isinstance(select, st.SelectQuery)
    return Shards(RunningQuery(1, make_plan(optimize(bind(select, shelf))), 1, 0))


def tuples(random: np.random.Generator, begin: int, end: int, count: int) -> pa.Table:
    """Tuples of a span, in the order of time."""
    ts = begin + 1 + np.arange(count) * (end - begin) // count
    src = random.integers(0, TABLE, count)
    return pa.table({"ts": ts, "src": src, "bytes": random.integers(40, 1_500, count), TS: ts})


def rows_at(src: np.ndarray, owner: np.ndarray, instant: int, weight: int) -> pa.Table:
    """A change of the table."""
    count = len(src)
    columns = {"src": src, "owner": owner, TS: np.full(count, instant), EXP: np.full(count, FOREVER)}
    return pa.table(columns | {WEIGHT: np.full(count, weight, np.int64)})


def cpu_of(run: Shards, arrivals: dict[str, pa.Table], since: int, clock: int) -> float:
    """CPU seconds of a span, with what a task does to keep its state small."""
    began = time.process_time()
    run.process(arrivals, since, clock)
    for dataflows in run.dataflows:
        for dataflow in dataflows:
            for buffer in dataflow.buffers.values():
                buffer.compact()
    return time.process_time() - began


def everything() -> tuple[np.ndarray, np.ndarray]:
    return np.arange(TABLE), np.arange(TABLE)


def lookup() -> dict[str, Any]:
    """Tuples per CPU second: those of the lookup alone, and of all steps with the answer."""
    random = np.random.default_rng(1)
    run = shards_of(
        "SELECT p.src, p.bytes, t.owner FROM p [RANGE 1 SECOND], hosts_then t WHERE p.src = t.src"
    )
    cpu_of(
        run,
        {"p": tuples(random, 0, _SECOND, 1), "hosts_then": rows_at(*everything(), 0, 1)},
        BEGINNING,
        _SECOND,
    )
    (flow,) = run.dataflows[-1]
    (step,) = [step.name for step in flow.fragment.steps if step.operator == "Lookup"]
    alone, whole = [], []
    for second in range(1, 9):
        before = flow.measures[step].cpu_us
        arrivals = {"p": tuples(random, second * _SECOND, (second + 1) * _SECOND, DELTA)}
        arrivals["hosts_then"] = rows_at(np.arange(0), np.arange(0), 0, 1)
        whole.append(cpu_of(run, arrivals, second * _SECOND, (second + 1) * _SECOND))
        alone.append((flow.measures[step].cpu_us - before) / 1e6)
    return {
        "what": "lookup",
        "table_rows": TABLE,
        "rows_per_s": round(DELTA / min(alone)),
        "with_all_steps_per_s": round(DELTA / min(whole)),
        "state_rows": int(flow.measures[step].state_rows),
    }


def updates() -> list[dict[str, Any]]:
    """CPU seconds per second of event time, early and late, for both kinds of tables."""
    sql = "SELECT p.src, p.bytes, t.owner FROM p [RANGE 100 SECONDS], {} t WHERE p.src = t.src"
    names = ("hosts", "hosts_then")
    random = np.random.default_rng(2)
    runs = {name: shards_of(sql.format(name)) for name in names}
    first = {"p": tuples(random, 0, 100 * _SECOND, WINDOW)} | dict.fromkeys(
        names, rows_at(*everything(), 0, 1)
    )
    for run in runs.values():
        cpu_of(run, first, BEGINNING, 100 * _SECOND)
    owners = everything()[1].copy()
    spent: dict[str, list[float]] = {name: [] for name in names}
    for second in range(100, 100 + SECONDS):
        since, clock = second * _SECOND, (second + 1) * _SECOND
        chosen = random.choice(TABLE, UPDATES, replace=False)
        old = rows_at(chosen, owners[chosen], since + 1, -1)
        owners[chosen] += 1
        change = pa.concat_tables([old, rows_at(chosen, owners[chosen], since + 1, 1)])
        arrivals = {"p": tuples(random, since, clock, PER_SECOND)} | dict.fromkeys(names, change)
        for name, run in runs.items():
            spent[name].append(cpu_of(run, arrivals, since, clock))
    half = SECONDS // 2
    return [
        {
            "what": "updates",
            "table": name,
            "updates_per_s": UPDATES,
            "window_rows": WINDOW,
            "cpu_s_early": round(float(np.median(seconds[:half])), 3),
            "cpu_s_late": round(float(np.median(seconds[half:])), 3),
        }
        for name, seconds in spent.items()
    ]


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the wall, and of the CPU."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return round(time.perf_counter() - wall, 3), round(time.process_time() - cpu, 3)


def live(changes: int) -> dict[str, Any]:
    """Seconds of event time that the answer is behind, early and late, and the seconds of epochs."""
    random = np.random.default_rng(3)
    behind, epochs = [], []
    with tempfile.TemporaryDirectory() as folder, panes.connect(Path(folder) / "db") as db:
        db.sql("; ".join(_DEFINED[:2]))
        src, owner = everything()
        db.load("hosts", pa.table({"src": src, "owner": owner}))
        query = db.register(
            "SELECT t.owner, count(*) AS n FROM p [RANGE 100 SECONDS], hosts t "
            "WHERE p.src = t.src GROUP BY t.owner"
        )
        db.push("p", tuples(random, 0, 100 * _SECOND, WINDOW).drop_columns([TS]))
        db.run()
        db.start(on_epoch=lambda epoch: epochs.append(epoch.seconds))
        began = time.monotonic()
        for second in range(100, 100 + LIVE_SECONDS):
            db.push(
                "p", tuples(random, second * _SECOND, (second + 1) * _SECOND, PER_SECOND).drop_columns([TS])
            )
            if changes:
                chosen = random.choice(TABLE, changes, replace=False)
                db.load("hosts", pa.table({"src": chosen, "owner": chosen + second}), on_conflict="update")
            time.sleep(max(0.0, began + second - 99 - time.monotonic()))
            as_of = query.invoke().as_of
            assert as_of is not None
            behind.append(second + 1 - as_of.timestamp())
        db.stop()
    half = LIVE_SECONDS // 2
    return {
        "what": "live",
        "updates_per_s": changes,
        "seconds": LIVE_SECONDS,
        "behind_s_early": round(float(np.median(behind[5:half])), 1),
        "behind_s_late": round(float(np.median(behind[half:])), 1),
        "epoch_s": round(float(np.median(epochs)), 2),
        "load_average": round(os.getloadavg()[0], 1),
    }


def writing() -> list[dict[str, Any]]:
    """Changes per second: statements one after the other, in threads, which share the wait for the disk, many in
    one transaction, and rows that are loaded."""

    def update(number: int) -> str:
        return f"UPDATE hosts SET owner = owner + 1 WHERE src = {number * 37 % TABLE}"

    def in_threads(db: panes.Database, threads: int) -> None:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda number: db.sql(update(number)), range(STATEMENTS)))

    def together(db: panes.Database) -> None:
        for first in range(0, STATEMENTS, TOGETHER):
            db.sql("; ".join(update(number) for number in range(first, first + TOGETHER)))

    def loaded(db: panes.Database) -> None:
        src = np.arange(STATEMENTS)
        db.load("hosts", pa.table({"src": src, "owner": src + 1}), on_conflict="update")

    ways: dict[str, Callable[[panes.Database], None]] = {
        "statements of one thread": lambda db: in_threads(db, 1),
        f"statements of {THREADS} threads": lambda db: in_threads(db, THREADS),
        f"transactions of {TOGETHER} statements": together,
        f"`db.load` of {STATEMENTS:,} rows": loaded,
    }
    found = []
    for way, work in ways.items():
        with tempfile.TemporaryDirectory() as folder, panes.connect(Path(folder) / "db") as db:
            db.sql("; ".join(_DEFINED))
            src, owner = everything()
            db.load("hosts", pa.table({"src": src, "owner": owner}))
            seconds, cpu = timed(lambda work=work, db=db: work(db))  # type: ignore[misc]
        found.append(
            {
                "what": "writing",
                "way": way,
                "per_s": round(STATEMENTS / seconds),
                "cpu_ms_each": round(cpu / STATEMENTS * 1000, 3),
            }
        )
    return found


def loading() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, panes.connect(Path(folder) / "db") as db:
        db.sql("; ".join(_DEFINED))
        rows = pa.table({"src": np.arange(LOADED), "owner": np.arange(LOADED) % 1_000})
        seconds, cpu = timed(lambda: db.load("hosts", rows))
        other = rows.set_column(1, "owner", pa.array(np.where(np.arange(LOADED) % 100, rows["owner"], -1)))
        again, again_cpu = timed(lambda: db.load("hosts", other, replace=True))
    return {
        "what": "loading",
        "rows": LOADED,
        "seconds": seconds,
        "cpu_s": cpu,
        "replace_seconds": again,
        "replace_cpu_s": again_cpu,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--profile", choices=["lookup", "updates", "live", "writing", "loading"])
    asked = parser.parse_args()
    parts: dict[str, Callable[[], Any]] = {
        "lookup": lambda: [lookup()],
        "updates": updates,
        "live": lambda: [live(0), live(UPDATES)],
        "writing": writing,
        "loading": lambda: [loading()],
    }
    if asked.profile:
        profile = cProfile.Profile()
        print(profile.runcall(parts[asked.profile]))
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)
        return
    results = [result for part in parts.values() for result in part()]
    for result in results:
        print(result)
    save(NAME, results)


if __name__ == "__main__":
    main()
