"""Queries that get other plans while they run, on Spark: answers and changes are those of twins that keep
theirs."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import duckdb
import pyarrow as pa
import pytest

import panes
from panes import errors, stored_plans
from panes.language import bind, parse
from panes.optimizer.optimizer import optimize
from panes.stages.make_plan import make_plan
from panes.testing import local

QUERIES = {
    "paired": "SELECT a.k, a.x, b.x AS y FROM s [RANGE 7 SECONDS] AS a, s [RANGE 9 SECONDS] AS b WHERE a.k = b.k",
    "across": "SELECT a.k, a.x, b.x AS y FROM s [RANGE 12 SECONDS] AS a, t [RANGE 9 SECONDS] AS b WHERE a.k = b.k",
    "slides": "SELECT k, count(*) AS n, sum(x) AS total FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] GROUP BY k",
    "counted": "SELECT k, count(*) AS n FROM s [RANGE 9 SECONDS] GROUP BY k",
    "alone": "SELECT k FROM s [RANGE 9 SECONDS] EXCEPT ALL SELECT x FROM s [RANGE 3 SECONDS]",
    "last": "SELECT k, x FROM s [ROWS 4]",
    "named": "SELECT s.x, h.name FROM s [RANGE 9 SECONDS], hosts h WHERE s.k = h.k",
    "priced": "SELECT s.x, p.rate FROM s [RANGE 9 SECONDS], prices p WHERE s.k = p.k",
    "entered": "SELECT Istream(k, x) FROM s [RANGE 5 SECONDS] WHERE x > 1",
    "above": "SELECT DISTINCT k FROM counted WHERE n > 1",
}
Rows = Counter[tuple[object, ...]]


def rows_of(table: pa.Table) -> Rows:
    return Counter(zip(*[column.to_pylist() for column in table.columns], strict=True))


def twin(name: str) -> str:
    return f"{name}_undisturbed"


class Chooser:
    """Stands in for the choice of plans: a strategy is a plan with the same answer and another layout of
    states."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.strategy: str | None = None
        self.plan = None
        choose = stored_plans.choose_plan

        def chosen(plan, statistics, planning, *rules):
            if self.plan is not None:
                return self.plan
            strategy = self.strategy or planning.strategy
            return choose(plan, statistics, replace(planning, strategy=strategy), *rules)

        monkeypatch.setattr(stored_plans, "choose_plan", chosen)


@pytest.fixture
def chooser(monkeypatch: pytest.MonkeyPatch) -> Chooser:
    return Chooser(monkeypatch)


def answer_at(db: panes.Database, name: str, as_of: str | None) -> object:
    try:
        answer = db.query(name).invoke(as_of=as_of)
    except errors.EpochGone as error:
        return str(error).split(" is ", 1)[-1]
    return answer.as_of, answer.complete_from, rows_of(answer.table)


def changes_of(db: panes.Database, name: str, reader: str) -> list[object]:
    found = db.query(name).changes(reader=reader)
    return [(change.epoch, change.as_of, change.is_whole, rows_of(change.table)) for change in found]


