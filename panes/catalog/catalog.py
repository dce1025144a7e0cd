"""What the database knows of: streams, tables, registered queries and settings, in one SQLite file.

Objects are kept as the text of the statement that made them; every change is one transaction. The catalog also has
the id of the database, and how far its epochs have come: a catalog and epochs of different times are not taken
together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Literal
from uuid import uuid4

from panes.catalog.comments import Comments
from panes.catalog.created_functions import CreatedFunctions
from panes.catalog.definitions import Definitions
from panes.catalog.marks import Marks
from panes.catalog.parsed_once import parsed_once
from panes.catalog.plan_history import ChosenPlan, PlanHistory, PlanRow, Successor
from panes.catalog.query_groups import QueryGroups
from panes.catalog.query_record import GroupRecord, QueryRecord
from panes.catalog.settings_columns import SETTINGS_COLUMNS, SETTINGS_DEFINED, marks_for
from panes.config import EAGER, LAZY, SETTINGS, Value, check_setting
from panes.errors import CatalogError
from panes.language.names import same
from panes.language.statements import (
    CreateDerivedStream,
    CreateFunction,
    CreateQuery,
    CreateStream,
    CreateTable,
    SelectQuery,
)
from panes.plan.stream import Stream
from panes.query_settings import KEPT, ChosenAnswers, QuerySettings
from panes.sqlite_file import Change, Copy, SqliteFile

_SCHEMA = f"""
{Definitions.SCHEMA}
CREATE TABLE queries (
  id INTEGER NOT NULL, origin INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE UNIQUE,
  sql TEXT NOT NULL, shards INTEGER, follows_cores INTEGER NOT NULL,
  {SETTINGS_DEFINED}, given TEXT NOT NULL, mode TEXT NOT NULL, why_mode TEXT NOT NULL,
  mode_since INTEGER, template TEXT,
  synopsis TEXT, computes TEXT, group_id INTEGER REFERENCES groups (id), first_epoch INTEGER,
  first_clock INTEGER, error TEXT, plan_number INTEGER);
