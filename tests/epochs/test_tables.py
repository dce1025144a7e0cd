"""Streams and tables together: at every step the answers are those of SQL over windows and tables.

A relation is the table as it is at the clock of the query. A table that is not retroactive is, for each tuple,
what it was at the tuple's own time: whether the tuple came in time, late, or from the history of its stream.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import duckdb
import pytest

import panes
from panes.clock import to_microseconds
from panes.database import Database
from panes.errors import QueryFailed
from panes.state.storage.files import write_bytes
from panes.testing import local

SECOND = 1_000_000
DEFINED = """
    CREATE STREAM p (ts BIGINT, src BIGINT, bytes BIGINT) TIMESTAMP BY ts SECONDS RETAIN INTERVAL 1 HOUR;
    CREATE STREAM o (ts BIGINT, src BIGINT, bytes BIGINT) TIMESTAMP BY ts SECONDS RETAIN INTERVAL 1 HOUR;
    CREATE TABLE hosts (src BIGINT PRIMARY KEY, owner STRING);
    CREATE TABLE tariffs (src BIGINT PRIMARY KEY, owner STRING) NON RETROACTIVE;
"""
RELATIONS = {
    "joined": (
        "SELECT p.src, p.ts, h.owner FROM p [RANGE 40 SECONDS], hosts h WHERE p.src = h.src",
        "SELECT p.src, p.ts, h.owner FROM p, hosts h WHERE p.src = h.src",
    ),
    "known": (
        "SELECT p.src, p.ts FROM p [RANGE 40 SECONDS] WHERE EXISTS (SELECT * FROM hosts h WHERE h.src = p.src)",
        "SELECT p.src, p.ts FROM p WHERE EXISTS (SELECT * FROM hosts h WHERE h.src = p.src)",
    ),
    "unknown": (
        "SELECT p.src, p.ts FROM p [RANGE 40 SECONDS] WHERE p.src NOT IN (SELECT h.src FROM hosts h)",
        "SELECT p.src, p.ts FROM p WHERE p.src NOT IN (SELECT h.src FROM hosts h)",
    ),
    "by_owner": (
        "SELECT h.owner, count(*) AS n, sum(p.bytes) AS b FROM p [RANGE 40 SECONDS], hosts h "
        "WHERE p.src = h.src GROUP BY h.owner",
        "SELECT h.owner, count(*), sum(p.bytes)::BIGINT FROM p, hosts h WHERE p.src = h.src GROUP BY h.owner",
    ),
    "silent": (
        "SELECT h.src FROM hosts h WHERE NOT EXISTS (SELECT * FROM p [RANGE 40 SECONDS] WHERE p.src = h.src)",
        "SELECT h.src FROM hosts h WHERE NOT EXISTS (SELECT * FROM p WHERE p.src = h.src)",
    ),
    "of_two_streams": (
        "SELECT p.ts, o.ts AS other, h.owner FROM p [RANGE 40 SECONDS], o [RANGE 40 SECONDS], hosts h "
        "WHERE p.src = o.src AND o.src = h.src",
        "SELECT p.ts, o.ts, h.owner FROM p, o, hosts h WHERE p.src = o.src AND o.src = h.src",
    ),
}
LOOKUPS = {
    "priced": (
        "SELECT p.src, p.ts, t.owner FROM p [RANGE 40 SECONDS], tariffs t WHERE p.src = t.src",
        "SELECT p.src, p.ts, t.owner FROM p, versions t WHERE p.src = t.src AND {p}",
    ),
    "all_priced": (
        "SELECT p.src, p.ts, t.owner FROM p, tariffs t WHERE p.src = t.src",
        "SELECT p.src, p.ts, t.owner FROM ever p, versions t WHERE p.src = t.src AND {p}",
    ),
    "with_a_price": (
        "SELECT p.src, p.ts FROM p [RANGE 40 SECONDS] WHERE EXISTS (SELECT * FROM tariffs t WHERE t.src = p.src)",
        "SELECT p.src, p.ts FROM p WHERE EXISTS (SELECT * FROM versions t WHERE t.src = p.src AND {p})",
    ),
    "without_a_price": (
        "SELECT p.src, p.ts FROM p [RANGE 40 SECONDS] WHERE p.src NOT IN (SELECT t.src FROM tariffs t)",
        "SELECT p.src, p.ts FROM p WHERE NOT EXISTS (SELECT * FROM versions t WHERE t.src = p.src AND {p})",
    ),
    "sums": (
        "SELECT t.owner, count(*) AS n FROM p [RANGE 40 SECONDS], tariffs t WHERE p.src = t.src GROUP BY t.owner",
        "SELECT t.owner, count(*) FROM p, versions t WHERE p.src = t.src AND {p} GROUP BY t.owner",
    ),
    "both": (
        "SELECT p.ts, t.owner, h.owner AS host FROM p [RANGE 40 SECONDS], tariffs t, hosts h "
        "WHERE p.src = t.src AND p.src = h.src",
        "SELECT p.ts, t.owner, h.owner FROM p, versions t, hosts h WHERE p.src = t.src AND p.src = h.src AND {p}",
    ),
    "last": (
        "SELECT p.src, p.ts, t.owner FROM p, tariffs t WHERE p.src = t.src "
        "BEGIN (NOW - INTERVAL 20 SECONDS) END (NOW)",
        "SELECT p.src, p.ts, t.owner FROM ever p, versions t "
        "WHERE p.src = t.src AND p.ts * 1000000 >= {now} - 20000000 AND {p}",
    ),
}
QUERIES = RELATIONS | LOOKUPS

DERIVED = """
    CREATE STREAM seen AS SELECT Istream(p.src, h.owner) FROM p [RANGE 30 SECONDS], hosts h WHERE p.src = h.src;
    CREATE STREAM priced AS SELECT p.src, t.owner FROM p, tariffs t WHERE p.src = t.src;
