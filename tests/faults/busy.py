"""A program that uses a database in every way at once, for a test that kills it at any moment.

    python busy.py DATABASE SEED [finish]

Rows are pushed, queries and streams come and go, answers and changes are read, while epochs run in the background.
The program prints a line of JSON before and after each thing it does, and for every epoch. With `finish` it takes
in what is left and prints what there is.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from random import Random
from typing import Any

import panes

FIRST_S = 1_700_000_000
ROUNDS = 5
"""So many come before an epoch is waited for: by then there are rows for one."""
PATIENCE_S = 60
SHAPES = {
    "all": "SELECT id FROM {} [RANGE 30 DAYS]",
    "grouped": "SELECT k, count(*) AS n, sum(id) AS total FROM {} [RANGE 30 DAYS] GROUP BY k",
    "chosen": "SELECT id FROM {} [RANGE 30 DAYS] WHERE k = 1",
    "last": "SELECT id FROM {} [ROWS 3]",
}


class Busy:
    def __init__(self, db: panes.Database, random: Random, say: Callable[..., None]) -> None:
        self._db = db
        self._random = random
        self._say = say
        self._serial = random.randrange(10**6)

    def step(self) -> None:
        acts = {self.push: 10, self.register: 3, self.drop: 2, self.create: 1, self.invoke: 3, self.follow: 3}
        self._random.choices(list(acts), list(acts.values()))[0]()

    def push(self) -> None:
        stream = self._random.choice(self.streams())
        first = self._random.randrange(10**9) * 10
        ids = [first + place for place in range(self._random.randint(1, 5))]
        # Nothing comes late: SLACK is longer than all time there is.
        rows = [{"ts": FIRST_S + i % 100_000, "id": i, "k": i % 3} for i in ids]
        self._do("push", lambda: self._db.push(stream, rows), stream=stream, ids=ids)

    def register(self) -> None:
        stream, shape = self._random.choice(self.streams()), self._random.choice(sorted(SHAPES))
        name = f"{shape}_{stream}_{self._next()}"
        self._do("register", lambda: self._db.register(SHAPES[shape].format(stream), name=name), name=name)

    def drop(self) -> None:
        names = [query.name for query in self._db.queries() if not query.name.startswith("all_")]
        if len(names) > 3:
            name = self._random.choice(names)
            self._do("drop", lambda: self._db.query(name).drop(), name=name)

    def create(self) -> None:
        if len(self.streams()) < 4:
            name = f"s{self._next()}"
            self._do("create", lambda: make_stream(self._db, name), name=name)

    def invoke(self) -> None:
        self._random.choice(self._db.queries()).invoke()

    def follow(self) -> None:
        for change in self._db.query("all_s0").changes(reader="busy"):
            rows = [[row["id"], row["_weight"]] for row in change.table.to_pylist()]
            self._say(did="change", epoch=change.epoch, is_whole=change.is_whole, rows=rows)

    def streams(self) -> list[str]:
        return self._db.sql("SHOW STREAMS").column("name").to_pylist()

    def _next(self) -> int:
        self._serial += 1
        return self._serial

    def _do(self, what: str, action: Callable[[], object], **about: Any) -> None:
        self._say(begin=what, **about)
        action()
        self._say(did=what, **about)


def make_stream(db: panes.Database, name: str) -> None:
    """A stream, and a query that has all its rows. Done again it completes what was begun."""
    if name not in db.sql("SHOW STREAMS").column("name").to_pylist():
        columns = "(ts BIGINT, id BIGINT, k BIGINT)"
        db.sql(f"CREATE STREAM {name} {columns} TIMESTAMP BY ts SECONDS SLACK INTERVAL 30 DAYS")
    if f"all_{name}" not in [query.name for query in db.queries()]:
        db.register(SHAPES["all"].format(name), name=f"all_{name}")


_saying = threading.Lock()


def say(**line: Any) -> None:
    # The thread of epochs speaks, too: a line must not be cut by another.
    with _saying:
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


def main(path: str, seed: str, mode: str = "work") -> None:
    with panes.connect(path) as db:
        make_stream(db, "s0")
        for name in db.sql("SHOW STREAMS").column("name").to_pylist():
            make_stream(db, name)
        if mode == "finish":
            db.run()
            Busy(db, Random(seed), say).follow()
            for query in db.queries():
                rows = [list(row.values()) for row in query.invoke().to_pylist()]
                say(answer=query.name, rows=rows)
            say(end=True)
            return
        random = Random(seed)
        committed = threading.Event()

        def tell(epoch: panes.Epoch) -> None:
            say(epoch=epoch.number)
            committed.set()

        db.start(on_epoch=tell)
        busy = Busy(db, random, say)
        rounds = 0
        while True:
            for _ in range(random.randint(1, 8)):
                busy.step()
            # Some steps fall into one epoch, some into the next; on a slow machine not more than on a quick one.
            rounds += 1
            if committed.wait(random.random() if rounds < ROUNDS else PATIENCE_S):
                rounds = 0
            committed.clear()


if __name__ == "__main__":
    main(*sys.argv[1:])