CREATE INDEX queries_by_id ON queries (id);
CREATE INDEX queries_by_what_they_compute ON queries (computes);
CREATE INDEX queries_by_template ON queries (template);
CREATE INDEX queries_by_synopsis ON queries (synopsis);
{QueryGroups.SCHEMA}
{PlanHistory.SCHEMA}
CREATE TABLE settings (name TEXT PRIMARY KEY, value NOT NULL);
{Comments.SCHEMA}
{CreatedFunctions.SCHEMA}
{Marks.SCHEMA}
"""


def check_there(catalog: Path) -> None:
    """Raises CatalogError when there is no catalog, and so no database."""
    if not catalog.exists():
        raise CatalogError(f"there is no database in {catalog.parent}; panes.connect makes one")


class Catalog:
    def __init__(self, path: Path, *, database: str | None = None, read_only: bool = False) -> None:
        """`database` is the id that a new one gets; None makes one up."""
        self._file = SqliteFile(path, _SCHEMA, database=database or uuid4().hex, read_only=read_only)
        self._select, self._execute = self._file.select, self._file.execute
        self._known_queries: tuple[tuple[int, ...], list[QueryRecord]] = (), []
        """What was read of all queries last, and of which version of the tables."""
        self._plans = PlanHistory(self._file)
        self.comments = Comments(self._file)
        self.created_functions = CreatedFunctions(self._file)
        self.marks = Marks(self._file)
        self.definitions = Definitions(self._file)
        self.query_groups = QueryGroups(self._file, self.marks)
        self.is_read_only = read_only

    def close(self) -> None:
        self._file.close()

    # The copy in a home elsewhere.

    def copied_to(self, copy: Copy) -> None:
        """Has all changes from now on kept elsewhere too, but for how far the epochs have come."""
        self._file.copied_to(copy)

    def content(self) -> bytes:
        """All of the catalog, as a file of SQLite."""
        return self._file.content()

    def replay(self, changes: Iterable[Change]) -> None:
        """Makes changes again that were kept elsewhere."""
        with self._file.transaction():
            for sql, values in changes:
                self._execute(sql, *values)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All changes inside count together, or none does."""
        with self._file.transaction():
            yield

    @property
    def database(self) -> str:
        """The id of the database, which its other files carry too."""
        return self._file.database

    # Streams and tables.

    def create(self, statement: CreateStream | CreateDerivedStream | CreateTable) -> None:
        with self._file.transaction():
            self._check_free(statement.name)
            self.definitions.add(statement)

    def _check_free(self, name: str) -> None:
        """Streams, tables and queries have one space of names, because all of them can be read in FROM."""
        if self.is_taken(name):
            kind = "query" if self.has("QUERY", name) else "stream or table"
            raise CatalogError(
                f"there is already a {kind} named {name!r}; drop it first or choose another name"
            )

    def retains_from(self, stream: int) -> int | None:
        """The clock from which on a stream keeps what its RETAIN says; None: it always did."""
        return self.definitions.retains_from(stream)

    def drop(self, kind: str, name: str) -> None:
        with self._file.transaction():
            if not self.definitions.drop(kind, name):
                raise self._missing(kind, name)
            self.comments.forget(name)

    def has(self, kind: Literal["QUERY", "STREAM", "TABLE"], name: str) -> bool:
        """Whether there is a query, a stream or a table of that name."""
        if kind == "QUERY":
            return bool(self._select("SELECT 1 FROM queries WHERE name = ?", name))
        return (self.stream(name) if kind == "STREAM" else self.table(name)) is not None

    def stream(self, name: str) -> CreateStream | CreateDerivedStream | None:
        statement = self.definitions.find(name)
        return None if isinstance(statement, CreateTable) else statement

    def table(self, name: str) -> CreateTable | None:
        statement = self.definitions.find(name)
        return statement if isinstance(statement, CreateTable) else None

    def streams(self) -> list[CreateStream | CreateDerivedStream]:
        """In the order of creation."""
        return self.definitions.streams()

    def base_streams(self) -> list[Stream]:
        """The streams that have a source, each with a number that is never given to another."""
        return [statement.stream for statement in self.streams() if isinstance(statement, CreateStream)]

    def tables(self) -> list[CreateTable]:
        """In the order of creation."""
        return self.definitions.tables()

    def names(self) -> Sequence[str]:
        queries = self._select("SELECT name FROM queries ORDER BY origin")
        return [*self.definitions.names(), *(str(name) for (name,) in queries)]

    def rename(self, kind: Literal["QUERY", "STREAM", "TABLE"], name: str, new_name: str) -> None:
        """Gives a query, a stream or a table another name. Files go by numbers, so nothing else changes."""
        with self._file.transaction():
            if not self.has(kind, name):
                raise self._missing(kind, name)
            if not same(name, new_name):  # to write its own name in another way is no conflict
                self._check_free(new_name)
            self.comments.rename(name, new_name)
            if kind == "QUERY":
                self._execute("UPDATE queries SET name = ? WHERE name = ?", new_name, name)
            else:
                self.definitions.rename(name, new_name)

    def functions(self) -> dict[str, CreateFunction]:
        """The functions and aggregates of users, by name."""
        return self.created_functions.by_name()

    # Queries.

    def register(
        self,
        name: str,
        sql: str,
        shards: int | None,
        settings: QuerySettings,
        template: str | None = None,
        given: Sequence[str] = (),
        answers: ChosenAnswers = KEPT,
        synopsis: str | None = None,
        computes: str | None = None,
    ) -> QueryRecord:
        """Adds a query. When one runs by itself that is equal to it, it has the id of that one, and so its state.
        Else, when there are some of its template already, it shares a plan with those that follow; one whose
        answer is put together when it is read shares it in any case.

        Without a number of shards it has as many as the cluster has cores. A query that joins a group goes by the
        number of the group, as answers do not depend on it. `given` are the settings of its own statement,
        `synopsis` what it could be computed from with others, also when it goes by another template. `computes`
        is the same for queries that compute the same; without it, it is equal to none.
        """
        with self._file.transaction():
            self._check_free(name)
            number = self.marks.take_number()
            equal = None if computes is None else self._equal_to(computes, shards, settings)
            if equal is not None:
                return self._register_equal(number, name, sql, given, equal)
            group = None if template is None else self._group_for(template, shards, settings, answers)
            named = ",".join(given)
            first = (number, number, name, sql, shards, shards is None)
            values = (*first, *settings, named, *answers, template, synopsis, computes, group)
            self._execute(
                f"INSERT INTO queries (id, origin, name, sql, shards, follows_cores, {SETTINGS_COLUMNS}, given, "
                "mode, why_mode, mode_since, template, synopsis, computes, group_id) "
                f"VALUES ({marks_for(values)})",
                *values,
            )
            return self.query(name)

    def _equal_to(self, computes: str, shards: int | None, settings: QuerySettings) -> int | None:
        """The id of a query that runs by itself and computes and keeps what another one would; None when there is
        none. Over how many shards one is spread that follows the cluster makes no difference."""
        rows = self._select(
            f"SELECT id FROM queries WHERE (computes, {SETTINGS_COLUMNS}) = ({marks_for((computes, *settings))}) "
            "AND group_id IS NULL AND error IS NULL AND mode = ? AND iif(follows_cores, NULL, shards) IS ? "
            "ORDER BY origin LIMIT 1",
            *(computes, *settings, EAGER, shards),
        )
        return int(rows[0][0]) if rows else None

    def _register_equal(
        self, number: int, name: str, sql: str, given: Sequence[str], equal: int
    ) -> QueryRecord:
        """Adds a query that shares the state of an equal one, as if both had been registered together."""
        same = (
            f"shards, follows_cores, {SETTINGS_COLUMNS}, mode, why_mode, mode_since, template, synopsis, "
            "computes, first_epoch, first_clock, plan_number"
        )
        self._execute(
            f"INSERT INTO queries (id, origin, name, sql, given, {same}) "
            f"SELECT id, ?, ?, ?, ?, {same} FROM queries WHERE id = ? LIMIT 1",
            *(number, name, sql, ",".join(given), equal),
        )
        return self.query(name)

    def equal_queries(self, record: QueryRecord) -> int:
        """How many others share the state of a query, because they are equal to it."""
        ((number,),) = self._select(
            "SELECT count(*) FROM queries WHERE id = ? AND origin != ?", record.id, record.origin
        )
        return int(number)

    def _leave_equals(self, record: QueryRecord) -> bool:
        """Leaves the plans of a query that goes to those that share its state; False when there are none."""
        if not self.equal_queries(record):
            return False
        ((heir,),) = self._select(
            "SELECT min(origin) FROM queries WHERE id = ? AND origin != ?", record.id, record.origin
        )
        self._plans.leave_to(record.id, int(heir))
        return True

    def set_text(self, origin: int, sql: str) -> None:
        """Gives a query another text; `replace_query` is to follow, for it and for those that read it."""
        self._execute("UPDATE queries SET sql = ?, error = NULL WHERE origin = ?", sql, origin)

    def set_settings(self, origin: int, settings: QuerySettings, given: Sequence[str]) -> None:
        """Gives a query other settings; `replace_query` is to follow. `given` are those of its own statement."""
        values = (*settings, ",".join(given))
        self._execute(
            f"UPDATE queries SET ({SETTINGS_COLUMNS}, given) = ({marks_for(values)}) WHERE origin = ?",
            *values,
            origin,
        )

    def replace_query(
        self,
        old: QueryRecord,
        template: str | None,
        answers: ChosenAnswers = KEPT,
        synopsis: str | None = None,
        computes: str | None = None,
    ) -> QueryRecord:
        """Lets a query begin anew under another id, with the next epoch: what it computes is something else now.
        Those that were equal to it go on with the state that they shared. Its settings stay, and so does its error
        when it is suspended. `old` is what it was before."""
        with self._file.transaction():
            number = self.marks.take_number()
            if old.group is not None:
                of_group = "SELECT shards, follows_cores FROM groups WHERE id = group_id"
                self._execute(
                    f"UPDATE queries SET (shards, follows_cores) = ({of_group}) WHERE origin = ?", old.origin
                )
            nothing = "template = NULL, synopsis = NULL, group_id = NULL"
            self._execute(f"UPDATE queries SET {nothing} WHERE origin = ?", old.origin)
            ((shards,),) = self._select(
                "SELECT iif(follows_cores, NULL, shards) FROM queries WHERE origin = ?", old.origin
            )
            settings = self.query(old.name).settings
            group = None if template is None else self._group_for(template, shards, settings, answers)
            if not self._leave_equals(old):
                self._plans.forget_current(old.id, self.marks.last_begun, old.first_epoch)
            self._execute(
                "UPDATE queries SET id = ?, template = ?, synopsis = ?, computes = ?, group_id = ?, mode = ?, "
                "why_mode = ?, mode_since = ?, first_epoch = NULL, first_clock = NULL, plan_number = NULL "
                "WHERE origin = ?",
                *(number, template, synopsis, computes, group, *answers, old.origin),
            )
            return self.query(old.name)

    def alike(self, template: str) -> int:
        """How many registered queries are of a template, or could be computed from a synopsis; equal ones count as
        one, and those beyond `share_from` are not counted."""
        ((alike,),) = self._select(
            "SELECT count(*) FROM (SELECT DISTINCT id FROM queries WHERE template = ? OR synopsis = ? LIMIT ?)",
            *(template, template, int(self.setting("share_from"))),
        )
        return int(alike)

    def sharing(self, template: str) -> int:
        """How many registered queries share what is kept for a template."""
        ((number,),) = self._select(
            "SELECT count(*) FROM queries, groups WHERE group_id = groups.id AND groups.template = ?",
            template,
        )
        return int(number)

    def _group_for(
        self, template: str, shards: int | None, settings: QuerySettings, answers: ChosenAnswers
    ) -> int | None:
        """The group that the next query of a template joins; None while there are too few of them."""
        if answers.mode != LAZY and self.alike(template) + 1 < int(self.setting("share_from")):
            return None
        return self.query_groups.of(template, shards, settings)

    def query(self, name: str) -> QueryRecord:
        found = self._queries("WHERE name = ?", name)
        if not found:
            raise self._missing("QUERY", name)
        return found[0]

    def registered(self, name: str) -> CreateQuery | None:
        """The statement that registered a query; None when there is no query of that name."""
        found = self._queries("WHERE name = ?", name)
        return _statement_of(found[0]) if found else None

    def all_registered(self) -> list[CreateQuery]:
        """The statements that registered the queries, in the order of registration."""
        return [_statement_of(query) for query in self.queries()]

    def is_taken(self, name: str) -> bool:
        """Whether a stream, table or query has that name."""
        return self.definitions.has(name) or self.has("QUERY", name)

    def find_query(self, query: int) -> QueryRecord | None:
        """A registered query by its id; None when there is none."""
        found = self._queries("WHERE id = ?", query)
        return found[0] if found else None

    def has_query(self, query: int, origin: int) -> bool:
        """Whether a query is registered, by the id that it has and the one that it had at first."""
        return bool(self._select("SELECT 1 FROM queries WHERE id = ? AND origin = ?", query, origin))

    def has_origin(self, origin: int) -> bool:
        """Whether a query is registered, by the id that it had at first."""
        return self.name_of(origin) is not None

    def queries(self) -> list[QueryRecord]:
        """In the order of registration. The records are the same ones as long as nothing happens to any query."""
        version = self._file.version("queries", "groups")
        if self._known_queries[0] != version:
            self._known_queries = version, self._queries("ORDER BY origin")
        return list(self._known_queries[1])

    def name_of(self, origin: int) -> str | None:
        """The name of a query by the id under which it was first registered; None when it was dropped."""
        rows = self._select("SELECT name FROM queries WHERE origin = ?", origin)
        return str(rows[0][0]) if rows else None

    def drop_query(self, name: str) -> QueryRecord:
        record = self.query(name)
        with self._file.transaction():
            self._leave_equals(record)
            self._execute("DELETE FROM queries WHERE origin = ?", record.origin)
            self._plans.forget(record.origin)
            self.comments.forget(name)
        return record

    def set_shards(self, name: str, shards: int | None) -> None:
        """Spreads a query over another number of shards from the next epoch on, and with it all that share its
        plan; None: over as many as the cluster has cores."""
        record = self.query(name)
        table = "queries" if record.group is None else "groups"
        self._execute(
            f"UPDATE {table} SET shards = ?, follows_cores = ? WHERE id = ?",
            *(shards, shards is None, record.running),
        )

    def begin_queries(
        self,
        epoch: int,
        clock_of: Callable[[QueryRecord], int],
        cores: int,
        why_not_switched: Callable[[QueryRecord], str | None] = lambda _: None,
    ) -> list[QueryRecord]:
        """The queries of an epoch; those registered since the last one see their first tuples in it.

        `clock_of` gives the clock of a query before the epoch, `cores` is the number of the cluster's, which some
        follow. `why_not_switched` gives the reason why a query cannot get the plan that waits for it. An epoch
        that failed is done again under its number: what began in it begins in it again.
        """
        with self._file.transaction():
            self.marks.note_cores(cores)
            for record in self._queries("WHERE first_epoch IS NULL AND error IS NULL"):
                self._execute(
                    "UPDATE queries SET first_epoch = ?, first_clock = ? WHERE id = ?",
                    *(epoch, clock_of(record), record.id),
                )
            if self.query_groups.forget_unused():
                self._plans.forget_groups()
            self.query_groups.begin(epoch)
            for table in ("queries", "groups"):
                follow = f"UPDATE {table} SET shards = ? WHERE follows_cores AND shards IS NOT ?"
                self._execute(follow, cores, cores)
            self._switch_plans(epoch, why_not_switched)
            self.marks.begin_epoch(epoch)
            return self.queries()

    def _switch_plans(self, epoch: int, why_not: Callable[[QueryRecord], str | None]) -> None:
        """Lets plans take over that have begun before an epoch, and then those begin that wait."""

        for query, number, first_epoch in self._plans.successors():
            record = self.find_query(query)
            if record is not None and first_epoch < epoch:
                self._plans.take_over(query, number, first_epoch, record.first_epoch)
                self._execute("UPDATE queries SET plan_number = ? WHERE id = ?", number, query)
        for query, number in self._plans.waiting().items():
            record = self.find_query(query)
            if record is None or record.error is not None or record.first_epoch == epoch:
                continue  # it waits until there is a plan that it could take over from
            reason = why_not(record)
            if reason is None:
                self._plans.begin(number, epoch)
            else:
                self._plans.give_up(number, "refused", reason)

    def suspend(self, query: int, error: str) -> None:
        """Takes a query that failed out of the epochs that follow."""
        with self._file.transaction():
            self._execute("UPDATE queries SET error = ? WHERE id = ?", error, query)
            self._plans.drop_successors(query)

    def resume(self, name: str) -> QueryRecord:
        """Lets a suspended query begin anew, with the next epoch."""
        with self._file.transaction():
            record = self.query(name)
            if record.error is None:
                raise CatalogError(f"query {name!r} is not suspended")
            again = "error = NULL, first_epoch = NULL, first_clock = NULL, plan_number = NULL"
            self._execute(f"UPDATE queries SET {again} WHERE id = ?", record.id)
            self._plans.forget_current(record.id, self.marks.last_begun, record.first_epoch)
            return record

    def begin_group_anew(self, group: int, plan: str, chosen: ChosenPlan, epoch: int) -> None:
        """Lets a group go on with another plan: an epoch begins it, and runs no other for the group."""
        with self._file.transaction():
            number = self.marks.take_number()
            self._plans.add_successor(group, group, number, plan, chosen)
            self._plans.begin(number, epoch)
            self._plans.take_over(group, number, epoch, None)
            self.query_groups.set_plan(group, number, epoch)

    def groups(self) -> list[GroupRecord]:
        """The groups that have begun."""
        return self.query_groups.begun()

    # Physical plans.

    def plan(self, number: int) -> str | None:
        """A stored plan; None when there is none of that number."""
        return self._plans.plan(number)

    def set_plan(self, record: QueryRecord, plan: str, chosen: ChosenPlan) -> None:
        """Stores the plan that a query begins with, or that of its group, unless another thread has: it made the
        same one."""
        origin = record.origin if record.group is None else record.group
        with self._file.transaction():
            self._plans.add_first(record.running, origin, record.plan_number, plan, chosen)

    def replace_plan(self, record: QueryRecord, plan: str, chosen: ChosenPlan) -> None:
        """Lets a query go on with another plan: the next epoch begins it, and the one after that runs it alone.
        Of a query that no epoch has begun the plan is replaced at once."""
        with self._file.transaction():
            if self.query(record.name).first_epoch is None:
                self._plans.forget_current(record.id, self.marks.last_begun, None)
                self.set_plan(record, plan, chosen)
            else:
                self._plans.add_successor(record.id, record.origin, self.marks.take_number(), plan, chosen)

    def keep_plan(self, record: QueryRecord, chosen: ChosenPlan) -> None:
        """Notes that the plan of a query was chosen anew, and is the one that it has."""
        with self._file.transaction():
            self._plans.add_same(record.running, record.origin, chosen)

    def newest_plan(self, record: QueryRecord) -> int:
        """The number of the plan that runs a query after the switch that is under way, if one is."""
        return self._plans.newest(record.running, record.plan_number)

    def has_successor(self, record: QueryRecord) -> bool:
        """Whether another plan was chosen for a query, and has not taken over yet."""
        return record.running in self._plans.waiting() or self.newest_plan(record) != record.plan_number

    def successors(self) -> list[Successor]:
        """The plans that the epoch which has begun last begins, beside those that they replace."""
        return self._plans.successors()

    def fail_plan(self, number: int, error: str) -> bool:
        """Gives up a plan that failed in the epoch that was to begin it; False when it is none of those."""
        if all(number != found.number for found in self._plans.successors()):
            return False
        with self._file.transaction():
            self._plans.give_up(number, "failed", error)
        return True

    def queries_by_plan(self) -> Mapping[int, int]:
        """The query or group of each plan that there is or was, by number."""
        return self._plans.queries_by_number()

    def plan_rows(self, name: str) -> list[PlanRow]:
        """The plans that a query has had, or the group that it is in, in the order in which they were chosen."""
        record = self.query(name)
        return self._plans.rows(record.origin, record.running)

    def last_switch(self, record: QueryRecord) -> int | None:
        """The epoch in which a query last got another plan, or was to; None when it never did."""
        return self._plans.last_switch(record.running)

    # Settings.

    def setting(self, name: str) -> Value:
        check_setting(name, SETTINGS[name].default if name in SETTINGS else 0)
        rows = self._select("SELECT value FROM settings WHERE name = ?", name)
        return rows[0][0] if rows else SETTINGS[name].default

    def query_settings(self, given: Mapping[str, Value] = MappingProxyType({})) -> QuerySettings:
        """The settings that a query gets that is registered now; `given` are those of its own statement."""
        settings = {name: self.setting(name) for name in QuerySettings._fields if name in SETTINGS}
        own = {
            name: check_setting(name, value) if name in SETTINGS else value for name, value in given.items()
        }
        return QuerySettings(**{**settings, **own})  # type: ignore[arg-type]

    def set(self, name: str, value: Value) -> None:
        self._execute(
            "INSERT INTO settings VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
            *(name, check_setting(name, value)),
        )

    def _queries(self, clause: str, *values: Value) -> list[QueryRecord]:
        of_group = "SELECT groups.shards FROM groups WHERE groups.id = group_id"
        before = ("id", "origin", "name", "sql", f"iif(group_id IS NULL, shards, ({of_group}))")
        plan_of_group = "SELECT groups.plan_number FROM groups WHERE groups.id = group_id"
        number = f"coalesce(plan_number, ({plan_of_group}), group_id, id)"
        after = ("group_id", "first_epoch", "first_clock", "error", number)
        columns = ", ".join((*before, SETTINGS_COLUMNS, "given", "mode", "why_mode", "mode_since", *after))
        rows = self._select(f"SELECT {columns} FROM queries {clause}", *values)
        first, given = len(before), len(before) + len(QuerySettings._fields)
        return [
            QueryRecord(  # type: ignore[call-arg]
                *row[:first],
                QuerySettings(*row[first:given]),
                tuple(filter(None, str(row[given]).split(","))),
                ChosenAnswers(*row[given + 1 : given + 4]),
                *row[given + 4 :],
            )
            for row in rows
        ]

    def _missing(self, kind: str, name: str) -> CatalogError:
        known = [q.name for q in self.queries()] if kind == "QUERY" else self.definitions.names_of(kind)
        there = f"there are {', '.join(known)}" if known else "there are none yet"
        return CatalogError(f"there is no {kind.lower()} named {name!r}; {there}")


def _statement_of(record: QueryRecord) -> CreateQuery:
    query = parsed_once(record.sql)
    assert isinstance(query, SelectQuery), record.sql
    given = {name: getattr(record.settings, name) for name in record.given}
    return CreateQuery.of_given(record.name, query, given)
