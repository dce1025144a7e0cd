"""Standing queries of several kinds over a folder of files, one file per epoch, for tests that disturb them."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import panes
from panes import stored_plans
from panes.testing import local

QUERIES = {
    "selected": "SELECT k, x FROM s [RANGE 20 SECONDS] WHERE x <> 3",
    "grouped": "SELECT k, count(*) AS n, sum(x) AS total FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] GROUP BY k",
    "paired": "SELECT a.k, a.x, b.x AS y FROM s [RANGE 7 SECONDS] AS a, s [RANGE 9 SECONDS] AS b WHERE a.k = b.k",
    "alone": "SELECT k FROM s [RANGE 9 SECONDS] EXCEPT ALL SELECT x FROM s [RANGE 3 SECONDS]",
    "last": "SELECT k, x FROM s [ROWS 4]",
    "sampled": "SELECT k, x FROM s [RANGE 20 SECONDS] WHERE x <> 4",
    "estimated": "SELECT k, count(*) AS n, avg(x) AS mean FROM s [RANGE 15 SECONDS] GROUP BY k",
}
SHEDDING = ("sampled", "estimated")
SHARES = (0.5, 0.25, 1.0, 0.75)
"""What these keep in turn of the rows of one epoch after the other."""
TABLES = """
    CREATE TABLE hosts (k BIGINT PRIMARY KEY, name BIGINT);
    CREATE TABLE tariffs (k BIGINT PRIMARY KEY, rate BIGINT) NON RETROACTIVE;
    INSERT INTO hosts VALUES (0, 0), (1, 100), (2, 200);
    INSERT INTO tariffs VALUES (0, 0), (1, 100), (2, 200), (3, 300), (4, 400)
"""
TABLE_QUERIES = {
    "named": "SELECT s.x, h.name FROM s [RANGE 9 SECONDS], hosts h WHERE s.k = h.k",
    "by_name": "SELECT h.name, count(*) AS n FROM s [RANGE 20 SECONDS], hosts h WHERE s.k = h.k GROUP BY h.name",
    "priced": "SELECT s.x, t.rate FROM s [RANGE 9 SECONDS], tariffs t WHERE s.k = t.k",
}
CHANGES = 8
"""So many epochs, the first ones, are followed by a transaction."""
ROWS = [{"ts": row // 2, "k": row * 7 % 5, "x": row % 11} for row in range(90)]
EPOCHS = 10


def write_files(folder: Path) -> None:
    size = len(ROWS) // EPOCHS
    for epoch in range(EPOCHS):
        add_file(folder, epoch, ROWS[epoch * size : (epoch + 1) * size])


def add_file(folder: Path, number: int, rows: list[dict[str, int]]) -> Path:
    """A file that Spark takes in after those of lower numbers: it goes by the time of the last change."""
    path = folder / f"{number}.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    os.utime(path, (number, number))
    return path


NEW_SESSION = object()
"""Stands for a Spark session that Panes starts."""


def prepare(path, folder, spark=None, **places) -> panes.Database:
    """Opens a database in the process of the test, or on Spark when a session is given."""
    if spark is None:
        db = local(path, **places)
    else:
        db = panes.connect(path, spark=None if spark is NEW_SESSION else spark, **places)
    if not db.queries():
        db.sql(
            "CREATE STREAM s (ts BIGINT, k BIGINT, x BIGINT) TIMESTAMP BY ts SECONDS "
            f"FROM FILES '{folder}' WITH (files_per_epoch = 1)"
        )
        for name, sql in QUERIES.items():
            shed = "auto" if name in SHEDDING else "never"
            db.sql(f"CREATE QUERY {name} WITH (shed = '{shed}') AS {sql}")
    _let_shed(db)
    return db


def _let_shed(db) -> None:
    """Lets queries shed, as if the machine were too slow. What they keep in an epoch follows from the record of
    the one before it, so that an epoch that is done again, also by another process, sheds the same rows."""
    workload = db._running.workload

    def workload_that_sheds(before, cores):
        (stream,) = db._catalog.base_streams()
        share = SHARES[before.epoch % len(SHARES)]
        shedding = [db._catalog.query(name) for name in SHEDDING]
        db._running.set_shares(before, {query.id: {stream.number: share} for query in shedding})
        return workload(before, cores)

    db._running.workload = workload_that_sheds


def prepare_with_tables(path, folder, spark=None, **places) -> panes.Database:
    """The same with tables, and queries over them."""
    db = prepare(path, folder, spark, **places)
    if "hosts" not in db.sql("SHOW TABLES").column("name").to_pylist():
        db.sql(TABLES)
        for name, sql in TABLE_QUERIES.items():
            db.register(sql, name=name)
    return db


def change_tables(db, epoch: int) -> None:
    """The transaction that follows an epoch. Applied twice, or in part, it would leave other rows.

    A process that was killed in `on_epoch` is told of the epoch again. The first host counts what was accepted.
    """
    (first,) = db.sql("SELECT name FROM hosts WHERE k = 0").to_pylist()
    if epoch == first["name"] < CHANGES:
        last = (
            "DELETE FROM tariffs WHERE k = 4"
            if epoch % 2 == 0
            else f"INSERT INTO tariffs VALUES (4, {epoch})"
        )
        db.sql(
            "UPDATE hosts SET name = name + 1; "
            f"UPDATE tariffs SET rate = rate + 1 WHERE k = {epoch % 4}; "
            f"{last}"
        )


class Replanned:
    """Gives all queries other plans after an epoch, again and again: the other strategy is another plan."""

    def __init__(self) -> None:
        self._strategy = "upa"
        self._choose = stored_plans.choose_plan
        stored_plans.choose_plan = self._chosen

    def _chosen(self, plan, statistics, planning, *rules):
        return self._choose(plan, statistics, replace(planning, strategy=self._strategy), *rules)

    def after(self, db, epoch: int) -> None:
        self._strategy = "upa" if epoch % 2 else "nt"
        for query in db.queries():
            db.sql(f"ALTER QUERY {query.name} REPLAN")

    def close(self) -> None:
        stored_plans.choose_plan = self._choose


def tables(db) -> dict[str, Counter]:
    names = db.sql("SHOW TABLES").column("name").to_pylist()
    return {name: multiset(db.sql(f"SELECT * FROM {name}").table) for name in names}


def answers(db) -> dict[str, Counter]:
    """The rows of every answer, with their intervals where they are estimates."""
    found = {query.name: query.invoke() for query in db.queries()}
    return {name: multiset(answer.error or answer.table) for name, answer in found.items()}


def changes(db) -> dict[str, list[tuple[int, str, Counter]]]:
    """All changes of every query from the first epoch on, as a reader who has never come before sees them."""
    return {
        query.name: [(change.epoch, str(change.as_of), multiset(change.table)) for change in query.changes()]
        for query in db.queries()
    }


@dataclass(frozen=True)
class Found:
    """All that a run leaves behind for others to see."""

    answers: dict[str, Counter]
    changes: dict[str, list[tuple[int, str, Counter]]]
    tables: dict[str, Counter]
    rows: int
    shed: dict[str, dict[str, int]]
    kept: dict[str, dict[str, float]]
    epoch: int


def found_in(db) -> Found:
    status = db.status()
    return Found(answers(db), changes(db), tables(db), status.rows, status.shed, status.kept, status.epoch)


def multiset(table: pa.Table) -> Counter:
    return Counter(zip(*[column.to_pylist() for column in table.columns], strict=True))
