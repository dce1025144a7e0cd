"""A small database with a file of every kind, what can be asked of it, and the damage that can be done to it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

import panes
from panes.errors import PanesError
from panes.testing import local
from tests.faults.standing import add_file, multiset

QUERIES = {
    "grouped": "SELECT k, count(*) AS n, sum(x) AS total FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] GROUP BY k",
    "twice": "SELECT n, count(*) AS m FROM "
    "(SELECT k, count(*) AS n FROM s [RANGE 9 SECONDS] GROUP BY k) GROUP BY n",
    "above_1": "SELECT k, x FROM s [RANGE 20 SECONDS] WHERE x > 1",
    "above_4": "SELECT k, x FROM s [RANGE 20 SECONDS] WHERE x > 4",
    "above_7": "SELECT k, x FROM s [RANGE 20 SECONDS] WHERE x > 7",
    "named": "SELECT s.x, h.name FROM s [RANGE 20 SECONDS], hosts h WHERE s.k = h.k",
    "priced": "SELECT s.x, t.rate FROM s [RANGE 20 SECONDS], tariffs t WHERE s.k = t.k",
    "between": "SELECT count(*) AS n, sum(y) AS total "
    "FROM c BEGIN ('1970-01-01 00:00:03') END ('1970-01-01 00:00:30')",
}
"""Alone, in two stages, selections that share their stream, with tables, and one over the history."""

TABLES = """
    CREATE TABLE hosts (k BIGINT PRIMARY KEY, name STRING);
    CREATE TABLE tariffs (k BIGINT PRIMARY KEY, rate BIGINT) NON RETROACTIVE;
    INSERT INTO hosts VALUES (0, 'a'), (1, 'b'), (2, 'c');
    INSERT INTO tariffs VALUES (0, 10), (1, 11), (2, 12), (3, 13)
"""
CHANGE = """
    UPDATE hosts SET name = 'changed {0}' WHERE k = 1; DELETE FROM tariffs WHERE k = 3;
    INSERT INTO tariffs VALUES ({0}, {0})
