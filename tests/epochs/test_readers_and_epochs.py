"""Many threads read answers and changes while epochs run and queries come and go.

Every second of event time brings one tuple of each key, on each of two streams, and both streams the same ones. So
whatever epoch an answer is of: all keys are in it equally often, both streams have the same, and none of one is
missing in the other. An answer that mixed two epochs would have more of one than of the other.

PANES_READERS_EPOCHS makes it go on for longer; then memory must stay level, too.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

import panes
from panes import errors
from panes.testing import local

EPOCHS = int(os.environ.get("PANES_READERS_EPOCHS", "5"))
THREADS = 20
KEYS = range(12)
PATIENCE_S = 120
PACE_S = 0.05
"""Between two looks of a thread, so that twenty of them leave something of the machine to the epochs."""

STREAM = "CREATE STREAM {} (ts BIGINT, k BIGINT, x BIGINT) TIMESTAMP BY ts SECONDS"
QUERIES = {
    "left_rows": "SELECT k, x FROM one [RANGE 5 SECONDS] WHERE x >= 1",
    "right_rows": "SELECT k, x FROM two [RANGE 5 SECONDS] WHERE x >= 1",
    "left_counts": "SELECT k, count(*) AS n, sum(x) AS t FROM one [RANGE 6 SECONDS SLIDE 2 SECONDS] "
    "WHERE x >= 1 GROUP BY k",
    "right_counts": "SELECT k, count(*) AS n, sum(x) AS t FROM two [RANGE 6 SECONDS SLIDE 2 SECONDS] "
    "WHERE x >= 1 GROUP BY k",
    "pairs": "SELECT a.k, a.x FROM one [RANGE 4 SECONDS] AS a, two [RANGE 4 SECONDS] AS b "
    "WHERE a.k = b.k AND a.x = b.x",
    "missing": "SELECT k, x FROM one [RANGE 9 SECONDS] EXCEPT ALL SELECT k, x FROM two [RANGE 9 SECONDS]",
}
Bag = Counter


def second(ts: int) -> list[dict[str, int]]:
    return [{"ts": ts, "k": key, "x": ts % 7} for key in KEYS]


def bag(table) -> Bag:
    return Counter(zip(*[column.to_pylist() for column in table.columns], strict=True))


def check_one_epoch(name: str, rows: Bag) -> None:
    """All keys are in an answer, and all of them alike: but for the key, the rows of each are the same."""
    if name == "missing":
        assert rows == Counter()
        return
    by_key: dict[int, Counter] = {}
    for (key, *rest), count in rows.items():
        by_key.setdefault(key, Counter())[tuple(rest)] += count
    assert by_key == {} or set(by_key) == set(KEYS)
    assert len({frozenset(mine.items()) for mine in by_key.values()}) <= 1, rows


class Threads:
    """Threads that do one thing again and again, until all are stopped; what fails in one comes out here."""

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self._threads: list[threading.Thread] = []
        self.failures: list[BaseException] = []
        self.times = Counter()

    def start(self, do, *args) -> None:
        def work() -> None:
            try:
                while not self.stopped.wait(PACE_S):
                    do(*args)
                    self.times[do.__name__] += 1
            except BaseException as failure:
                self.failures.append(failure)

        self._threads.append(threading.Thread(target=work))
        self._threads[-1].start()

    def stop(self) -> None:
        self.stopped.set()
        for thread in self._threads:
            thread.join(PATIENCE_S)


class Epochs:
    """Waits for epochs to be committed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.count = 0

    def __call__(self, _) -> None:
        with self._changed:
            self.count += 1
            self._changed.notify_all()

    def wait_until(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.count >= count, PATIENCE_S), "no epoch came"