"""
OVER_STREAMS = {
    "entered": "SELECT src, owner FROM seen [RANGE 20 SECONDS]",
    "few_priced": "SELECT owner, count(*) AS n FROM priced [RANGE 20 SECONDS] GROUP BY owner",
    "mixed": "SELECT s.owner, t.owner AS price FROM seen [RANGE 20 SECONDS] s, priced [RANGE 20 SECONDS] t "
    "WHERE s.src = t.src",
}
"""Over streams that are computed from tables: a query that is asked once goes through all of the history again."""


class World:
    """A database, and what must be in it: tuples, the rows of tables, and when the tables changed."""

    def __init__(self, path: Path, seed: int) -> None:
        self._path = path
        self.random = Random(seed)
        self.db: Database = local(path)
        self.pushed: dict[str, list[tuple[int, int, int]]] = {"p": [], "o": []}
        self.tables: dict[str, dict[int, str]] = {"hosts": {}, "tariffs": {}}
        self.versions: list[tuple[int, dict[int, str]]] = []
        """What the table that is looked up was, and from which instant of `p` on."""
        self.clock = -1
        self.registered = 0
        """Of `p`; that of `o` never is ahead of it."""
        self.has_changes = False
        self.db.sql(f"{DEFINED}; {DERIVED}; SET retain_epochs = 3")

    def reconnect(self) -> None:
        self.db.close()
        self.db = local(self._path)

    def push(self, *times: int) -> None:
        """Tuples of both streams with these times, in seconds; `p` has the last one."""
        for stream, chosen in (("o", times), ("p", times)):
            rows = [(ts, self.random.randrange(6), self.random.randrange(100)) for ts in chosen]
            self.db.push(stream, rows)
            self.pushed[stream] += rows

    def change(self, count: int = 4) -> None:
        """Some statements that change the tables, as one transaction."""
        statements: list[str] = []
        for _ in range(count):
            name = self.random.choice(["hosts", "tariffs"])
            rows = self.tables[name]
            src, owner = self.random.randrange(6), self.random.choice("abcd")
            match self.random.randrange(4):
                case 0:
                    statements.append(f"DELETE FROM {name} WHERE src = {src}")
                    rows.pop(src, None)
                case 1:
                    statements.append(f"UPDATE {name} SET owner = '{owner}' WHERE src > {src}")
                    rows |= {other: owner for other in rows if other > src}
                case _:
                    upsert = "ON CONFLICT (src) DO UPDATE SET owner = excluded.owner"
                    statements.append(f"INSERT INTO {name} VALUES ({src}, '{owner}') {upsert}")
                    rows[src] = owner
        self.db.sql("; ".join(statements))
        self.has_changes = True

    def run(self) -> None:
        effective = self.clock + 1
        if self.has_changes:
            self.versions.append((effective, dict(self.tables["tariffs"])))
        self.db.run()
        last = max((ts * SECOND for ts, _, _ in self.pushed["p"]), default=-1)
        self.clock = max(self.clock, last, effective if self.has_changes and self.clock >= 0 else -1)
        self.has_changes = False

    def expected(self, sql: str) -> list[tuple[object, ...]]:
        """What SQL gives over windows of 40 seconds and the tables."""
        ends = [*(begin for begin, _ in self.versions[1:]), 1 << 62]
        versions = [
            (src, owner, begin, end)
            for (begin, rows), end in zip(self.versions, ends, strict=False)
            for src, owner in rows.items()
        ]
        with duckdb.connect() as connection:
            for name in ("p", "o"):
                connection.execute(f"CREATE TABLE ever_{name} (ts BIGINT, src BIGINT, bytes BIGINT)")
                if self.pushed[name]:
                    connection.executemany(f"INSERT INTO ever_{name} VALUES (?, ?, ?)", self.pushed[name])
                held = f"ts * 1000000 > {self.clock} - 40000000"
                connection.execute(f"CREATE VIEW {name} AS SELECT * FROM ever_{name} WHERE {held}")
            connection.execute("CREATE VIEW ever AS SELECT * FROM ever_p")
            connection.execute("CREATE TABLE hosts (src BIGINT, owner VARCHAR)")
            if self.tables["hosts"]:
                connection.executemany("INSERT INTO hosts VALUES (?, ?)", list(self.tables["hosts"].items()))
            connection.execute("CREATE TABLE versions (src BIGINT, owner VARCHAR, b BIGINT, e BIGINT)")
            if versions:
                connection.executemany("INSERT INTO versions VALUES (?, ?, ?, ?)", versions)
            at = "t.b <= p.ts * 1000000 AND p.ts * 1000000 < t.e"
            return connection.execute(sql.format(p=at, now=self.clock)).fetchall()

    def check(self, *suffixes: object) -> None:
        """Compares the answers of all queries, and of the same asked once."""
        for name, (query, sql) in QUERIES.items():
            expected = sorted(self.expected(sql), key=str)
            asked = {f"{name}_{suffix}": self.db.query(f"{name}_{suffix}").invoke for suffix in suffixes}
            once: Callable[[], object] = lambda query=query: self.db.sql(query)  # noqa: E731
            for asker, ask in {**asked, f"{name} once": once}.items():
                answer = ask()
                assert isinstance(answer, panes.Answer)
                assert rows_of(answer) == expected, f"{asker} at {self.clock}"
                if expected:
                    assert answer.as_of is not None
                    assert to_microseconds(answer.as_of) == self.clock
        for name, query in OVER_STREAMS.items():
            once = rows_of(self.db.sql(query))
            for suffix in suffixes:
                assert rows_of(self.db.query(f"{name}_{suffix}").invoke()) == once, f"{name} at {self.clock}"

    def register(self, suffix: object, *, shards: object = 2) -> None:
        # Equal queries would share one state.
        self.registered += 1
        self.db.sql(f"SET shards = {shards!r}; SET priority = {self.registered}")
        for name, (query, _) in QUERIES.items():
            self.db.register(query, name=f"{name}_{suffix}")
        for name, query in OVER_STREAMS.items():
            self.db.register(query, name=f"{name}_{suffix}")


def rows_of(answer: object) -> list[tuple[object, ...]]:
    assert isinstance(answer, panes.Answer)
    return sorted((tuple(row.values()) for row in answer.to_pylist()), key=str)


@contextmanager
def closing_world(path: Path, seed: int = 1) -> Iterator[World]:
    world = World(path, seed)
    try:
        yield world
    finally:
        world.db.close()


def test_answers_over_streams_and_tables_are_those_of_sql(tmp_path):
    with closing_world(tmp_path / "db") as world:
        world.change(8)
        for shards in (1, 2, 5):
            world.register(shards, shards=shards)
        world.push(1, 2, 3, 5, 8)
        world.run()
        world.check(1, 2, 5)
        # Changes alone: the clock moves on to the instant at which they take effect.
        world.change()
        world.run()
        world.check(1, 2, 5)
        # Late tuples meet the table of their own time, or the relation of now.
        world.change()
        world.push(20, 4, 7, 21)
        world.run()
        world.check(1, 2, 5)
        # Queries that come later see the same tuples, and the same tables.
        world.change()
        world.register("later", shards=2)
        world.push(30, 32, 10)
        world.run()
        world.check(1, 2, 5, "later")
        # Another process goes on: what was accepted before is there, and no more than once.
        world.change()
        world.reconnect()
        world.db.sql("ALTER QUERY joined_1 SET shards = 3; ALTER QUERY priced_5 SET shards = 2")
        world.db.sql("ALTER QUERY both_5 SET shards = 1; ALTER QUERY by_owner_2 SET shards = 5")
        world.push(45, 50, 41, 33)
        world.run()
        world.check(1, 2, 5, "later")
        world.change(8)
        world.push(70, 71)
        world.run()
        world.check(1, 2, 5, "later")
        assert len(list((tmp_path / "db" / "tables" / "manifests").iterdir())) <= 4
        assert not list((tmp_path / "db" / "tables" / "accepted").iterdir())


def test_large_tables_are_routed_by_the_keys_of_queries(tmp_path, monkeypatch):
    monkeypatch.setattr("panes.stored_plans._LARGE", 1)
    with closing_world(tmp_path / "db", seed=2) as world:
        world.change(8)
        world.run()  # before any tuple has come
        world.register(2, shards=2)
        world.register(5, shards=5)
        assert "Copy to every" not in world.db.sql("EXPLAIN joined_5")
        assert "Shuffle to 5 shards by h.src" in world.db.sql("EXPLAIN joined_5")
        world.push(1, 2, 3, 5, 8)
        world.run()
        world.check(2, 5)
        world.change(8)
        world.db.sql("ALTER QUERY joined_5 SET shards = 2; ALTER QUERY priced_2 SET shards = 5")
        world.push(20, 4, 7, 21)
        world.run()
        world.check(2, 5)
        world.change(8)
        world.run()
        world.check(2, 5)


def test_queries_that_share_a_plan_share_its_tables(tmp_path):
    shapes = {
        "rel": (
            "SELECT p.src, p.ts, h.owner FROM p [RANGE 40 SECONDS], hosts h WHERE p.src = h.src AND p.bytes < {c}",
            "SELECT p.src, p.ts, h.owner FROM p, hosts h WHERE p.src = h.src AND p.bytes < {c}",
        ),
        "look": (
            "SELECT t.owner, count(*) AS n FROM p [RANGE 40 SECONDS], tariffs t "
            "WHERE p.src = t.src AND p.bytes < {c} GROUP BY t.owner",
            "SELECT t.owner, count(*) FROM p, versions t WHERE p.src = t.src AND p.bytes < {c} AND {p} "
            "GROUP BY t.owner",
        ),
    }
    with closing_world(tmp_path / "db", seed=3) as world:
        world.db.sql("SET share_from = 1; SET shards = 2")

        def register(*bounds: int) -> None:
            for bound in bounds:
                for name, (query, _) in shapes.items():
                    world.db.register(query.format(c=bound), name=f"{name}_{bound}")

        def check(*bounds: int) -> None:
            for bound in bounds:
                for name, (_, sql) in shapes.items():
                    found = world.db.query(f"{name}_{bound}").invoke().to_pylist()
                    expected = world.expected(sql.replace("{c}", str(bound)))
                    assert sorted(tuple(row.values()) for row in found) == sorted(expected), (name, bound)

        world.change(8)
        register(10, 50, 101)
        world.push(1, 2, 3, 5, 8, 9)
        world.run()
        check(10, 50, 101)
        register(30, 80)
        check(30, 80)  # from the history, as long as no epoch has had them
        world.change()
        world.push(20, 4, 7, 21)
        world.run()
        check(10, 30, 50, 80, 101)
        world.change()
        world.run()
        check(10, 30, 50, 80, 101)


def test_tables_live_in_the_home_when_the_working_folder_is_lost(tmp_path):
    home = tmp_path / "home"
    query = "SELECT p.ts, h.owner FROM p [RANGE 40 SECONDS], hosts h WHERE p.src = h.src"
    with local(tmp_path / "first", state=home) as db:
        db.sql(DEFINED)
        db.sql("INSERT INTO hosts VALUES (1, 'a'), (2, 'b')")
        db.register(query, name="q")
        db.push("p", [(1, 1, 0), (2, 2, 0)])
        db.run()
        db.sql("UPDATE hosts SET owner = 'c' WHERE src = 1")
    with local(tmp_path / "second", state=home) as db:
        assert sorted(row["owner"] for row in db.sql("SELECT * FROM hosts").to_pylist()) == ["b", "c"]
        assert sorted(row["owner"] for row in db.query("q").invoke().to_pylist()) == ["a", "b"]
        db.run()
        assert sorted(row["owner"] for row in db.query("q").invoke().to_pylist()) == ["b", "c"]
        db.run()  # and not again
        assert sorted(row["owner"] for row in db.query("q").invoke().to_pylist()) == ["b", "c"]
        with panes.connect(tmp_path / "second", read_only=True) as reader:
            db.sql("DELETE FROM hosts WHERE src = 2")
            assert reader.sql("SELECT * FROM hosts").to_pylist() == [{"src": 1, "owner": "c"}]
            assert sorted(row["owner"] for row in reader.sql(query).to_pylist()) == ["b", "c"]
        later = db.query("q").invoke().as_of
        assert later is not None
        db.push("p", [(9, 1, 0)])
        db.run()
        assert len(db.sql("SELECT * FROM hosts", as_of=later)) == 2
        assert db.sql("SELECT count(*) AS n FROM hosts").to_pylist() == [{"n": 1}]
        assert len(db.sql(query, as_of=later)) == 2
        db.sql("DROP QUERY q; DROP TABLE hosts")
        assert not list((home / "tables").glob("000003/*"))


def test_a_change_at_an_instant_waits_for_it(tmp_path):
    with local(tmp_path / "db") as db:
        db.sql(DEFINED)
        db.register("SELECT p.ts, h.owner FROM p [RANGE 40 SECONDS], hosts h WHERE p.src = h.src", name="rel")
        db.register(
            "SELECT p.ts, t.owner FROM p [RANGE 40 SECONDS], tariffs t WHERE p.src = t.src", name="look"
        )
        db.sql("INSERT INTO hosts VALUES (1, 'a'); INSERT INTO tariffs VALUES (1, 'a')")
        db.push("p", [(1, 1, 0), (5, 1, 0)])
        db.run()
        at = "AT TIMESTAMP '1970-01-01 00:00:10'"
        db.sql(f"UPDATE hosts SET owner = 'b' {at}; UPDATE tariffs SET owner = 'b' {at}")

        def owners(name: str) -> list[str]:
            rows = sorted(db.query(name).invoke().to_pylist(), key=lambda row: row["ts"])
            return [row["owner"] for row in rows]

        assert db.sql("SELECT owner FROM hosts").to_pylist() == [{"owner": "a"}]
        db.run()
        assert (owners("rel"), owners("look")) == (["a", "a"], ["a", "a"])
        db.push("p", [(9, 1, 0)])
        db.run()
        assert (owners("rel"), owners("look")) == (["a", "a", "a"], ["a", "a", "a"])
        db.push("p", [(10, 1, 0), (3, 1, 0), (12, 1, 0)])
        db.run()
        assert owners("rel") == ["b"] * 6
        assert owners("look") == ["a", "a", "a", "a", "b", "b"]
        assert db.sql("SELECT owner FROM hosts").to_pylist() == [{"owner": "b"}]


def test_a_damaged_file_of_a_table_stops_only_the_queries_that_read_it(tmp_path):
    with local(tmp_path / "db") as db:
        db.sql(DEFINED)
        db.sql("INSERT INTO hosts VALUES (1, 'a'); INSERT INTO tariffs VALUES (1, 'a')")
        db.push("p", [(1, 1, 0)])
        db.run()
        (hosts,) = (tmp_path / "db" / "tables" / "000003").iterdir()
        write_bytes(hosts, hosts.read_bytes()[:-9] + b"damaged!!")
        db.register("SELECT p.ts, h.owner FROM p [RANGE 40 SECONDS], hosts h WHERE p.src = h.src", name="rel")
        db.register(
            "SELECT p.ts, t.owner FROM p [RANGE 40 SECONDS], tariffs t WHERE p.src = t.src", name="look"
        )
        db.push("p", [(2, 1, 0)])
        db.run()
        assert len(db.query("look").invoke()) == 2
        with pytest.raises(QueryFailed, match=hosts.name):
            db.query("rel").invoke()


def test_a_background_run_applies_changes_though_nothing_comes(tmp_path):
    with local(tmp_path / "db") as db:
        db.sql(DEFINED)
        db.sql("SET heartbeat = 0.1")
        db.register("SELECT p.ts, h.owner FROM p [RANGE 40 SECONDS], hosts h WHERE p.src = h.src", name="rel")
        applied = threading.Event()

        def look(_: panes.Epoch) -> None:
            if not db._connection.tables.has_pending or list((tmp_path / "db" / "tables").glob("000003/*")):
                applied.set()

        db.start(look)
        db.sql("INSERT INTO hosts VALUES (1, 'a')")
        assert applied.wait(60)
        db.stop()
        db.push("p", [(1, 1, 0)])
        db.run()
        assert db.query("rel").invoke().to_pylist() == [{"ts": 1, "owner": "a"}]
