"""Queries over queries on Spark: registered, altered, dropped and renamed between epochs, exact as DuckDB says."""

from __future__ import annotations

import random
import re
from collections import Counter

import duckdb
import pyarrow as pa
import pytest

import panes
from panes import errors
from panes.testing import local

STREAM = "CREATE STREAM s (ts BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY ts SECONDS RETAIN INTERVAL 1 HOUR"
BASES = (
    "SELECT k, v AS n FROM s [RANGE {w} SECONDS] WHERE v > {c}",
    "SELECT k, count(*) AS n FROM s [RANGE {w} SECONDS] GROUP BY k",
    "SELECT k, sum(v) AS n FROM s [RANGE {w} SECONDS SLIDE 5 SECONDS] WHERE v <> {c} GROUP BY k",
    "SELECT s.k, t.n FROM s [RANGE {w} SECONDS] JOIN t ON s.k = t.k",
)
READERS = (
    "SELECT k, n + 1 AS n FROM {a} WHERE n > {c}",
    "SELECT x.k, y.n FROM {a} x JOIN {b} y ON x.k = y.k",
    "SELECT k, max(n) AS n FROM {a} GROUP BY k",
    "SELECT DISTINCT n AS k, n FROM {a}",
    "SELECT k, n FROM {a} WHERE k NOT IN (SELECT k FROM {b})",
    "SELECT k, n FROM {a} EXCEPT SELECT k, n FROM {b}",
    "SELECT k, n FROM {a} ORDER BY n DESC, k LIMIT 3",
    "SELECT x.k, coalesce(y.n, 0) AS n FROM {a} x LEFT JOIN {b} y ON x.k = y.k",
    "SELECT k, n FROM {a} WHERE n < {c} UNION ALL SELECT s.k, x.n FROM s [RANGE {w} SECONDS] JOIN {b} x ON v = n",
)
Rows = Counter[tuple[object, ...]]


def rows_of(table: pa.Table) -> Rows:
    return Counter(tuple(row.values()) for row in table.to_pylist())


def over(text: str) -> str:
    """A text with windows as DuckDB reads it, at an instant `now` in seconds."""
    for word in ("10", "30"):
        window = f"ts <= {{now}} AND {{now}} < ts + {word}"
        text = text.replace(f"s [RANGE {word} SECONDS]", f"(SELECT * FROM s WHERE {window}) s")
        slide = window.replace("{now}", "({now} // 5 * 5)")
        text = text.replace(f"s [RANGE {word} SECONDS SLIDE 5 SECONDS]", f"(SELECT * FROM s WHERE {slide}) s")
    return text


class Life:
    """A database in which queries come, change and go. A text reads only queries that came before it."""

    def __init__(self, db: panes.Database, seed: int) -> None:
        self.db, self.chance = db, random.Random(seed)
        self.texts: dict[str, str] = {}
        self.read: dict[str, Rows] = {}
        """What a reader of changes knows of each answer."""
        self.now, self.number, self.begun_anew = 0, 0, 0
        self.duck = duckdb.connect(config={"threads": 1})
        self.duck.execute("CREATE TABLE s (ts BIGINT, k BIGINT, v BIGINT)")
        self.duck.execute("CREATE TABLE t (k BIGINT, n BIGINT)")

    def drawn(self, names: list[str]) -> str:
        form = self.chance.choice(READERS if names and self.chance.random() < 0.8 else BASES)
        a, b = (self.chance.choice(names) for _ in "ab") if names else ("", "")
        return form.format(a=a, b=b, w=self.chance.choice((10, 30)), c=self.chance.randrange(4))

    def act(self) -> None:
        names = list(self.texts)
        kind = self.chance.choice(("register", "register", "alter", "alter", "drop", "rename", "update"))
        if kind == "register" or len(names) < 3:
            self.number += 1
            name, text = f"q{self.number}", self.drawn(names)
            self.db.sql(f"SET strategy = '{self.chance.choice(('upa', 'nt'))}'")
            self.db.register(text, name=name)
            self.texts[name], self.read[name] = text, Counter()
            return
        name = self.chance.choice(names)
        readers = [text for text in self.texts.values() if re.search(rf"\b{name}\b", text)]
        if kind == "alter":
            text = self.drawn(names[: names.index(name)])
            self.db.sql(f"ALTER QUERY {name} AS {text}")
            self.texts[name] = text
        elif kind == "update":
            row = self.chance.randrange(6), self.chance.randrange(4)
            for engine in (self.db.sql, self.duck.execute):
                engine(f"INSERT INTO t VALUES ({row[0]}, {row[1]})")
        elif readers:
            for change in (f"DROP QUERY {name}", f"ALTER QUERY {name} RENAME TO other"):
                with pytest.raises(errors.CatalogError, match=f"'{name}' is read by query"):
                    self.db.sql(change)
        elif kind == "drop":
            self.db.query(name).drop()
            del self.texts[name], self.read[name]
        else:
            query, new = self.db.query(name), f"{name}r"
            self.db.sql(f"ALTER QUERY {name} RENAME TO {new}")
            assert query.name == new
            # Where it stands in the order does not matter: nothing reads it.
            self.texts[new], self.read[new] = self.texts.pop(name), self.read.pop(name)

    def take_in(self) -> None:
        rows = []
        for _ in range(self.chance.randrange(4, 12)):
            self.now += self.chance.choice((0, 1, 1, 2, 4))
            rows.append((self.now, self.chance.randrange(6), self.chance.randrange(5)))
        self.db.push("s", rows)
        self.duck.executemany("INSERT INTO s VALUES (?, ?, ?)", rows)
        self.db.run()

    def check(self) -> None:
        done: list[str] = []
        for name, text in self.texts.items():
            inside = "".join(f"{other} AS ({over(self.texts[other])}), " for other in done)
            sql = f"WITH {inside}wanted AS ({over(text)}) SELECT * FROM wanted".replace(
                "{now}", str(self.now)
            )
            expected = Counter(self.duck.execute(sql).fetchall())
            done.append(name)
            assert rows_of(self.db.query(name).invoke().table) == expected, (name, text)
            assert rows_of(self.db.sql(f"SELECT * FROM {name}").table) == expected, (name, text)
            self.follow(name)
            assert +self.read[name] == expected, (name, text)

    def follow(self, name: str) -> None:
        query = self.db.query(name)
        try:
            changes = list(query.changes(reader="r"))
        except errors.QueryBegunAnew:
            self.begun_anew += 1
            changes = list(query.changes(reader="r", restart=True))
        for change in changes:
            known = self.read[name] = Counter() if change.is_whole else self.read[name]
            known.update(rows_of(change.inserted))
            known.subtract(rows_of(change.deleted))