class Watching:
    """What the threads do with a database."""

    def __init__(self, db: panes.Database, epochs: Epochs, stop: threading.Event) -> None:
        self.db = db
        self.epochs = epochs
        self.stop = stop
        self._numbers = iter(range(10**9))
        self._lock = threading.Lock()

    def invoke(self, random: Random) -> None:
        name = random.choice(list(QUERIES))
        check_one_epoch(name, bag(self.db.query(name).invoke().table))

    def invoke_pairs(self, random: Random) -> None:
        kind = random.choice(["rows", "counts"])
        left, right = (self.db.query(f"{side}_{kind}").invoke() for side in ("left", "right"))
        if left.as_of == right.as_of:
            assert bag(left.table) == bag(right.table)

    def follow(self, name: str, reader: str, held: Bag) -> None:
        """Takes the changes that there are, and compares what they add up to with the answer of that time."""
        query = self.db.query(name)
        for change in query.changes(reader=reader):
            held.update(bag(change.inserted))
            held.subtract(bag(change.deleted))
            assert all(count >= 0 for count in held.values())
            check_one_epoch(name, +held)
            assert bag(query.invoke(as_of=change.as_of).table) == +held

    def come_and_go(self, random: Random) -> None:
        """A query is registered, read during two epochs and dropped, while others may be reading it."""
        with self._lock:
            number = next(self._numbers)
        source = QUERIES[random.choice(["left_rows", "left_counts", "pairs"])]
        query = self.db.register(source, name=f"guest_{number}")
        held: Bag = Counter()
        end = self.epochs.count + 2
        while self.epochs.count < end and not self.stop.wait(PACE_S):
            check_one_epoch(query.name, bag(query.invoke().table))
            self.follow(query.name, "host", held)
        query.drop()

    def read_guests(self) -> None:
        """Reads queries that may be dropped at any moment, which is said plainly."""
        for query in self.db.queries():
            if query.name.startswith("guest_"):
                with suppress(errors.CatalogError):
                    check_one_epoch(query.name, bag(query.invoke().table))
                    list(query.changes(reader="curious"))


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_no_answer_mixes_two_epochs_while_all_goes_on_at_once(tmp_path):
    epochs, threads = Epochs(), Threads()
    memory = []
    with local(tmp_path / "db") as db:
        db.sql("; ".join(STREAM.format(name) for name in ("one", "two")) + "; SET retain_epochs = 20")
        db.sql("SET share_from = 2")  # a guest shares the plan of what is there, or of another guest
        for name, sql in QUERIES.items():
            db.register(sql, name=name)
        watching = Watching(db, epochs, threads.stopped)
        db.start(on_epoch=epochs)
        for number in range(THREADS):
            random = Random(number)
            match number % 5:
                case 0 | 1:
                    threads.start(watching.invoke, random)
                case 2:
                    threads.start(watching.invoke_pairs, random)
                case 3:
                    name = list(QUERIES)[number % len(QUERIES)]
                    threads.start(watching.follow, name, f"reader {number}", Counter())
                case 4:
                    threads.start(
                        *((watching.come_and_go, random) if number < 10 else (watching.read_guests,))
                    )
        try:
            ts = 0
            for epoch in range(EPOCHS):
                rows = [row for ts in range(ts, ts + 3) for row in second(ts)]
                ts += 3
                seen = epochs.count
                # An epoch may find the rows of the one stream and not yet those of the other.
                db.push("one", rows)
                db.push("two", rows)
                epochs.wait_until(seen + 1)
                memory.append(resident_bytes() if epoch % 8 == 0 else memory[-1])
                if threads.failures:
                    break
        finally:
            threads.stop()
        db.stop()
        assert threads.failures == []
        assert set(threads.times) == {"invoke", "invoke_pairs", "follow", "come_and_go", "read_guests"}
        assert db.query("left_counts").invoke().as_of.timestamp() > 0
        if EPOCHS >= 30:
            half, end = memory[len(memory) // 2], memory[-1]
            print(f"{dict(threads.times)}, memory {[m >> 20 for m in memory[::8]]} MiB")
            assert end - half < 48 << 20, [m >> 20 for m in memory]


def test_readers_go_on_after_the_database_was_closed(tmp_path):
    rows = [row for ts in range(12) for row in second(ts)]
    held: Bag = Counter()
    with local(tmp_path / "db") as db:
        db.sql(STREAM.format("one"))
        query = db.register(QUERIES["left_counts"], name="counts")
        db.push("one", rows[:60])
        db.run()
        first = next(iter(query.changes("phone")))  # read, but never finished
        assert first.is_whole
        assert list(query.readers()) == []
        for change in query.changes("desk"):
            held.update(bag(change.inserted))
            held.subtract(bag(change.deleted))
        read = query.readers()["desk"]
    with local(tmp_path / "db") as db:
        db.push("one", rows[60:])
        db.run()
        query = db.query("counts")
        changes = list(query.changes("desk"))
        assert changes[0].epoch == read + 1
        for change in changes:
            held.update(bag(change.inserted))
            held.subtract(bag(change.deleted))
        assert +held == bag(query.invoke().table)
        phone = list(query.changes("phone"))
        assert phone[0].table.equals(first.table)
        query.forget("phone")
        assert list(query.readers()) == ["desk"]
        query.drop()
        with pytest.raises(errors.CatalogError, match="there is no query named"):
            query.changes("desk")
