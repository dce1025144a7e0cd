"""Statements: everything that is not a query."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

from sqlglot import Token, TokenType, exp

from panes.language import statements as st
from panes.language.names import quoted, same
from panes.language.parser.parse_durations import parse_duration
from panes.language.parser.parse_expressions import NANOSECONDS, QUERIES
from panes.language.parser.parse_queries import CLAUSES
from panes.language.parser.parse_tables import TableParser
from panes.language.parser.syntax import StatementNode
from panes.language.positions import did_you_mean, with_article
from panes.plan.schema import Schema
from panes.plan.stream import DEFAULT_AHEAD_US, Source, SourceKind, Stream, TimestampBy
from panes.plan.types import TIMESTAMP

_BEGINS_TARGET = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.SELECT, TokenType.L_PAREN)
"""What follows EXPLAIN ANALYZE, where ANALYZE is not the name of a query."""
_EXPLAIN_OPTIONS = ("FORMAT", "ANALYZE", "PLANS")


_STREAM_CLAUSES = ("slack", "ahead", "idle_advance", "retain")
_CHANGEABLE = "slack, ahead, idle_advance and retain can"

_KINDS: tuple[st.Kind, ...] = ("QUERY", "STREAM", "TABLE")


class StatementParser(TableParser):
    def _parse_statement(self) -> exp.Expr | None:
        token = self._curr
        if not token or self._match(TokenType.SEMICOLON):  # sqlglot keeps a semicolon that has a comment
            return None
        self._begin_statement()
        statement = self._statement()
        if self._curr:
            self._unexpected_instead_of("the end of the statement", *CLAUSES)
        return self._placed(StatementNode(this=statement), token)

    def _statement(self) -> st.Statement:
        word = self._curr.text.upper() if self._curr.token_type == TokenType.VAR else ""
        is_query = word in QUERIES or self._at_output()
        if is_query or self._curr.token_type == TokenType.L_PAREN:
            return self._select_query()
        if word not in _STATEMENTS:
            hint = did_you_mean(self._curr.text, [*_STATEMENTS, "SELECT"]) if word else None
            self._unexpected("a statement", hint)
        self._advance()
        return _STATEMENTS[word](self)

    # CREATE

    def _create(self) -> st.Statement:
        for kind in ("FUNCTION", "AGGREGATE"):
            if self._word(kind):
                return self._create_function(is_aggregate=kind == "AGGREGATE")
        or_replace = self._word("OR", "REPLACE")
        for kind, parse in _CREATES.items():
            if self._word(kind):
                token = self._curr
                if_not_exists = self._word("IF", "NOT", "EXISTS")
                if or_replace and if_not_exists:
                    self._fail(
                        "OR REPLACE and IF NOT EXISTS do not go together", token, "keep one of the two"
                    )
                statement = parse(self)
                if or_replace or if_not_exists:
                    return st.CreateAgain(statement, "OR REPLACE" if or_replace else "IF NOT EXISTS")
                return statement
        if any(map(self._at, ("VIEW", "MATERIALIZED", "TEMP", "TEMPORARY", "GLOBAL"))):
            self._fail(
                "there are no views and no temporary relations",
                hint="CREATE QUERY name AS SELECT … keeps its answer up to date; WITH names a part of a query",
            )
        return self._unexpected("STREAM, TABLE, QUERY, FUNCTION or AGGREGATE")

    def _create_function(self, *, is_aggregate: bool) -> st.CreateFunction:
        name = self._name("a name for the function").name.lower()
        takes = self._schema(self._in_parentheses(lambda: self._list(self._column_definition)))
        self._expect("RETURNS")
        returns = self._type()
        self._expect("AS")
        path = self._text("an import path in quotes, such as 'module:function'")
        is_vectorized = not is_aggregate and self._word("VECTORIZED")
        takes_null = not is_aggregate and self._word("CALLED", "ON", "NULL", "INPUT")
        return st.CreateFunction(name, takes, returns, path, is_vectorized, takes_null, is_aggregate)

    def _create_query(self) -> st.CreateQuery:
        name = self._relation_name("a name for the query").name
        settings = self._query_settings()
        at, index = self._curr.start, self._index_by()
        self._expect("AS")
        return st.CreateQuery(name, self._select_query(), settings, index, at)

    def _index_by(self) -> tuple[str, ...]:
        """`INDEX BY (column, …)`, if it is there."""
        if not self._word("INDEX", "BY"):
            return ()
        columns: list[str] = []
        for column in self._in_parentheses(lambda: self._list(lambda: (self._curr, self._name("a column")))):
            if any(same(column[1].name, other) for other in columns):
                self._fail(f"{column[1].name} stands twice in INDEX BY", column[0])
            columns.append(column[1].name)
        return tuple(columns)

    def _create_stream(self) -> st.CreateStream | st.CreateDerivedStream:
        name = self._relation_name("a name for the stream").name
        if self._word("AS"):
            return st.CreateDerivedStream(name, self._select_query())
        columns = self._in_parentheses(lambda: self._list(self._column_definition))
        schema = self._schema(columns)
        timestamp: TimestampBy | None = None
        expires: TimestampBy | None = None
        slack: int | None = None
        ahead: int | None = None
        idle: Token | None = None
        retain: int | None = None
        source: Source | None = None
        while self._curr:
            token = self._curr
            if self._word("TIMESTAMP"):
                self._once(timestamp, token)
                timestamp = self._timestamp_by(schema)
            elif self._word("EXPIRES"):
                self._once(expires, token)
                expires = self._timestamp_by(schema)
            elif self._word("SLACK"):
                self._once(slack, token)
                slack = self._interval_us()
            elif self._word("AHEAD"):
                self._once(ahead, token)
                ahead = self._interval_us()
            elif self._word("IDLE", "ADVANCE"):
                self._once(idle, token)
                idle = token
            elif self._word("RETAIN"):
                self._once(retain, token)
                retain = self._interval_us()
            elif self._word("FROM"):
                self._once(source, token)
                source = self._source()
            elif self._at("WATERMARK"):
                self._refuse_watermark()
            else:
                self._unexpected(
                    "TIMESTAMP BY, EXPIRES BY, SLACK, AHEAD, IDLE ADVANCE, RETAIN, FROM or the end of the "
                    "statement"
                )
        if idle is not None and timestamp is None:
            self._fail(
                "IDLE ADVANCE is for streams with TIMESTAMP BY", idle, "times of arrival go on by themselves"
            )
        return st.CreateStream(
            Stream(
                name,
                schema,
                timestamp,
                slack or 0,
                retain,
                source or Source(),
                ahead_us=DEFAULT_AHEAD_US if ahead is None else ahead,
                idle_advance=idle is not None,
                expires=expires,
            )
        )

    def _once(self, already: object, token: Token) -> None:
        if already is not None:
            self._fail(f"{token.text.upper()} is given twice", token)

    def _timestamp_by(self, schema: Schema) -> TimestampBy:
        self._expect("BY")
        token = self._curr
        written = self._name("a column").name
        field = next((f for f in schema if same(f.name, written)), None)
        if field is None:
            self._fail(
                f"there is no column named {written!r}", token, did_you_mean(written, list(schema.names))
            )
        unit_token = self._curr
        for unit in ("SECONDS", "MILLISECONDS", "MICROSECONDS"):
            if self._word(unit):
                if not field.type.is_integer:
                    self._fail(
                        f"{unit} is for integers, and {field.name} is {with_article(field.type)}", unit_token
                    )
                return TimestampBy(field.name, unit)
        if self._curr and self._curr.text.upper() in NANOSECONDS:
            self._fail(
                "there are no NANOSECONDS: time is kept in microseconds",
                hint="give the stream a column in MICROSECONDS: the nanoseconds divided by 1000",
            )
        if field.type != TIMESTAMP:
            hint = "write SECONDS, MILLISECONDS or MICROSECONDS after it" if field.type.is_integer else None
            self._fail(f"{field.name} is {with_article(field.type)}, not a TIMESTAMP", token, hint)
        return TimestampBy(field.name, "TIMESTAMP")

    def _interval_us(self) -> int:
        self._expect("INTERVAL")
        number, unit = self._number_and_unit()
        return parse_duration(number, unit) or 0

    def _source(self) -> Source:
        token = self._curr
        kinds = get_args(SourceKind)
        kind = token.text.upper()
        if kind not in kinds or token.token_type != TokenType.VAR:
            self._unexpected(", ".join(kinds[:-1]) + f" or {kinds[-1]}")
        self._advance()
        location = None
        if self._curr.token_type == TokenType.STRING:
            location = self._curr.text
            self._advance()
        if kind == "FILES" and not location:
            self._unexpected("the path of the files in quotes")
        return Source(kind, location, self._options())  # type: ignore[arg-type]  # one of the kinds

    # The rest

    def _invoke(self) -> st.Statement:
        name = self._relation_name("the name of a query")
        where = self._where()
        tree = self._sorted(name)
        text = "" if where is None else f" {self._canonical(where)}"
        text += self._canonical(tree).removeprefix(quoted(name.name))
        return st.Invoke(name.name, text, None if tree is name else tree, self.sql, where)

    def _explain(self) -> st.Statement:
        form, analyze, plans = "TEXT", False, False
        if self._curr.token_type == TokenType.L_PAREN and self._next.text.upper() in _EXPLAIN_OPTIONS:
            self._advance()
            form, analyze, plans = self._explain_options()
        elif self._curr.text.upper() == "ANALYZE" and self._next and self._next.token_type in _BEGINS_TARGET:
            self._advance()
            analyze = True
        if self._at_name():
            return st.Explain(self._relation_name("a query").name, form, analyze, plans)  # type: ignore[arg-type]  # one of the two
        if analyze:
            self._unexpected("the name of a registered query, whose steps were measured")
        return st.Explain(self._select_query(), form, plans=plans)  # type: ignore[arg-type]  # one of the two

    def _explain_options(self) -> tuple[str, bool, bool]:
        form, analyze, plans = "TEXT", False, False
        while True:
            if not plans and self._word("ANALYZE"):
                analyze = True
            elif not analyze and self._word("PLANS"):
                plans = True
            elif self._word("FORMAT"):
                form = self._curr.text.upper()
                if form not in ("TEXT", "JSON"):
                    self._unexpected("TEXT or JSON")
                self._advance()
            else:
                self._unexpected("FORMAT, and ANALYZE or PLANS")
            if self._match(TokenType.R_PAREN):
                return form, analyze, plans
            if not self._match(TokenType.COMMA):
                self._unexpected(", or )")

    def _show(self) -> st.Statement:
        for kind in (
            "QUERIES",
            "STREAMS",
            "TABLES",
            "FUNCTIONS",
            "SETTINGS",
            "STATISTICS",
            "SYNOPSES",
            "SCHEDULE",
        ):
            if self._word(kind):
                return st.Show(kind, self._text("a pattern in quotes") if self._word("LIKE") else None)
        if self._word("COLUMNS"):
            if not self._word("FROM") and not self._word("IN"):
                self._unexpected("FROM")
            return self._describe()
        if self._word("CREATE"):
            kind_of = self._kind()
            return st.ShowCreate(kind_of, self._relation_name("a name").name)
        if self._word("PLANS"):
            return st.ShowPlans(self._relation_name("the name of a query").name)
        if self._at("VIEWS"):
            self._fail("there are no views", hint="SHOW QUERIES lists what is kept up to date")
        if self._at("DATABASES") or self._at("SCHEMAS"):
            self._fail(
                "a directory has one database", hint="SHOW STREAMS, SHOW TABLES and SHOW QUERIES list it"
            )
        return self._unexpected(
            "QUERIES, STREAMS, TABLES, FUNCTIONS, SETTINGS, STATISTICS, SYNOPSES, SCHEDULE, COLUMNS FROM, CREATE "
            "or PLANS"
        )

    def _describe(self) -> st.Statement:
        """DESCRIBE, and what Spark has between it and the name."""
        for word in ("QUERY", "STREAM", "TABLE", "EXTENDED", "FORMATTED"):
            if (
                self._at(word)
                and self._next
                and self._next.token_type in (TokenType.VAR, TokenType.IDENTIFIER)
            ):
                self._advance()
        return st.Describe(self._relation_name("the name of a stream, a table or a query").name)

    def _comment(self) -> st.Statement:
        self._expect("ON")
        if self._word("COLUMN"):
            name = self._relation_name("the name of a stream, a table or a query").name
            if not self._match(TokenType.DOT):
                self._unexpected("a dot and a column", "write COMMENT ON COLUMN name.column IS '…'")
            column = self._name("a column").name
            return st.CommentOn("COLUMN", name, column, self._comment_text())
        kind = self._kind("COLUMN")
        return st.CommentOn(kind, self._relation_name("a name").name, None, self._comment_text())

    def _comment_text(self) -> str | None:
        self._expect("IS")
        return None if self._match(TokenType.NULL) else self._text("a text in quotes, or NULL")

    def _kind(self, *others: str) -> st.Kind:
        """What a name is that follows. `others` are what an error lists beside."""
        for kind in _KINDS:
            if self._word(kind):
                return kind
        expected = [*_KINDS, *others]
        return self._unexpected(f"{', '.join(expected[:-1])} or {expected[-1]}")

    def _text(self, what: str) -> str:
        token = self._curr
        if token.token_type != TokenType.STRING:
            self._unexpected(what)
        self._advance()
        return str(token.text)

    def _drop(self) -> st.Statement:
        if self._word("FUNCTION") or self._word("AGGREGATE"):
            if_exists = self._word("IF", "EXISTS")
            return st.DropFunction(self._name("the name of a function").name.lower(), if_exists)
        kind = self._kind()
        if_exists = self._word("IF", "EXISTS")
        return st.Drop(kind, self._relation_name("a name").name, if_exists)

    def _alter(self) -> st.Statement:
        if self._word("STREAM"):
            return self._alter_stream()
        if self._word("TABLE"):
            return self._rename("TABLE", self._relation_name("the name of a table").name)
        if not self._word("QUERY"):
            self._unexpected("QUERY, STREAM or TABLE")
        name = self._relation_name("the name of a query").name
        for action in ("RESUME", "REPLAN"):
            if self._word(action):
                return st.AlterQuery(name, action)
        if self._word("AS"):
            return st.AlterQueryAs(name, self._select_query())
        if self._at("RENAME"):
            return self._rename("QUERY", name)
        if not self._word("SET"):
            self._unexpected("AS, RENAME TO, RESUME, REPLAN or SET")
        token = self._curr
        setting = self._option_name("a setting")
        if not same(setting, "shards"):
            self._fail(
                f"{setting!r} cannot be changed while a query is registered",
                token,
                "only shards can; drop the query and register it again",
            )
        if not self._match(TokenType.EQ) and not self._word("TO"):
            self._unexpected("=")
        return st.SetShards(name, self._option_value())

    def _rename(self, kind: st.Kind, name: str) -> st.Statement:
        if kind == "TABLE" and (self._at("ADD") or self._at("DROP") or self._at("ALTER")):
            hint = "create another one, and INSERT INTO it SELECT … FROM this one"
            self._fail("the columns of a table cannot be changed", hint=hint)
        if not self._word("RENAME"):
            self._unexpected("RENAME TO")
        if self._at("COLUMN"):
            self._fail(
                "a column cannot be renamed: rows that are kept have it under its name",
                hint="CREATE STREAM … AS SELECT a AS b FROM … gives it another name"
                if kind == "STREAM"
                else "give it another name where it is read: SELECT a AS b",
            )
        self._expect("TO")
        return st.Rename(kind, name, self._relation_name("another name").name)

    def _alter_stream(self) -> st.Statement:
        name = self._relation_name("the name of a stream").name
        if self._word("ADD"):
            self._word("COLUMN")
            (column,) = self._schema([self._column_definition()])
            return st.AddColumn(name, column)
        if self._at("RENAME"):
            return self._rename("STREAM", name)
        if not self._word("SET"):
            self._unexpected("RENAME TO, SET or ADD COLUMN")
        if self._curr.token_type == TokenType.L_PAREN:
            clauses = self._in_parentheses(lambda: self._list(self._stream_clause))
        else:
            clauses = [self._stream_clause()]
        options: dict[str, int | bool | None] = {}
        for token, clause, value in clauses:
            if clause in options:
                self._fail(f"{clause} is given twice", token)
            options[clause] = value
        return st.AlterStream(name, tuple(options.items()))

    def _stream_clause(self) -> tuple[Token, str, int | bool | None]:
        token = self._curr
        clause = self._name("an option").name.lower()
        if clause not in _STREAM_CLAUSES:
            self._fail(f"{clause!r} of a stream cannot be changed", token, _CHANGEABLE)
        if not self._match(TokenType.EQ) and not self._word("TO"):
            self._unexpected("=")
        if clause == "idle_advance":
            if self._curr.token_type not in (TokenType.TRUE, TokenType.FALSE):
                self._unexpected("TRUE or FALSE")
            self._advance()
            return token, clause, self._prev.token_type == TokenType.TRUE
        if clause == "retain" and self._match(TokenType.NULL):
            return token, clause, None
        if not self._at("INTERVAL"):
            self._unexpected("INTERVAL and a length, such as INTERVAL 10 SECONDS")
        return token, clause, self._interval_us()

    def _set(self) -> st.Statement:
        if self._at("TIME", "ZONE") or self._at("TIMEZONE") or self._at("TIME_ZONE"):
            zone = next(
                (t.text for t in self._tokens[self._index :] if t.token_type == TokenType.STRING), "zone"
            )
            self._fail(
                "there is no time zone to set: instants and the parts of dates are in UTC",
                hint=f"where a query needs the clocks of a zone, write ts AT TIME ZONE '{zone}'",
            )
        name = self._option_name("a setting")
        if not self._match(TokenType.EQ) and not self._word("TO"):
            self._unexpected("=")
        return st.SetSetting(name, self._option_value())


_CREATES: dict[
    str,
    Callable[[StatementParser], st.CreateStream | st.CreateDerivedStream | st.CreateTable | st.CreateQuery],
] = {
    "STREAM": StatementParser._create_stream,
    "TABLE": StatementParser._create_table,
    "QUERY": StatementParser._create_query,
}
_STATEMENTS: dict[str, Callable[[StatementParser], st.Statement]] = {
    "CREATE": StatementParser._create,
    "INSERT": StatementParser._insert,
    "UPDATE": StatementParser._update,
    "DELETE": StatementParser._delete,
    "TRUNCATE": StatementParser._truncate,
    "COPY": StatementParser._copy,
    "INVOKE": StatementParser._invoke,
    "EXPLAIN": StatementParser._explain,
    "SHOW": StatementParser._show,
    "DESCRIBE": StatementParser._describe,
    "DESC": StatementParser._describe,
    "COMMENT": StatementParser._comment,
    "DROP": StatementParser._drop,
    "ALTER": StatementParser._alter,
    "SET": StatementParser._set,
}