def test_readers_see_nothing_of_switches(tmp_path, chooser):
    chance = random.Random(5)
    duck = duckdb.connect(config={"threads": 1})
    duck.execute("CREATE TABLE s (ts BIGINT, k BIGINT, x BIGINT)")
    with local(tmp_path / "db") as db:
        db.sql(
            """
            SET shards = 2; SET share_from = 100;
            CREATE STREAM s (ts BIGINT, k BIGINT, x BIGINT) TIMESTAMP BY ts SECONDS RETAIN INTERVAL 1 HOUR;
            CREATE STREAM t (ts BIGINT, k BIGINT, x BIGINT) TIMESTAMP BY ts SECONDS;
            CREATE TABLE hosts (k BIGINT PRIMARY KEY, name BIGINT);
            CREATE TABLE prices (k BIGINT PRIMARY KEY, rate BIGINT) NON RETROACTIVE;
            INSERT INTO hosts VALUES (0, 0), (1, 100); INSERT INTO prices VALUES (0, 0), (1, 100), (2, 200)
            """
        )
        for name, sql in QUERIES.items():
            db.sql(f"SET changes = '{'instant' if name == 'counted' else 'epoch'}'")
            db.register(sql, name=name)
            # Equal queries would share one state.
            db.sql("SET priority = 2")
            db.register(sql, name=twin(name))
            db.sql("SET priority = 1")
        now = 0
        for epoch in range(6):
            if epoch:
                # Some in every epoch, some twice in a row, some with a change of tables or shards at once.
                chooser.strategy = "nt" if epoch % 2 else "upa"
                for name in QUERIES:
                    if epoch == 1 or chance.random() < 0.6:
                        db.sql(f"ALTER QUERY {name} REPLAN")
            if epoch in (2, 4):
                for name in QUERIES:
                    db.sql(f"ALTER QUERY {name} SET shards = {3 if epoch == 2 else 1}")
            if epoch in (1, 4):
                db.sql(
                    f"UPDATE hosts SET name = name + {epoch}; UPDATE prices SET rate = rate + 1 WHERE k < 2"
                )
            if epoch != 3:  # a switch when nothing comes
                rows = {"s": [], "t": []}
                for _ in range(14):
                    now += chance.choice((0, 1, 1, 2))
                    late = chance.choice((0, 0, 0, 0, 3, 6)) if epoch else 0
                    row = (max(1, now - late), chance.randrange(4), chance.randrange(5))
                    rows[chance.choice("sst")].append(row)
                for name, some in rows.items():
                    db.push(name, some)
                duck.executemany("INSERT INTO s VALUES (?, ?, ?)", rows["s"])
            db.run()
            latest = max(int(db.query("paired").invoke().as_of.timestamp()), 0)
            counts = f"SELECT k, count(*) FROM s WHERE ts <= {latest} AND {latest} < ts + 9 GROUP BY k"
            assert rows_of(db.query("counted").invoke().table) == Counter(duck.execute(counts).fetchall())
            for name in QUERIES:
                assert answer_at(db, name, None) == answer_at(db, twin(name), None), (epoch, name)
                # This reader comes after every epoch, another one at the end.
                assert changes_of(db, name, "often") == changes_of(db, twin(name), "often"), (epoch, name)
        for name in QUERIES:
            assert changes_of(db, name, "late") == changes_of(db, twin(name), "late"), name
            for second in range(0, latest + 2, 3):
                as_of = f"1970-01-01T00:{second // 60:02}:{second % 60:02}"
                assert answer_at(db, name, as_of) == answer_at(db, twin(name), as_of), (name, as_of)
        switched = {
            name: sum(row["state"] == "ended" for row in db.sql(f"SHOW PLANS {name}").to_pylist())
            for name in QUERIES
        }
        assert all(switched.values()), switched
        assert {len(db.sql(f"SHOW PLANS {twin(name)}")) for name in QUERIES} == {1}


def test_a_plan_that_fails_as_it_begins_leaves_the_query_as_it_was(tmp_path, chooser):
    sums = "SELECT k, sum(x{}) AS n FROM s [RANGE 9 SECONDS] GROUP BY k"
    with local(tmp_path / "db") as db:
        db.sql("CREATE STREAM s (ts BIGINT, k BIGINT, x BIGINT) TIMESTAMP BY ts SECONDS; SET shards = 2")
        db.register(sums.format(""), name="q")
        db.push("s", [(1, 1, 1), (2, 1, 2)])
        db.run()
        (failing,) = parse(sums.format(" * 4611686018427387904"))
        chooser.plan = make_plan(optimize(bind(failing, db._catalog)))
        db.sql("ALTER QUERY q REPLAN")
        for second in (3, 4):
            db.push("s", [(second, 1, 3)])
            db.run()
            assert rows_of(db.query("q").invoke().table) == Counter({(1, 3 * second - 3): 1})
        assert sum(change.is_whole for change in db.query("q").changes()) == 1
        first, second = db.sql("SHOW PLANS q").to_pylist()
        assert (first["state"], second["state"]) == ("runs", "failed")
        assert second["reason"].startswith("ALTER QUERY … REPLAN; failed: ")
        assert db.status().failed == {}


def test_who_waits_for_changes_goes_on_through_a_switch(tmp_path, chooser):
    with local(tmp_path / "db") as db:
        db.sql("CREATE STREAM s (ts BIGINT, k BIGINT, x BIGINT) TIMESTAMP BY ts SECONDS; SET shards = 2")
        query = db.register(QUERIES["paired"], name="q")
        known: Rows = Counter()
        chooser.strategy = "nt"
        db.push("s", [(1, 1, 1)])
        db.run()
        # One iterator, which holds the place of its query from before the switch until after it.
        following = query.changes(reader="r", timeout=None)
        for epoch in range(4):
            db.push("s", [(2 * epoch + 2 + n, n % 2, epoch) for n in range(4)])
            if epoch == 2:
                db.sql("ALTER QUERY q REPLAN")
            db.run()
            while (change := next(following)).epoch <= db.status().epoch:
                known.update(rows_of(change.inserted))
                known.subtract(rows_of(change.deleted))
                if change.epoch == db.status().epoch:
                    break
            assert +known == rows_of(query.invoke().table)
        assert [row["state"] for row in db.sql("SHOW PLANS q").to_pylist()] == ["ended", "runs"]
        following.close()