"""

ONE_TIME = (
    "SELECT k, count(*) AS n, sum(x) AS total FROM s [RANGE 1 HOUR] GROUP BY k",
    "SELECT count(*) AS n, sum(y) AS total FROM c [RANGE 1 HOUR]",
    "SELECT k, x FROM s [ROWS 5]",
    "SELECT * FROM hosts",
    "SELECT s.x, t.rate FROM s [RANGE 1 HOUR], tariffs t WHERE s.k = t.k",
)
EPOCHS = 10
ROWS = 9
"""In each file."""
OLDER = 6
"""The epoch after which a copy of the database is made."""
READER_STOPS = 7
CHANGED = (2, 5)
"""The epochs after which tables change; they change once more at the end, for an epoch that has not come."""


@dataclass(frozen=True)
class Small:
    """A database that has taken in everything, an older copy of it, and what can be asked of it."""

    database: Path
    older: Path
    folder: Path


def make(place: Path) -> Small:
    """Takes in a file of each stream per epoch; a reader comes along up to an epoch before the last."""
    small = Small(place / "db", place / "older", place / "in")
    for epoch in range(EPOCHS):
        rows = [{"ts": n // 2, "k": n * 7 % 5, "x": n % 11} for n in range(epoch * ROWS, (epoch + 1) * ROWS)]
        for name in ("s", "c"):
            (small.folder / name).mkdir(parents=True, exist_ok=True)
        add_file(small.folder / "s", epoch, rows)
        lines = [f"{row['ts']},{row['x']}" for row in rows]
        if epoch == 2:
            lines.append("never,1")
        csv = small.folder / "c" / f"{epoch}.csv"
        csv.write_text("\n".join(lines) + "\n")
        os.utime(csv, (epoch, epoch))
    with local(small.database) as db:
        db.sql("SET retain_epochs = 4; SET share_from = 2")
        db.sql(
            "CREATE STREAM s (ts BIGINT, k BIGINT, x BIGINT) TIMESTAMP BY ts SECONDS RETAIN INTERVAL 1 HOUR "
            f"FROM FILES '{small.folder}/s' WITH (files_per_epoch = 1)"
        )
        db.sql(
            "CREATE STREAM c (ts BIGINT, y BIGINT) TIMESTAMP BY ts SECONDS RETAIN INTERVAL 1 HOUR "
            f"FROM FILES '{small.folder}/c' WITH (format = 'csv', files_per_epoch = 1)"
        )
        db.sql(TABLES)
        for name, sql in QUERIES.items():
            ways = " WITH (answers = 'none')" if name == "between" else ""
            db.sql(f'CREATE QUERY "{name}"{ways} AS {sql}')

        def after_epoch(epoch) -> None:
            if epoch.number == READER_STOPS:
                for name in changing():
                    list(db.query(name).changes(reader="r"))
            if epoch.number == OLDER:
                shutil.copytree(small.database, small.older)
            if epoch.number in CHANGED:
                db.sql(CHANGE.format(epoch.number + 10))

        db.run(on_epoch=after_epoch)
        db.sql(CHANGE.format(99))
    return small


def changing() -> list[str]:
    """The queries that have changes."""
    return [name for name in QUERIES if name != "between"]


Question = Callable[[panes.Database], object]


def _invoke(name: str) -> Question:
    return lambda db: multiset(db.query(name).invoke().table)


def _changes(name: str) -> Question:
    return lambda db: [
        (change.epoch, str(change.as_of), multiset(change.table))
        for change in db.query(name).changes(reader="r")
    ]


def _select(sql: str) -> Question:
    return lambda db: multiset(db.sql(sql).table)


def _status(db: panes.Database) -> object:
    status = db.status()
    return status.epoch, status.clock, status.rows, status.state_bytes, status.streams, status.queries


QUESTIONS: dict[str, Question] = {
    **{f"invoke {name}": _invoke(name) for name in QUERIES},
    **{f"changes of {name}": _changes(name) for name in changing()},
    **{sql: _select(sql) for sql in ONE_TIME},
    "bad rows": lambda db: multiset(db.bad_rows("c")),
    "status": _status,
}
"""All that can be asked of the database without Spark."""


def concerned(place: str) -> list[str]:
    """The questions that need a file of the database; of what all need, one of each kind."""
    match place.split("/"):
        case ["states", *_]:
            return [
                f"{what} {name}"
                for name in ("grouped", "twice", "above_1", "named")
                for what in ("invoke", "changes of")
            ]
        case ["history", "000001", *_]:
            return [ONE_TIME[0], ONE_TIME[2]]
        case ["history", "000002", *_]:
            return [ONE_TIME[1], "invoke between"]
        case ["tables", *_]:
            return [ONE_TIME[3], ONE_TIME[4], "invoke named"]
        case ["aside", *_]:
            return ["bad rows"]
        case ["checkpoint", *_]:
            return ["status"]
    return ["invoke twice", "changes of grouped", "invoke above_4", ONE_TIME[1], "status"]


def look(database: Path, questions: Sequence[str] = tuple(QUESTIONS)) -> dict[str, object]:
    """The answers to some questions, or the errors of Panes."""
    try:
        db = panes.connect(database)
    except PanesError as error:
        return {"connect": error}
    seen: dict[str, object] = {}
    with db:
        for question in questions:
            try:
                seen[question] = QUESTIONS[question](db)
            except PanesError as error:
                seen[question] = error
    return seen


@dataclass(frozen=True)
class Damage:
    """Files with other content, or without any (None)."""

    place: str
    """The file or folder, below that of the database."""
    what: str
    files: dict[Path, bytes | None]

    def __str__(self) -> str:
        return f"{self.place}: {self.what}"


def damages(small: Small, random: Random, regions: Callable[[Path], int]) -> Iterator[Damage]:
    """Every kind of damage to every file: bits in as many regions as `regions` says, ends, swaps, older copies."""
    contents = contents_of(small.database)
    older = {
        small.database / path.relative_to(small.older): c for path, c in contents_of(small.older).items()
    }
    for path, content in contents.items():
        name = str(path.relative_to(small.database))
        count = min(regions(path), len(content))
        for region in range(count):
            begin, end = region * len(content) // count, (region + 1) * len(content) // count
            place = random.randrange(begin, end)
            flipped = bytes([content[place] ^ (1 << random.randrange(8))])
            yield Damage(name, f"a bit at {place}", {path: content[:place] + flipped + content[place + 1 :]})
        yield Damage(name, "gone", {path: None})
        yield Damage(name, "empty", {path: b""})
        if path.suffix != ".arrow":  # there are many of them
            yield Damage(name, "half of it", {path: content[: len(content) // 2]})
        yield Damage(name, "without its last byte", {path: content[:-1]})
        yield Damage(name, "with another byte", {path: content + b"7"})
        alike = [other for other in contents if is_alike(path, other) and contents[other] != content]
        if alike:
            other = random.choice(alike)
            yield Damage(
                name,
                f"swapped with {other.relative_to(small.database)}",
                {path: contents[other], other: content},
            )
            if path.suffix != ".arrow":
                yield Damage(name, f"a copy of {other.name}", {path: contents[other]})
        if path in older and older[path] != content:
            yield Damage(name, "older", {path: older[path]})
    folders = sorted(
        {parent for path in contents for parent in path.parents if small.database in parent.parents}
    )
    for folder in folders:
        inside = {path: content for path, content in contents.items() if folder in path.parents}
        yield Damage(str(folder.relative_to(small.database)), "gone", dict.fromkeys(inside))
        before = {path: older.get(path) for path in {*inside, *(p for p in older if folder in p.parents)}}
        yield Damage(str(folder.relative_to(small.database)), "older", before)


def contents_of(database: Path) -> dict[Path, bytes]:
    """The files of a database in order, without those that hold nothing, and the indexes, which epochs make
    anew."""
    left_out = (database / "lock", database / "indexes")
    return {
        path: path.read_bytes()
        for path in sorted(database.rglob("*"))
        if path.is_file() and not any(path.is_relative_to(some) for some in left_out)
    }


def is_alike(path: Path, other: Path) -> bool:
    """Whether two files are of one kind, such as manifests."""
    return path != other and _kind(path) == _kind(other)


def _kind(path: Path) -> tuple[str, str]:
    word = path.name.partition("-")[0]
    return path.suffix, path.parent.name if word.isdigit() else word


class Bench:
    """A copy of a database that is damaged, looked at, and mended again."""

    def __init__(self, small: Small) -> None:
        self._contents = contents_of(small.database)
        self._times = 0
        self._database = small.database

    def do(self, damage: Damage) -> None:
        for path, content in damage.files.items():
            self._write(path, content)

    def undo(self, damage: Damage) -> None:
        """What a look may have changed, SQLite's files, is as before too."""
        for name in ("catalog.sqlite", "readers.sqlite"):
            for more in ("-wal", "-shm"):
                (self._database / f"{name}{more}").unlink(missing_ok=True)
        also = [self._database / "catalog.sqlite", self._database / "readers.sqlite"]
        # Every opening takes a term, and removes those that nobody needs.
        also += [*(self._database / "terms").iterdir()] if (self._database / "terms").exists() else []
        also += [path for path in self._contents if path.parent.name == "terms"]
        for path in {*damage.files, *also}:
            self._write(path, self._contents.get(path))

    def _write(self, path: Path, content: bytes | None) -> None:
        if content is None:
            path.unlink(missing_ok=True)
            for parent in path.parents:
                if parent == self._database:
                    break
                with suppress(OSError):
                    parent.rmdir()
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # it may be one file with that of the source
        path.write_bytes(content)
        # As for a file that changed at another time: a clock tick may be longer than a look.
        self._times += 1
        os.utime(path, ns=(self._times * 1_000, self._times * 1_000))