@pytest.mark.parametrize("seed", [8])
def test_queries_over_queries_come_change_and_go_between_epochs(tmp_path, seed):
    with local(tmp_path / "db") as db:
        db.sql(f"{STREAM}; CREATE TABLE t (k BIGINT, n BIGINT); SET share_from = 2; SET shards = 2")
        life = Life(db, seed)
        for _ in range(5):
            for _ in range(4):
                life.act()
            life.take_in()
            life.check()
        assert life.begun_anew, "some were altered"


def test_altered_and_renamed_queries_go_on_after_a_restart_elsewhere_and_beside_a_reader(tmp_path):
    state = tmp_path / "state"
    with local(tmp_path / "db", state=state) as db:
        db.sql(STREAM)
        db.sql("CREATE QUERY counts AS SELECT k, count(*) AS n FROM s [RANGE 1 HOUR] GROUP BY k")
        most = db.register("SELECT max(n) AS most FROM counts", name="most")
        db.push("s", [(1, 1, 5), (2, 1, 6), (3, 2, 7)])
        db.run()
        first, *_ = most.changes(reader="r")
        assert first.is_whole
        with panes.connect(db.path, read_only=True) as beside:
            followed = beside.query("most")
            assert followed.invoke().to_pylist() == [{"most": 2}]
            following = followed.changes(timeout=0)
            assert next(following).is_whole
            db.sql("ALTER QUERY counts AS SELECT k, sum(v) AS n FROM s [RANGE 1 HOUR] GROUP BY k")
            # Before the next epoch the history answers.
            assert most.invoke().to_pylist() == followed.invoke().to_pylist() == [{"most": 11}]
            db.push("s", [(4, 2, 9)])
            db.run()
            with pytest.raises(errors.QueryBegunAnew, match="query 'most' was altered or resumed"):
                list(following)
            assert followed.invoke().to_pylist() == [{"most": 16}]
            db.sql("ALTER QUERY most RENAME TO greatest_sum")
            assert followed.name == "greatest_sum"
            assert [row["name"] for row in beside.sql("SHOW QUERIES").to_pylist()] == [
                "counts",
                "greatest_sum",
            ]
    with local(tmp_path / "other", state=state) as db:
        again = db.query("greatest_sum")
        assert again.invoke().to_pylist() == [{"most": 16}]
        with pytest.raises(errors.QueryBegunAnew, match=r"changes\(reader='r', restart=True\) begins anew"):
            list(again.changes(reader="r"))
        whole, *_ = again.changes(reader="r", restart=True)
        assert (whole.is_whole, whole.inserted.to_pylist()) == (True, [{"most": 16}])
        db.push("s", [(5, 1, 100)])
        db.run()
        inserted = [row for change in again.changes(reader="r") for row in change.inserted.to_pylist()]
        assert inserted[-1] == {"most": 111}
        db.sql("DROP QUERY greatest_sum; DROP QUERY counts; ALTER STREAM s RENAME TO seconds")
        db.push("seconds", [(6, 1, 100)])
        db.run()
        assert len(db.sql("SELECT * FROM seconds")) == 6
