"""The statements of the language, as values. `.sql` is the canonical text: it parses to the same statement.

A query is kept as the syntax tree of the dialect; `bind` turns it into a plan. Two statements are equal when
their canonical texts are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from sqlglot import exp

from panes.language.definition_text import (
    clause_text,
    column_text,
    columns_text,
    option_text,
    options_text,
    source_text,
    text_literal,
)
from panes.language.names import quoted
from panes.plan.durations import duration_text
from panes.plan.schema import Field, Schema
from panes.plan.stream import DEFAULT_AHEAD_US, OptionValue, Source, Stream
from panes.plan.types import Type

Kind: TypeAlias = Literal["QUERY", "STREAM", "TABLE"]
"""What has a name of its own and a definition."""


@dataclass(frozen=True)
class Statement:
    """Base of all statements."""

    @property
    def sql(self) -> str:
        raise TypeError(f"{type(self).__name__} has no text")


@dataclass(frozen=True)
class SelectQuery(Statement):
    """A query: SELECT, set operations and output operators.

    `text` is what the user wrote, for the carets of errors; offsets in `tree` are offsets in it.
    """

    canonical: str
    tree: exp.Expression = field(compare=False, repr=False)
    text: str = field(compare=False, repr=False)

    @property
    def sql(self) -> str:
        return self.canonical


@dataclass(frozen=True)
class CreateStream(Statement):
    stream: Stream

    @property
    def name(self) -> str:
        return self.stream.name

    @property
    def columns(self) -> Schema:
        return self.stream.columns

    @property
    def sql(self) -> str:
        stream = self.stream
        parts = [f"CREATE STREAM {quoted(stream.name)} ({columns_text(stream.columns)})"]
        if stream.timestamp is not None:
            unit = "" if stream.timestamp.unit == "TIMESTAMP" else f" {stream.timestamp.unit}"
            parts.append(f"TIMESTAMP BY {quoted(stream.timestamp.column)}{unit}")
        if stream.expires is not None:
            unit = "" if stream.expires.unit == "TIMESTAMP" else f" {stream.expires.unit}"
            parts.append(f"EXPIRES BY {quoted(stream.expires.column)}{unit}")
        if stream.slack_us:
            parts.append(f"SLACK INTERVAL {duration_text(stream.slack_us)}")
        if stream.ahead_us != DEFAULT_AHEAD_US:
            parts.append(f"AHEAD INTERVAL {duration_text(stream.ahead_us)}")
        if stream.idle_advance:
            parts.append("IDLE ADVANCE")
        if stream.retain_us is not None:
            parts.append(f"RETAIN INTERVAL {duration_text(stream.retain_us)}")
        if stream.source != Source():
            parts.append(source_text(stream.source))
        return " ".join(parts)


@dataclass(frozen=True)
class CreateDerivedStream(Statement):
    name: str
    query: SelectQuery

    @property
    def sql(self) -> str:
        return f"CREATE STREAM {quoted(self.name)} AS {self.query.sql}"


@dataclass(frozen=True)
class ColumnDefault:
    """The value of a column that INSERT leaves out: a constant expression."""

    column: str
    canonical: str
    tree: exp.Expression = field(compare=False, repr=False)


@dataclass(frozen=True)
class CreateTable(Statement):
    name: str
    columns: Schema
    primary_key: tuple[str, ...] = ()
    retroactive: bool = True
    not_null: tuple[str, ...] = ()
    """The columns that are declared NOT NULL, without those of the primary key, which never are NULL."""
    defaults: tuple[ColumnDefault, ...] = ()
    number: int = field(default=0, compare=False)
    """Given by the catalog and never used again: the files of a table go by it. 0: not in a catalog."""
    text: str = field(default="", compare=False, repr=False)
    """What the user wrote: offsets in defaults are offsets in it."""

    @property
    def sql(self) -> str:
        defaults = {default.column: default.canonical for default in self.defaults}
        inside = columns_text(self.columns, self.not_null, defaults)
        if self.primary_key:
            inside += f", PRIMARY KEY ({', '.join(map(quoted, self.primary_key))})"
        suffix = "" if self.retroactive else " NON RETROACTIVE"
        return f"CREATE TABLE {quoted(self.name)} ({inside}){suffix}"


def renamed(
    definition: CreateStream | CreateDerivedStream | CreateTable, name: str
) -> CreateStream | CreateDerivedStream | CreateTable:
    """The same stream or table under another name."""
    if isinstance(definition, CreateStream):
        return CreateStream(replace(definition.stream, name=name))
    return replace(definition, name=name)


@dataclass(frozen=True)
class _TableStatement(Statement):
    """A change of a table; `canonical` is its text and `text` what the user wrote, as in SelectQuery."""

    table: str
    canonical: str
    tree: exp.Expression = field(compare=False, repr=False)
    text: str = field(compare=False, repr=False)
    at: int | None = field(default=None, compare=False)
    """The instant of event time at which it takes effect, in microseconds; None: as soon as it can."""

    @property
    def sql(self) -> str:
        return self.canonical


@dataclass(frozen=True)
class InsertInto(_TableStatement):
    """INSERT INTO a table or a stream, VALUES … or a query: `bind_insert` gives what is inserted."""


@dataclass(frozen=True)
class UpdateTable(_TableStatement):
    """UPDATE … SET … WHERE …: `bind_update` gives the assignments and the condition."""


@dataclass(frozen=True)
class DeleteFrom(_TableStatement):
    """DELETE FROM … WHERE …: `bind_delete` gives the condition."""


TableStatement: TypeAlias = InsertInto | UpdateTable | DeleteFrom
"""The statements that change rows of a table."""


@dataclass(frozen=True)
class CopyFrom(Statement):
    """COPY table FROM 'file' WITH (…): brings the rows of a file into a table."""

    table: str
    location: str
    options: tuple[tuple[str, OptionValue], ...]
    tree: exp.Expression = field(compare=False, repr=False)
    text: str = field(compare=False, repr=False)

    @property
    def sql(self) -> str:
        copied = f"COPY {quoted(self.table)} FROM {text_literal(self.location)}"
        return f"{copied} {options_text(dict(self.options))}" if self.options else copied


@dataclass(frozen=True)
class CreateQuery(Statement):
    name: str
    query: SelectQuery
    settings: tuple[tuple[str, OptionValue], ...] = ()
    """Those that it has for itself, as they were written; it has the others from the database."""
    index: tuple[str, ...] = ()
    """The columns of INDEX BY."""
    index_at: int = field(default=0, compare=False, repr=False)
    """Where INDEX BY stands in the text."""

    @property
    def sql(self) -> str:
        settings = f"{options_text(dict(self.settings))} " if self.settings else ""
        index = f"INDEX BY ({', '.join(map(quoted, self.index))}) " if self.index else ""
        return f"CREATE QUERY {quoted(self.name)} {settings}{index}AS {self.query.sql}"

    @property
    def given(self) -> dict[str, OptionValue]:
        """What it has for itself, by the names of `QuerySettings`: its settings, and its index as JSON."""
        return dict(self.settings) | ({"index_by": json.dumps(self.index)} if self.index else {})

    @classmethod
    def of_given(cls, name: str, query: SelectQuery, given: Mapping[str, OptionValue]) -> CreateQuery:
        """The statement of a query that has these for itself: the inverse of `given`."""
        settings = tuple((option, value) for option, value in given.items() if option != "index_by")
        return cls(name, query, settings, tuple(json.loads(str(given.get("index_by", "[]")))))


@dataclass(frozen=True)
class Invoke(Statement):
    """The answer of a registered query. With WHERE, ORDER BY, LIMIT or OFFSET `canonical` is the text of these,
    `where` the condition, and `tree` what was read of the others: `bind_invoke` gives the order and the places."""

    name: str
    canonical: str = ""
    tree: exp.Expression | None = field(default=None, compare=False, repr=False)
    text: str = field(default="", compare=False, repr=False)
    where: exp.Expression | None = field(default=None, compare=False, repr=False)

    @property
    def sql(self) -> str:
        return f"INVOKE {quoted(self.name)}{self.canonical}"


@dataclass(frozen=True)
class Explain(Statement):
    """`target` is the name of a registered query, or a query."""

    target: str | SelectQuery
    format: Literal["TEXT", "JSON"] = "TEXT"
    analyze: bool = False
    """Whether to show what the steps of a registered query did."""
    plans: bool = False
    """Whether to show the plans among which that of the query was chosen, and not its steps."""

    @property
    def sql(self) -> str:
        target = quoted(self.target) if isinstance(self.target, str) else self.target.sql
        options = (
            ["ANALYZE"] * self.analyze + ["PLANS"] * self.plans + ["FORMAT JSON"] * (self.format == "JSON")
        )
        return " ".join(["EXPLAIN", *([f"({', '.join(options)})"] if options else []), target])


@dataclass(frozen=True)
class Show(Statement):
    kind: Literal["QUERIES", "STREAMS", "TABLES", "FUNCTIONS", "SETTINGS", "STATISTICS", "SYNOPSES"]
    like: str | None = None
    """The pattern of the names that are shown; None: all."""

    @property
    def sql(self) -> str:
        return f"SHOW {self.kind}" + ("" if self.like is None else f" LIKE {text_literal(self.like)}")


@dataclass(frozen=True)
class ShowCreate(Statement):
    """SHOW CREATE STREAM, TABLE or QUERY: the statements that make it."""

    kind: Kind
    name: str

    @property
    def sql(self) -> str:
        return f"SHOW CREATE {self.kind} {quoted(self.name)}"


@dataclass(frozen=True)
class ShowPlans(Statement):
    """The plans that a registered query has had."""

    name: str

    @property
    def sql(self) -> str:
        return f"SHOW PLANS {quoted(self.name)}"


@dataclass(frozen=True)
class Describe(Statement):
    """The columns of a stream, a table or a registered query."""

    name: str

    @property
    def sql(self) -> str:
        return f"DESCRIBE {quoted(self.name)}"


@dataclass(frozen=True)
class CommentOn(Statement):
    """COMMENT ON STREAM, TABLE, QUERY or COLUMN … IS 'text'."""

    kind: Kind | Literal["COLUMN"]
    name: str
    column: str | None
    """The column of what has the name, when the kind is COLUMN."""
    comment: str | None
    """None takes a comment away."""

    @property
    def sql(self) -> str:
        name = quoted(self.name) + ("" if self.column is None else f".{quoted(self.column)}")
        comment = "NULL" if self.comment is None else text_literal(self.comment)
        return f"COMMENT ON {self.kind} {name} IS {comment}"


@dataclass(frozen=True)
class CreateFunction(Statement):
    """A function or an aggregate of a user, kept by the import path (`module:name`) of its Python object."""

    name: str
    takes: Schema
    returns: Type
    path: str
    is_vectorized: bool = False
    takes_null: bool = False
    is_aggregate: bool = False

    @property
    def sql(self) -> str:
        kind = "AGGREGATE" if self.is_aggregate else "FUNCTION"
        parts = [f"CREATE {kind} {quoted(self.name)} ({columns_text(self.takes)}) RETURNS {self.returns}"]
        parts.append(f"AS {text_literal(self.path)}")
        parts += ["VECTORIZED"] * self.is_vectorized + ["CALLED ON NULL INPUT"] * self.takes_null
        return " ".join(parts)


@dataclass(frozen=True)
class DropFunction(Statement):
    """DROP FUNCTION, for aggregates as well."""

    name: str
    if_exists: bool = False

    @property
    def sql(self) -> str:
        return f"DROP FUNCTION {'IF EXISTS ' * self.if_exists}{quoted(self.name)}"


@dataclass(frozen=True)
class Drop(Statement):
    kind: Kind
    name: str
    if_exists: bool = False

    @property
    def sql(self) -> str:
        return f"DROP {self.kind} {'IF EXISTS ' * self.if_exists}{quoted(self.name)}"


@dataclass(frozen=True)
class AlterQuery(Statement):
    """Lets a suspended query begin anew, or chooses the plan of one that runs anew."""

    name: str
    action: Literal["RESUME", "REPLAN"]

    @property
    def sql(self) -> str:
        return f"ALTER QUERY {quoted(self.name)} {self.action}"


@dataclass(frozen=True)
class AlterQueryAs(Statement):
    """Gives a registered query another text."""

    name: str
    query: SelectQuery

    @property
    def sql(self) -> str:
        return f"ALTER QUERY {quoted(self.name)} AS {self.query.sql}"


@dataclass(frozen=True)
class Rename(Statement):
    """Gives a query, a stream or a table another name."""

    kind: Literal["QUERY", "STREAM", "TABLE"]
    name: str
    new_name: str

    @property
    def sql(self) -> str:
        return f"ALTER {self.kind} {quoted(self.name)} RENAME TO {quoted(self.new_name)}"


@dataclass(frozen=True)
class CreateAgain(Statement):
    """CREATE of something that may be there already: with IF NOT EXISTS what is there stays, with OR REPLACE it
    becomes what the statement says."""

    statement: CreateStream | CreateDerivedStream | CreateTable | CreateQuery
    otherwise: Literal["IF NOT EXISTS", "OR REPLACE"]

    @property
    def name(self) -> str:
        return self.statement.name

    @property
    def sql(self) -> str:
        create, kind, rest = self.statement.sql.split(" ", 2)
        if self.otherwise == "OR REPLACE":
            return f"{create} OR REPLACE {kind} {rest}"
        return f"{create} {kind} IF NOT EXISTS {rest}"


@dataclass(frozen=True)
class AlterStream(Statement):
    """ALTER STREAM … SET (…): changes clauses of a base stream. Lengths are in microseconds."""

    name: str
    options: tuple[tuple[str, int | bool | None], ...]
    """By name, in the order in which they were written; `retain` may be None: what the queries in use need."""

    @property
    def sql(self) -> str:
        written = ", ".join(f"{name} = {clause_text(value)}" for name, value in self.options)
        return f"ALTER STREAM {quoted(self.name)} SET ({written})"


@dataclass(frozen=True)
class AddColumn(Statement):
    """ALTER STREAM … ADD COLUMN: one more column, which is NULL in the rows that came before."""

    name: str
    column: Field

    @property
    def sql(self) -> str:
        return f"ALTER STREAM {quoted(self.name)} ADD COLUMN {column_text(self.column)}"


@dataclass(frozen=True)
class SetShards(Statement):
    """Spreads a registered query over another number of shards."""

    name: str
    shards: OptionValue

    @property
    def sql(self) -> str:
        return f"ALTER QUERY {quoted(self.name)} SET shards = {option_text(self.shards)}"


@dataclass(frozen=True)
class SetSetting(Statement):
    name: str
    value: OptionValue

    @property
    def sql(self) -> str:
        return f"SET {quoted(self.name)} = {option_text(self.value)}"
