"""Aggregates over any span of time, from one store: those that DuckDB finds over the tuples of the window."""

from __future__ import annotations

import os
from random import Random

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from panes.delta.delta import BEGINNING, CAME, TS
from panes.history.retention import held_by
from panes.language import bind, parse
from panes.language import statements as st
from panes.optimizer.optimizer import optimize
from panes.plan.nodes import Node
from panes.sharing.begin_end_aggregate import begin_end_aggregate_of
from panes.state.storage.manifest import TIMED
from panes.synopses.timed_store import TimedStore
from panes.testing import Oracle, same_rows
from tests.synopses.timed_tuples import in_store, opened, reading_of

RUNS = int(os.environ.get("PANES_RUNS", "8"))
STREAM = "CREATE STREAM s (k INT, a BIGINT, b STRING, d DOUBLE)"
WINDOWS = (
    "BEGIN (NOW - INTERVAL {} MICROSECONDS) END (NOW)",
    "BEGIN (NOW - INTERVAL {} MICROSECONDS) END (NOW - INTERVAL 7 MICROSECONDS)",
    "BEGIN (TIMESTAMP '1970-01-01 00:00:00.0000{:02}') END (NOW)",
    "BEGIN (TIMESTAMP '1970-01-01 00:00:00.000010') END (TIMESTAMP '1970-01-01 00:00:00.0000{:02}')",
)
SHOWN = (
    "count(*) AS n",
    "count(a) AS n, sum(a) AS x",
    "sum(a) + count(b) AS x, min(b) AS y",
    "max(b) AS x, min(a) AS y, max(a) AS z",
    "avg(a) AS x, max(d) AS y, sum(d) AS z",
    "var_samp(d) AS x, count(*) AS n",
    "max(a + k) AS x",
)


class Shelf:
    """A catalog of one stream."""

    def __init__(self) -> None:
        (self._stream,) = parse(STREAM)

    def stream(self, name: str) -> st.CreateStream | None:
        assert isinstance(self._stream, st.CreateStream)
        return self._stream if name == "s" else None

    def table(self, _name: str) -> None:
        return None

    def names(self) -> list[str]:
        return ["s"]

    def is_query(self, _name: str) -> bool:
        return False


def plan_of(sql: str) -> Node:
    (query,) = parse(sql)
    assert isinstance(query, st.SelectQuery)
    return optimize(bind(query, Shelf()))


def drawn(random: Random, by: str, condition: str) -> Node:
    """A query over the tuples that pass a condition, by some keys."""
    window = random.choice(WINDOWS).format(random.randint(11, 99))
    keys = "".join(f"{key} AS key_{n}, " for n, key in enumerate(filter(None, by.split(";"))))
    having = random.choice(("", "", " HAVING count(*) > 2"))
    group = f" GROUP BY {', '.join(filter(None, by.split(';')))}" if by else ""
    return plan_of(f"SELECT {keys}{random.choice(SHOWN)} FROM s{condition} {window}{group}{having}")


def arrivals(random: Random, count: int, since: int, clock: int) -> pa.Table:
    """Tuples of a span, of which some are of an earlier time. Doubles are multiples of 1/4: sums are exact."""
    is_late = [clock == since or random.random() < 0.25 for _ in range(count)]
    spans = [(max(0, since - 30), since) if late else (since + 1, clock) for late in is_late]
    ts = [random.randint(*span) for span in spans]
    great = (None, 2**57, -(2**57))
    numbers = [random.choice(great) if random.random() < 0.1 else random.randint(-9, 9) for _ in ts]
    columns = {
        "k": pa.array([random.choice([None, 1, 2, 3]) for _ in ts], pa.int32()),
        "a": pa.array(numbers, pa.int64()),
        "b": pa.array([random.choice([None, "x", "yy", "äé", ""]) for _ in ts], pa.string()),
        "d": pa.array([random.randint(-40, 40) / 4 for _ in ts], pa.float64()),
    }
    return pa.table(
        {**columns, TS: pa.array(ts, pa.int64()), CAME: pa.array([since + 1] * count, pa.int64())}
    )


