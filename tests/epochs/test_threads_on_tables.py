"""Threads that write tables while epochs run and others read: a transaction shows wholly or not at all.

Every transaction does the same to two tables. So whoever looks finds the same in both: in the answers of an epoch,
in an answer over both tables, and in tables that are read at once.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from random import Random

import panes
from panes.database import Database
from panes.testing import local

WRITERS, READERS, TRANSACTIONS = 20, 4, 12
EPOCHS = 2
"""So many at least are to fall between the transactions."""
PATIENCE_S = 300
DEFINED = """
    CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS RETAIN INTERVAL 1 HOUR;
    CREATE TABLE a (id BIGINT PRIMARY KEY, k BIGINT, v BIGINT);
    CREATE TABLE b (id BIGINT PRIMARY KEY, k BIGINT, v BIGINT);
    CREATE TABLE a_then (id BIGINT PRIMARY KEY, k BIGINT, v BIGINT) NON RETROACTIVE;
"""
OF_ONE = "SELECT t.id, t.v FROM s [RANGE 1 HOUR], {} t WHERE s.k = t.k"
OF_BOTH = """
    SELECT sum(x) AS total, count(*) AS n FROM (
        SELECT a.v AS x FROM s [RANGE 1 HOUR], a WHERE s.k = a.k
        UNION ALL SELECT 0 - b.v AS x FROM s [RANGE 1 HOUR], b WHERE s.k = b.k
    ) d
"""
AT_ONCE = "SELECT sum(x) AS total FROM (SELECT v AS x FROM a UNION ALL SELECT 0 - v AS x FROM b) d"


class Writer:
    """Inserts, updates and deletes rows of its own, in all tables alike."""

    def __init__(self, db: Database, number: int) -> None:
        self._db = db
        self._random = Random(number)
        self._next = number * 1000
        self.rows: dict[int, int] = {}
        """What it has left: values by id."""

    def write(self) -> None:
        for _ in range(TRANSACTIONS):
            kind = self._random.choice(["insert", "update", "delete"] if self.rows else ["insert"])
            if kind == "insert":
                self._next += 1
                self.rows[self._next] = self._random.randrange(1, 100)
                change = f"INSERT INTO {{}} VALUES ({self._next}, 1, {self.rows[self._next]})"
            else:
                chosen = self._random.choice(list(self.rows))
                change = f"UPDATE {{}} SET v = v + 1 WHERE id = {chosen}"
                if kind == "update":
                    self.rows[chosen] += 1
                else:
                    change = f"DELETE FROM {{}} WHERE id = {chosen}"
                    del self.rows[chosen]
            self._db.sql("; ".join(change.format(table) for table in ("a", "b", "a_then")))


def test_epochs_and_readers_see_all_of_a_transaction_or_nothing_of_it(tmp_path):
    with local(tmp_path / "db") as db:
        db.sql(DEFINED)
        one, other = (db.register(OF_ONE.format(table), name=f"of_{table}") for table in "ab")
        both = db.register(OF_BOTH, name="of_both")
        db.register(OF_ONE.format("a_then"), name="of_then")
        db.push("s", [{"ts": 1, "k": 1}])
        db.run()
        torn: list[object] = []
        epochs: list[int] = []
        committed = threading.Semaphore(0)

        def after_epoch(epoch: panes.Epoch) -> None:
            epochs.append(epoch.number)
            if values(one) != values(other):
                torn.append((epoch.number, values(one), values(other)))
            committed.release()

        is_over = threading.Event()

        def read() -> int:
            looks = 0
            while not is_over.is_set():
                looks += 1
                for row in (*both.invoke().to_pylist(), *db.sql(AT_ONCE).to_pylist()):
                    if row["total"] not in (0, None):
                        torn.append(row)
            return looks

        writers = [Writer(db, number) for number in range(1, WRITERS + 1)]
        db.start(on_epoch=after_epoch)
        with ThreadPoolExecutor(WRITERS + READERS) as threads:
            readers = [threads.submit(read) for _ in range(READERS)]
            writing = [threads.submit(writer.write) for writer in writers]
            for ts, done in enumerate(writing, 2):
                done.result()
                db.push("s", [{"ts": ts, "k": 2}])
                if ts < 2 + EPOCHS:
                    committed.acquire(timeout=PATIENCE_S)
            is_over.set()
            assert all(reader.result() > 0 for reader in readers)
        db.stop()
        db.run()
        assert torn == []
        assert len(epochs) >= EPOCHS
        left = {id_: value for writer in writers for id_, value in writer.rows.items()}
        assert values(one) == values(other) == left
        assert [row["n"] for row in both.invoke().to_pylist()] == [2 * len(left)]
        for table in ("a", "b", "a_then"):
            rows = db.sql(f"SELECT id, v FROM {table}").to_pylist()
            assert {row["id"]: row["v"] for row in rows} == left
        # The one tuple with k = 1 came before all of this.
        assert values(db.query("of_then")) == {}


def values(query: panes.Query) -> dict[int, int]:
    return {row["id"]: row["v"] for row in query.invoke().to_pylist()}
