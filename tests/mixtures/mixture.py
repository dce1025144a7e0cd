"""One mixture: a database with drawn streams, tables, settings and queries, and a script of drawn steps.

All is drawn from one seed. After every step answers are compared with what the given rows say, sums of changes
with answers, and answers of earlier instants with what they were. A difference is told with the script so far.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import panes
from panes import errors
from panes.clock import to_datetime, to_microseconds
from panes.plan import nodes
from panes.plan.walk import streams_of
from panes.testing import counted
from tests.mixtures.drawn_queries import (
    LARGE,
    OF_DATABASE,
    create_statement,
    draw_group,
    draw_settings,
    draw_text,
    draw_text_over,
    setting_text,
)
from tests.mixtures.given_files import FORMATS, write_file
from tests.mixtures.given_rows import Given, GivenStream, difference, is_stream, slides
from tests.reference.values import Bag

PATIENCE_S = 120
"""How long a background run may take for rows that it was given."""


class Difference(AssertionError):
    """Panes and the record of what it was given disagree; the text has the script."""


@dataclass
class Standing:
    """A registered query as the test knows it."""

    name: str
    text: str
    plan: nodes.Node
    settings: Mapping[str, object]
    since: int | None = None
    """The clock that it had when it was registered or altered."""
    has_run: bool = False
    seen: dict[int, Bag] = field(default_factory=dict)
    """The answers that it has given, by their instants, since its first epoch."""
    followed: dict[str, Bag] = field(default_factory=dict)
    """What the changes add up to that each reader has read."""
    told: set[str] = field(default_factory=set)
    """The readers that are to be told that the query begins again."""
    reads: str | None = None
    """The query that it reads."""
    came: set[str] = field(default_factory=set)
    """The readers that may be told, because they came before, though there were no changes yet."""


class Mixture:
    """A database and the script that is run on it."""

    def __init__(
        self,
        seed: int,
        folder: Path,
        open_database: Callable[[Path], panes.Database],
        without: Collection[str] = (),
    ) -> None:
        """`without` has the names of steps and kinds of data that are not drawn, to narrow a difference down."""
        self._chance = random.Random(seed)
        self._seed, self._folder, self._open, self._without = seed, folder, open_database, set(without)
        self.script: list[str] = []
        self.compared: Counter[str] = Counter()
        self._given = Given()
        self._queries: dict[str, Standing] = {}
        self._sources: dict[str, dict[str, Any]] = {}
        self._readers: dict[str, set[str]] = {}
        """The readers that have come to each query."""
        self._number = 0
        self._settings: dict[str, object] = {}
        self._has_run = False
        self._epoch = -1
        self._committed = _Committed()
        self._is_started = False
        self._db = open_database(folder / "db")

    def run(self, steps: int) -> None:
        try:
            self._begin()
            for _ in range(steps):
                self._step()
                self._check()
            self._stop()
            self._give_and_run()
            self._check()
            for standing in self._queries.values():
                self._follow(standing)
                self._earlier(standing)
        except Difference:
            raise
        except Exception as error:
            self._differ(f"{type(error).__name__}: {error}", error)
        finally:
            self._db.close()

    # What there is.

    def _begin(self) -> None:
        self._sql("SET retain_epochs = 10000; SET idle_after = 100000")
        for name, values in OF_DATABASE.items():
            if self._chance.random() < 0.25:
                self._set(name, self._chance.choice(values))
        for name in "stu"[: self._chance.choice((1, 2, 2, 3))]:
            self._create_stream(name)
        for sql in (
            "CREATE TABLE owners (k INT PRIMARY KEY, owner STRING)",
            "CREATE TABLE rates (k INT PRIMARY KEY, rate BIGINT) NON RETROACTIVE",
        ):
            self._sql(sql)
            self._given.define(sql)
        for _ in range(self._chance.randrange(4)):
            self._change_table()
        for _ in range(self._chance.randrange(2, 6)):
            self._register()
        if self._chance.random() < 0.25 and "overflow" not in self._without:
            self._register_group()
        if self._chance.random() < 0.5:
            self._block()

    def _create_stream(self, name: str) -> None:
        slack = self._chance.choice((0, 0, 3))
        sql = f"CREATE STREAM {name} (ts BIGINT, k INT, x BIGINT, w STRING) TIMESTAMP BY ts MICROSECONDS"
        sql += f" SLACK INTERVAL {slack} MICROSECONDS" if slack else ""
        sql += "" if self._chance.random() < 0.15 else " RETAIN INTERVAL 1 HOUR"
        source: dict[str, Any] = {}
        if self._chance.random() < 0.5 and "files" not in self._without:
            kind = self._chance.choice(FORMATS)
            folder = self._folder / name
            folder.mkdir()
            order = self._chance.choice(("mtime", "mtime", "name"))
            source = {"kind": kind, "folder": folder, "mtime": 1, "number": 0, "order": order}
            each = self._chance.choice(("", "", ", files_per_epoch = 1", ", files_per_epoch = 2"))
            sql += f" FROM FILES '{folder}' WITH (format = '{kind}'{each}, order = '{order}')"
        self._sql(sql)
        self._given.define(sql)
        self._given.streams[name] = GivenStream(slack)
        self._sources[name] = source

    # Steps.

    def _step(self) -> None:
        steps: dict[str, tuple[int, Callable[[], None]]] = {
            "run": (6, self._give_and_run),
            "idle_run": (1, self._run),
            "start": (2, self._start_or_stop),
            "register": (3, self._register),
            "alter": (2, self._alter),
            "drop": (1, self._drop),
            "rename": (1, self._rename),
            "rescale": (1, self._rescale),
            "replan": (1, self._replan),
            "table": (3, self._change_table),
            "set": (1, self._set_another),
            "restart": (1, self._restart),
            "block": (2, self._block),
            "once": (2, self._once),
            "explain": (1, self._explain),
            "follow": (3, lambda: self._each(self._follow)),
            "as_of": (3, lambda: self._each(self._earlier)),
            "where": (1, lambda: self._each(self._where)),
        }
        names = [name for name in steps if name not in self._without]
        (name,) = self._chance.choices(names, [steps[name][0] for name in names])
        steps[name][1]()

    def _each(self, look: Callable[[Standing], None]) -> None:
        for standing in list(self._queries.values()):
            if standing.name in self._queries:  # it may be dropped meanwhile, because it has failed
                look(standing)

    def _give_and_run(self) -> None:
        for name in self._given.streams:
            if self._chance.random() < 0.8:
                self._give(name)
        if self._is_started:
            self._wait()
        else:
            self._run()

    def _give(self, name: str) -> None:
        stream, source = self._given.streams[name], self._sources[name]
        for rows in self._draw_rows(name, self._chance.choice((1, 1, 2, 4))):
            stream.rows += [(row, self._given.now) for row in rows]
            if not source:
                self._say(f"db.push({name!r}, {rows})")
                self._db.push(name, rows)
        if source:
            self._add_files(name)

    def _draw_rows(self, name: str, batches: int) -> list[list[dict[str, Any]]]:
        """Rows in batches, each after the one before it; late ones may be among the rows that are pushed."""
        stream = self._given.streams[name]
        newest = max(stream.newest or 0, stream.clock or 0)
        found = []
        for _ in range(batches):
            times = [newest + self._chance.randrange(1, 9) for _ in range(self._chance.randrange(1, 7))]
            newest = max(times)
            may_be_late = not self._sources[name] and stream.clock is not None and not self._is_started
            if may_be_late and self._chance.random() < 0.15 and "late" not in self._without:
                assert stream.clock is not None
                times.append(max(stream.clock - self._chance.randrange(6), 1))
            found.append([self._draw_row(ts) for ts in times])
        if self._sources[name]:
            self._sources[name]["batches"] = found
        return found

    def _draw_row(self, ts: int) -> dict[str, Any]:
        chance = self._chance
        x = None if chance.random() < 0.1 else chance.randrange(9)
        return {"ts": ts, "k": chance.randrange(4), "x": x, "w": chance.choice("abc")}

    def _add_files(self, name: str) -> None:
        """Adds a file for each batch: in the order of names, with times that are equal or, where names decide,
        shuffled; or in the order of times under any names."""
        source = self._sources[name]
        batches: list[list[dict[str, Any]]] = source.pop("batches")
        is_equal = self._chance.random() < 0.4
        is_by_name = source["order"] == "name"
        source["mtime"] += 1
        files = []
        for rows in batches:
            source["number"] += 1
            number = source["number"]
            if not is_equal:
                source["mtime"] += 1
            if not is_equal and not is_by_name:
                number = self._chance.randrange(10_000) * 1_000 + number
            files.append((f"{number:09}.{source['kind']}", rows, source["mtime"]))
        in_order = [file for file, _, _ in files]
        if is_by_name and not is_equal:
            times = self._chance.sample([mtime for _, _, mtime in files], len(files))
            files = [(file, rows, mtime) for (file, rows, _), mtime in zip(files, times, strict=True)]
        self._chance.shuffle(files)
        schema = self._given.shelf.things[name].columns.arrow
        # A background run may see the first of several files before the last one: they come in their order.
        for file, rows, mtime in (
            sorted(files, key=lambda f: in_order.index(f[0])) if self._is_started else files
        ):
            self._say(f"write_file({name!r}, {file!r}, {rows}, mtime_ms={mtime})")
            write_file(source["folder"] / file, source["kind"], rows, schema, mtime)

    def _run(self) -> None:
        if self._is_started:
            self._beside()
            return
        self._say("db.run()")
        self._db.run()
        self._ran(is_end=True)

    def _beside(self) -> None:
        """A run beside a background run is refused, and changes nothing."""
        self._say("db.run()  # beside start()")
        try:
            self._db.run()
        except errors.CatalogError as error:
            self._say(f"#   refused: {error}")
        else:
            self._differ("run() beside start() was not refused")

    def _start_or_stop(self) -> None:
        if self._is_started:
            self._stop()
            return
        self._say("db.start()")
        self._db.start(self._committed.tell)
        self._is_started = True
        if self._chance.random() < 0.3:
            self._beside()
        self._give_and_run()

    def _wait(self) -> None:
        self._say("#   wait until all rows are taken in")
        rows = sum(len(stream.rows) for stream in self._given.streams.values())
        if not self._committed.wait_for(lambda: self._db.status().rows >= rows):
            self._differ(f"{rows} rows are not taken in after {PATIENCE_S} seconds")
        self._ran(is_end=False)

    def _stop(self) -> None:
        if self._is_started:
            self._say("db.stop()")
            self._db.stop()
            self._is_started = False

    def _ran(self, *, is_end: bool) -> None:
        self._given.move_clocks(is_end=is_end)
        epoch = self._db.status().epoch
        if epoch > self._epoch:
            self._epoch = epoch
            self._has_run = True
            for standing in self._queries.values():
                standing.has_run = True

    def _register(self) -> None:
        self._number += 1
        name = f"q{self._number}"
        readable = [s for s in self._queries.values() if s.reads is None and self._may_be_read(s)]
        if readable and self._chance.random() < 0.25 and "over_queries" not in self._without:
            read = self._chance.choice(readable)
            form = draw_text_over(self._chance, list(self._given.streams))
            inlined = form.replace("{o}", f"({read.text})")
            if self._create(name, form.replace("{o}", read.name), "CREATE", inlined):
                self._queries[name].reads = read.name
            return
        text = draw_text(self._chance, list(self._given.streams))
        self._create(name, text, "CREATE")

    def _register_group(self) -> None:
        """Registers queries that are equal up to a constant; a row overflows in one of them."""
        texts = draw_group(self._chance, list(self._given.streams))
        for text in texts:
            self._number += 1
            self._create(f"q{self._number}", text, "CREATE")

    @staticmethod
    def _may_be_read(standing: Standing) -> bool:
        return "k" in standing.plan.schema.names and not is_stream(standing.plan)

    def _is_read(self, name: str) -> bool:
        return any(standing.reads == name for standing in self._queries.values())

    def _create(self, name: str, text: str, head: str, inlined: str | None = None) -> bool:
        """Registers a query, without what it is not allowed to have; false when its text is refused.

        `inlined` is the text with what it reads in the place of its name, for the record.
        """
        wanted = draw_settings(self._chance, text)
        index = " INDEX BY (k)" if self._chance.random() < 0.1 and text.startswith("SELECT k") else ""
        for given, by in ((wanted, index), ({}, "")):
            try:
                self._sql(create_statement(name, text, given, by, head))
            except (errors.SqlError, errors.CatalogError, errors.SettingError) as error:
                self._say(f"#   refused: {str(error).splitlines()[0]}")
                self._may_refuse(error)
            else:
                plan = self._given.plan(inlined or text)
                before = self._queries.get(name)
                settings = self._settings | given
                since = self._given.clock_of(streams_of(plan))
                self._queries[name] = Standing(name, inlined or text, plan, settings, since)
                if before is not None:
                    self._queries[name].told = before.told | set(before.followed)
                    self._queries[name].came = self._readers.get(name, set()) | before.came
                return True
        return False

    def _may_refuse(self, error: Exception) -> None:
        if isinstance(error, errors.InternalError):
            raise error

    def _alter(self) -> None:
        """Gives a query another text, under readers or not."""
        free = [standing for standing in self._queries.values() if not self._is_read(standing.name)]
        if not free:
            return
        standing = self._chance.choice(free)
        if self._chance.random() < 0.7:
            self._follow(standing)
        text = draw_text(self._chance, list(self._given.streams))
        if text == standing.text:
            return
        if self._chance.random() < 0.5:
            self._create(standing.name, text, "CREATE OR REPLACE")
            return
        try:
            self._sql(f"ALTER QUERY {standing.name} AS {text}")
        except (errors.SqlError, errors.CatalogError, errors.SettingError) as error:
            self._say(f"#   refused: {str(error).splitlines()[0]}")
            return
        plan = self._given.plan(text)
        told = standing.told | set(standing.followed)
        since = self._given.clock_of(streams_of(plan))
        altered = Standing(standing.name, text, plan, standing.settings, since, told=told)
        altered.came = self._readers.get(standing.name, set()) | standing.came
        self._queries[standing.name] = altered

    def _drop(self) -> None:
        if len(self._queries) > 1:
            name = self._chance.choice(list(self._queries))
            if not self._is_refused(name, f"DROP QUERY {name}"):
                self._forget(name)

    def _is_refused(self, name: str, sql: str) -> bool:
        """Runs a statement that is refused, and has to be, while other queries read the query."""
        if not self._is_read(name):
            self._sql(sql)
            return False
        try:
            self._sql(sql)
        except errors.CatalogError as error:
            self._say(f"#   refused: {error}")
        else:
            self._differ(f"{name} is read, and this is not refused: {sql}")
        return True

    def _forget(self, name: str) -> None:
        del self._queries[name]
        self._readers.pop(name, None)

    def _rename(self) -> None:
        if self._queries:
            standing = self._queries[self._chance.choice(list(self._queries))]
            self._number += 1
            sql = f"ALTER QUERY {standing.name} RENAME TO q{self._number}"
            if self._is_refused(standing.name, sql):
                return
            del self._queries[standing.name]
            self._readers[f"q{self._number}"] = self._readers.pop(standing.name, set())
            standing.name = f"q{self._number}"
            self._queries[standing.name] = standing

    def _rescale(self) -> None:
        self._try_alter(f"SET shards = {self._chance.randrange(1, 4)}")

    def _replan(self) -> None:
        self._try_alter("REPLAN")

    def _try_alter(self, what: str) -> None:
        if self._queries:
            try:
                self._sql(f"ALTER QUERY {self._chance.choice(list(self._queries))} {what}")
            except errors.CatalogError as error:
                self._say(f"#   refused: {error}")

    def _change_table(self) -> None:
        """Changes a table by one or two statements, in one transaction."""
        name, column = self._chance.choice((("owners", "owner"), ("rates", "rate")))
        rows = {row["k"]: row for row in self._given.table(name)}
        statements = []
        for _ in range(self._chance.choice((1, 1, 2))):
            k = self._chance.randrange(5)
            value: Any = (
                self._chance.choice(("lab", "office", None))
                if name == "owners"
                else self._chance.randrange(5)
            )
            text = "NULL" if value is None else setting_text(value)
            kind = self._chance.choice(("insert", "update", "delete"))
            if kind == "insert":
                replaced = f"ON CONFLICT DO UPDATE SET {column} = excluded.{column}"
                statements.append(f"INSERT INTO {name} VALUES ({k}, {text}) {replaced}")
                rows[k] = {"k": k, column: value}
            elif kind == "update":
                statements.append(f"UPDATE {name} SET {column} = {text} WHERE k >= {k}")
                rows |= {key: {"k": key, column: value} for key in rows if key >= k}
            else:
                statements.append(f"DELETE FROM {name} WHERE k = {k}")
                rows.pop(k, None)
        self._sql("; ".join(statements))
        if sorted(map(str, rows.values())) != sorted(map(str, self._given.table(name))):
            self._given.tables[name].append((self._given.now, list(rows.values())))

    def _set_another(self) -> None:
        name = self._chance.choice(sorted(OF_DATABASE))
        self._set(name, self._chance.choice(OF_DATABASE[name]))

    def _set(self, name: str, value: object) -> None:
        self._sql(f"SET {name} = {setting_text(value)}")
        self._settings[name] = value

    def _restart(self) -> None:
        self._stop()
        self._say("db.close(); db = panes.connect(…)")
        self._db.close()
        self._db = self._open(self._folder / "db")

    def _explain(self) -> None:
        if self._queries:
            name = self._chance.choice(list(self._queries))
            self._sql(self._chance.choice((f"EXPLAIN {name}", f"EXPLAIN ANALYZE {name}", "SHOW QUERIES")))

    # Comparisons.

    def _check(self) -> None:
        self._check_failed()
        for standing in list(self._queries.values()):
            if standing.name not in self._queries:
                continue
            try:
                answer = self._db.query(standing.name).invoke()
            except errors.QueryFailed:
                # One that is computed when it is invoked fails then.
                self._check_failed(standing.name)
                continue
            self._compare(standing, answer, "invoke")
            if answer.as_of is not None and standing.has_run:
                at = to_microseconds(answer.as_of)
                standing.seen[at] = counted(answer.table)

    def _check_failed(self, told: str | None = None) -> None:
        """Exactly the queries in which a row overflows are suspended; they are dropped."""
        failed = self._db.status().failed
        if told is not None and told not in failed:
            self._differ(f"{told} says that it is suspended, and is not in status().failed")
        for name in sorted(failed, key=lambda name: not self._queries[name].reads):
            standing = self._queries[name]
            self._say(f"#   {name} is suspended: {failed[name]}")
            rows = [
                row for stream in streams_of(standing.plan) for row, _ in self._given.streams[stream].rows
            ]
            if str(LARGE) not in standing.text or not any(row["x"] == 8 for row in rows):
                self._differ(f"{name}: {standing.text}\n  is suspended: {failed[name]}")
            try:
                self._db.query(name).invoke()
            except errors.QueryFailed:
                self.compared["suspended"] += 1
            else:
                self._differ(f"{name}: {standing.text}\n  is suspended and answers")
            if not self._is_read(name):
                self._sql(f"DROP QUERY {name}")
                self._forget(name)

    def _compare(self, standing: Standing, answer: panes.Answer, how: str) -> None:
        """Compares an answer with what the given rows say at its instant."""
        what = f"{how} of {standing.name}: {standing.text}"
        if answer.as_of is None:
            if len(answer):
                self._differ(f"{what}\n  has {len(answer)} rows before the first epoch")
            return
        if not answer.is_complete or (is_stream(standing.plan) and not standing.has_run):
            return
        at, clock = to_microseconds(answer.as_of), self._given.clock_of(streams_of(standing.plan))
        if clock is None or at > clock:
            self._differ(f"{what}\n  is as of {at} while its streams are at {clock}")
        is_of_clock = not slides(standing.plan) and standing.settings.get("expiration") != "input_triggered"
        # Under 'window' an answer may be that of an epoch before, while others compute the next one.
        is_of_clock = is_of_clock and not (self._is_started and self._settings.get("isolation") == "window")
        if how == "invoke" and is_of_clock and at != clock:
            self._differ(f"{what}\n  is as of {at}, not of its clock {clock}")
        expected = self._given.answer(standing.plan, at)
        if expected is None:
            return
        self.compared[how] += 1
        found = difference(counted(answer.table), expected)
        if found is not None:
            self._differ(f"{what}\n  as of {at}, clock {clock}:\n{found}")

    def _block(self) -> None:
        """Reads all answers in one block, also before the first epoch."""
        self._say("with db.read() as r: …")
        with self._db.read() as block:
            for standing in self._queries.values():
                self._compare(standing, block.invoke(standing.name), "read block")
            if self._queries and self._has_run:
                standing = self._chance.choice(list(self._queries.values()))
                if not is_stream(standing.plan):
                    self._compare_once(standing, lambda text: block.sql(text), "SELECT in a block")

    def _once(self) -> None:
        text = draw_text(self._chance, list(self._given.streams))
        plan = self._given.plan(text)
        if not is_stream(plan):
            standing = Standing("a query asked once", text, plan, {})
            self._say(f"db.sql({text!r})")
            self._compare_once(standing, lambda text: self._db.sql(text), "SELECT")

    def _compare_once(self, standing: Standing, ask: Callable[[str], Any], how: str) -> None:
        try:
            answer = ask(standing.text)
        except errors.SqlError as error:
            is_overflow = str(LARGE) in standing.text and "overflow" in str(error).lower()
            if "keep" not in str(error) and not is_overflow:
                raise
            return
        self._compare(standing, answer, how)

    def _earlier(self, standing: Standing) -> None:
        """Asks for the instants that answers have named, and for others between them."""
        query = self._db.query(standing.name)
        for at in self._chance.sample(sorted(standing.seen), min(3, len(standing.seen))):
            self._say(f"db.query({standing.name!r}).invoke(as_of=<{at} µs>)")
            answer = query.invoke(as_of=to_datetime(at))
            self.compared["as_of"] += 1
            named = None if answer.as_of is None else to_microseconds(answer.as_of)
            if named != at:
                self._differ(f"{standing.name}: {standing.text}\n  as of {at} says that it is as of {named}")
            found = difference(counted(answer.table), standing.seen[at])
            if found is not None:
                self._differ(f"{standing.name}: {standing.text}\n  as of {at} is not what it was:\n{found}")
        if len(standing.seen) > 1:
            at = self._chance.randrange(min(standing.seen), max(standing.seen))
            self._say(f"db.query({standing.name!r}).invoke(as_of=<{at} µs>)")
            answer = query.invoke(as_of=to_datetime(at))
            assert answer.as_of is not None
            if to_microseconds(answer.as_of) > at:
                self._differ(f"{standing.name}: the answer as of {at} is as of {answer.as_of}")
            self._compare(standing, answer, "as_of between")

    def _where(self, standing: Standing) -> None:
        if "k" in standing.plan.schema.names:
            query, k = self._db.query(standing.name), self._chance.randrange(4)
            whole = query.invoke()
            expected = counted(whole.table.filter(_equals(whole.table["k"], k)))
            self._say(f"db.query({standing.name!r}).invoke(where={{'k': {k}}})")
            found = difference(counted(query.invoke(where={"k": k}).table), expected)
            if found is not None:
                self._differ(f"{standing.name}: {standing.text}\n  where k = {k}:\n{found}")

    def _follow(self, standing: Standing) -> None:
        """Reads the changes that a reader has not seen, and compares their sum with answers."""
        if standing.settings.get("answers") == "none":
            return
        reader = self._chance.choice(("phone", "desk"))
        self._readers.setdefault(standing.name, set()).add(reader)
        self._say(f"changes({standing.name!r}, reader={reader!r})")
        try:
            self._read_changes(standing, reader, restart=False)
        except errors.QueryBegunAnew:
            self._say("#   QueryBegunAnew")
            if reader not in standing.told | standing.came:
                self._differ(f"{standing.name}: {reader} is told of an ALTER that was not")
            standing.told.discard(reader)
            standing.came.discard(reader)
            self._read_changes(standing, reader, restart=True)
        except errors.QueryFailed:
            # One that is computed when it is read fails then.
            self._check_failed(standing.name)
        except errors.CatalogError as error:
            self._say(f"#   refused: {error}")
            if "there are no changes to follow" not in str(error):
                raise

    def _read_changes(self, standing: Standing, reader: str, *, restart: bool) -> None:
        query = self._db.query(standing.name)
        sums, last, count = standing.followed.get(reader, Counter()), None, 0
        for change in query.changes(reader, restart=restart):
            count += 1
            if change.is_whole:
                sums = Counter()
            sums.update(counted(change.inserted))
            sums.subtract(counted(change.deleted))
            sums = Counter({row: n for row, n in sums.items() if n})
            if min(sums.values(), default=1) < 0:
                self._differ(
                    f"{standing.name}: {standing.text}\n  changes of {reader} take away rows: {sums}"
                )
            last = to_microseconds(change.as_of)
            standing.followed[reader] = sums
        if reader in standing.told and standing.has_run and not restart:
            self._differ(
                f"{standing.name}: {standing.text}\n  {reader} is not told of ALTER, after {count} changes"
            )
        if reader not in standing.followed or reader in standing.told:
            return
        # A query that sleeps has no changes, though its clock moves on.
        answer = query.invoke(isolation="latest")
        self.compared["changes"] += 1
        found = difference(sums, counted(answer.table))
        if found is not None:
            self._differ(f"{standing.name}: {standing.text}\n  changes of {reader} up to {last}:\n{found}")

    # The script.

    def _sql(self, text: str) -> Any:
        self._say(f"db.sql({text!r})")
        return self._db.sql(text)

    def _say(self, line: str) -> None:
        self.script.append(line)

    def _differ(self, what: str, cause: Exception | None = None) -> NoReturn:
        script = "\n".join(self.script)
        raise Difference(f"seed {self._seed}\n{script}\n\n{what}") from cause


class _Committed:
    """Wakes who waits for a background run, after every epoch."""

    def __init__(self) -> None:
        self._changed = threading.Condition()

    def tell(self, _: panes.Epoch) -> None:
        with self._changed:
            self._changed.notify_all()

    def wait_for(self, is_done: Callable[[], bool]) -> bool:
        with self._changed:
            return self._changed.wait_for(is_done, PATIENCE_S)


def _equals(column: Any, value: int) -> Any:
    import pyarrow.compute as pc

    return pc.equal(column, value)