@pytest.mark.parametrize("seed", range(RUNS))
def test_every_answer_is_that_of_sql_as_queries_come_and_go_and_tuples_come_late(seed: int):
    random = Random(seed)
    by, condition = (
        random.choice(("", "k", "k;b", "a % 3")),
        random.choice(("", " WHERE a > -5", " WHERE k = 1")),
    )
    shards = random.choice((1, 2))
    members = [drawn(random, by, condition) for _ in range(3)]
    stores = [opened(reading_of(members[0])) for _ in range(shards)]
    came, since = [], 0
    for _ in range(random.randint(2, 6)):
        clock = since + random.choice((0, 1, 9, 30))
        rows = arrivals(random, random.choice((0, 1, 40)), since, clock)
        if random.random() < 0.5:
            members[random.randrange(3)] = drawn(random, by, condition)
        measures = [measure for plan in members for measure in reading_of(plan).asked.measures]
        for number, store in enumerate(stores):
            store.admit(measures)
            mine = rows.slice(0).filter(pa.array(np.arange(rows.num_rows) % shards == number))
            store.add(in_store(reading_of(members[0]), mine).drop_columns([CAME]), measures, since)
        came.append(rows)
        if random.random() < 0.3:
            stores = [opened(reading_of(members[0]), store) for store in stores]
        _check(members, stores, pa.concat_tables(came), {since, clock, (since + clock) // 2})
        since = clock


def _check(members: list[Node], stores: list[TimedStore], came: pa.Table, instants: set[int]) -> None:
    with duckdb.connect() as connection:
        oracle = Oracle({"s": came}, connection)
        for plan in members:
            for now in instants:
                reading = reading_of(plan)
                found = reading.shown(reading.asked.at(stores, now))
                assert same_rows(found, oracle.answer_at(plan, now)) is None, (plan, now)


def test_tuples_that_no_window_needs_are_forgotten_and_the_others_are_not():
    random, plan = Random(5), plan_of(f"SELECT k, max(a) AS x FROM s {WINDOWS[0].format(20)} GROUP BY k")
    reading = reading_of(plan)
    store, came = opened(reading), []
    for since in range(0, 2_000, 10):
        rows = arrivals(random, 20, since, since + 10)
        came.append(rows)
        store.add(in_store(reading, rows).drop_columns([CAME]), reading.asked.measures, since)
        store.expire(since, held_by(reading.asked.window).keeps)
        if since % 500 == 0:
            _check([plan], [store], pa.concat_tables(came), {since + 10})
    assert store.rows < 200
    assert len(store.chunks[TIMED]) < 12


def test_tuples_of_the_history_say_themselves_when_they_came():
    random, plan = Random(6), plan_of(f"SELECT count(*) AS n, sum(a) AS x FROM s {WINDOWS[0].format(30)}")
    reading, store = reading_of(plan), opened(reading_of(plan))
    rows = pa.concat_tables([arrivals(random, 20, since, since + 10) for since in (0, 10, 20)])
    store.add(in_store(reading, rows), reading.asked.measures, BEGINNING)
    _check([plan], [store], rows, {5, 10, 11, 15, 21, 30})


def test_few_chunks_are_looked_into_however_many_epochs_there_were():
    plan = plan_of(f"SELECT max(a) AS x FROM s {WINDOWS[2].format(10)}")
    reading, store, random = reading_of(plan), opened(reading_of(plan)), Random(7)
    for since in range(300):
        rows = in_store(reading, arrivals(random, 5, since, since + 1)).drop_columns([CAME])
        store.add(rows, reading.asked.measures, since)
    assert store.rows == 1_500
    assert len(store.chunks[TIMED]) <= 11


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k, a FROM s BEGIN (NOW - INTERVAL 1 SECOND) END (NOW)",
        "SELECT count(DISTINCT a) AS n FROM s BEGIN (NOW - INTERVAL 1 SECOND) END (NOW)",
        "SELECT array_agg(a) AS n FROM s BEGIN (NOW - INTERVAL 1 SECOND) END (NOW)",
        "SELECT count(*) AS n FROM s [RANGE 1 SECOND]",
    ],
)
def test_other_queries_are_none_of_it(sql: str):
    assert begin_end_aggregate_of(plan_of(sql)) is None
