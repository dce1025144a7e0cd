"""Statements: everything that is not a query."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from math import isfinite
from typing import get_args

from sqlglot import Token, TokenType, exp

from panes.language import statements as st
from panes.language.binder.constants import is_whole, whole
from panes.language.names import RESERVED, same
from panes.language.parser.parse_durations import parse_duration
from panes.language.parser.parse_queries import QueryParser
from panes.language.parser.syntax import StatementNode
from panes.language.positions import did_you_mean, with_article
from panes.plan.schema import Schema
from panes.plan.stream import DEFAULT_AHEAD_US, OptionValue, Source, SourceKind, Stream, TimestampBy
from panes.plan.types import BIGINT, BOOLEAN, COLUMN_TYPES, DOUBLE, INT, STRING, TIMESTAMP, Type

TYPES = {str(type_): type_ for type_ in COLUMN_TYPES} | {
    "INTEGER": INT,
    "LONG": BIGINT,
    "VARCHAR": STRING,
    "TEXT": STRING,
    "BOOL": BOOLEAN,
}
_NEAREST_TYPE = {
    "FLOAT": DOUBLE, "REAL": DOUBLE, "DECIMAL": DOUBLE, "NUMERIC": DOUBLE, "SMALLINT": INT, "TINYINT": INT,
    "SHORT": INT, "BYTE": INT, "CHAR": STRING, "DATETIME": TIMESTAMP, "TIMESTAMPTZ": TIMESTAMP,
}  # fmt: skip


_BEGINS_TARGET = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.SELECT, TokenType.L_PAREN)
"""What follows EXPLAIN ANALYZE, where ANALYZE is not the name of a query."""


class StatementParser(QueryParser):
    def _parse_statement(self) -> exp.Expr | None:
        token = self._curr
        if not token or self._match(TokenType.SEMICOLON):  # sqlglot keeps a semicolon that has a comment
            return None
        statement = self._statement()
        if self._curr:
            self._unexpected("the end of the statement")
        return self._placed(StatementNode(this=statement), token)

    def _statement(self) -> st.Statement:
        word = self._curr.text.upper() if self._curr.token_type == TokenType.VAR else ""
        is_query = word in ("SELECT", "WITH") or self._at_output()
        if is_query or self._curr.token_type == TokenType.L_PAREN:
            return self._select_query()
        if word not in _STATEMENTS:
            hint = did_you_mean(self._curr.text, [*_STATEMENTS, "SELECT"]) if word else None
            self._unexpected("a statement", hint)
        self._advance()
        return _STATEMENTS[word](self)

    def _select_query(self) -> st.SelectQuery:
        query = self._query()
        return st.SelectQuery(self._canonical(query), query, self.sql)

    def _canonical(self, tree: exp.Expression) -> str:
        # The generator may change the tree only where a dialect rewrites it, which ours does not.
        return tree.sql(dialect=self.dialect, comments=False, copy=False)

    # CREATE

    def _create(self) -> st.Statement:
        if self._word("STREAM"):
            return self._create_stream()
        if self._word("TABLE"):
            return self._create_table()
        if self._word("QUERY"):
            name = self._relation_name("a name for the query").name
            self._expect("AS")
            return st.CreateQuery(name, self._select_query())
        if self._at("VIEW") or self._at("MATERIALIZED"):
            self._fail("there are no views", hint="CREATE QUERY name AS SELECT … keeps its answer up to date")
        return self._unexpected("STREAM, TABLE or QUERY")

    def _create_stream(self) -> st.Statement:
        name = self._relation_name("a name for the stream").name
        if self._word("AS"):
            return st.CreateDerivedStream(name, self._select_query())
        columns = self._in_parentheses(lambda: self._list(self._column_definition))
        schema = self._schema(columns)
        timestamp: TimestampBy | None = None
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
            else:
                self._unexpected(
                    "TIMESTAMP BY, SLACK, AHEAD, IDLE ADVANCE, RETAIN, FROM or the end of the statement"
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
            )
        )

    def _once(self, already: object, token: Token) -> None:
        if already is not None:
            self._fail(f"{token.text.upper()} is given twice", token)

    def _column_definition(self) -> tuple[Token, str, Type]:
        token = self._curr
        name = self._name("a column name").name
        return token, name, self._type()

    def _type(self) -> Type:
        token = self._curr
        if not self._at_name():
            self._unexpected("a type", f"types are {', '.join(map(str, COLUMN_TYPES))}")
        self._advance()
        word = token.text.upper()
        if word in TYPES:
            if self._curr.token_type == TokenType.L_PAREN:
                self._fail(f"{word} takes no length", hint=f"write {TYPES[word]}")
            return TYPES[word]
        nearest = _NEAREST_TYPE.get(word)
        hint = f"use {nearest}" if nearest else f"types are {', '.join(map(str, COLUMN_TYPES))}"
        return self._fail(f"there is no type {word}", token, hint)

    def _schema(self, columns: list[tuple[Token, str, Type]]) -> Schema:
        for place, (token, name, _) in enumerate(columns):
            if any(same(name, earlier) for _, earlier, _ in columns[:place]):
                self._fail(f"two columns are named {name!r}", token)
            if name.startswith("_"):
                self._fail("column names do not begin with an underscore", token)
        return Schema.of((name, type_) for _, name, type_ in columns)

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
        options: dict[str, OptionValue] = {}
        if self._word("WITH"):
            for option, name, value in self._in_parentheses(lambda: self._list(self._option)):
                if name in options:
                    self._fail(f"{name} is given twice", option)
                options[name] = value
        return Source(kind, location, options)  # type: ignore[arg-type]  # one of the kinds

    def _option(self) -> tuple[Token, str, OptionValue]:
        token = self._curr
        if token.token_type == TokenType.IDENTIFIER:  # options of others may have dots: "kafka.group.id"
            self._advance()
            name = token.text
        else:
            name = self._name("an option").name.lower()
        if not self._match(TokenType.EQ):
            self._unexpected("=")
        return token, name, self._option_value()

    def _option_value(self) -> OptionValue:
        token = self._curr
        if token.token_type == TokenType.STRING:
            self._advance()
            return token.text
        if token.token_type in (TokenType.TRUE, TokenType.FALSE):
            self._advance()
            return token.token_type == TokenType.TRUE
        negative = self._match(TokenType.DASH)
        number = self._curr
        if number.token_type == TokenType.NUMBER:
            self._advance()
            value = self._number(number)
            return -value if negative else value
        if not negative and token.token_type == TokenType.VAR and token.text.upper() not in RESERVED:
            self._advance()
            return token.text.lower()
        return self._unexpected("a number, a text in quotes, TRUE or FALSE")

    def _number(self, token: Token) -> int | float:
        number: int | float | None = whole(token.text)
        if number is None and not is_whole(token.text):
            with suppress(ValueError):
                number = float(token.text)
        if number is None or not isfinite(number):
            self._fail(f"{token.text} is not a number that fits into 64 bits", token)
        return number

    def _create_table(self) -> st.Statement:
        name = self._relation_name("a name for the table").name
        keys: list[tuple[Token, str]] = []
        columns: list[tuple[Token, str, Type]] = []

        def part() -> None:
            token = self._curr
            if self._word("PRIMARY", "KEY"):
                if keys:
                    self._fail("there are two primary keys", token)
                keys.extend(self._in_parentheses(lambda: self._list(self._key_column)))
                return
            columns.append(self._column_definition())
            if self._word("PRIMARY", "KEY"):
                if keys:
                    self._fail("there are two primary keys", token, "write PRIMARY KEY (a, b)")
                keys.append((token, columns[-1][1]))

        self._in_parentheses(lambda: self._list(part))
        if not columns:
            self._fail("a table needs at least one column")
        schema = self._schema(columns)
        retroactive = not self._word("NON", "RETROACTIVE")
        if retroactive:
            self._word("RETROACTIVE")
        return st.CreateTable(name, schema, self._primary_key(keys, schema), retroactive)

    def _key_column(self) -> tuple[Token, str]:
        token = self._curr
        return token, self._name("a column").name

    def _primary_key(self, keys: list[tuple[Token, str]], schema: Schema) -> tuple[str, ...]:
        found: list[str] = []
        for token, written in keys:
            field = next((f for f in schema if same(f.name, written)), None)
            if field is None:
                hint = did_you_mean(written, list(schema.names))
                self._fail(f"there is no column named {written!r}", token, hint)
            if field.name in found:
                self._fail(f"{field.name} is in the key twice", token)
            found.append(field.name)
        return tuple(found)

    # Changes of tables

    def _insert(self) -> st.Statement:
        self._expect("INTO")
        table = self._relation_name("a table")
        columns = None
        if self._curr.token_type == TokenType.L_PAREN:
            columns = self._in_parentheses(lambda: self._list(lambda: self._name("a column")))
        if self._at("SELECT"):
            self._fail("INSERT takes VALUES, not a query")
        self._expect("VALUES")
        rows = self._list(lambda: exp.Tuple(expressions=self._in_parentheses(self._values)))
        tree = exp.Insert(
            this=exp.Schema(this=table, expressions=columns) if columns else table,
            expression=exp.Values(expressions=rows),
        )
        return st.InsertInto(table.name, self._canonical(tree), tree, self.sql)

    def _values(self) -> list[exp.Expression]:
        return self._list(self._condition)

    def _update(self) -> st.Statement:
        table = self._relation_name("a table")
        self._expect("SET")
        assignments = self._list(self._assignment)
        where = exp.Where(this=self._condition()) if self._word("WHERE") else None
        tree = exp.Update(this=table, expressions=assignments, where=where)
        return st.UpdateTable(table.name, self._canonical(tree), tree, self.sql)

    def _assignment(self) -> exp.Expression:
        token = self._curr
        column = exp.Column(this=self._name("a column"))
        if not self._match(TokenType.EQ):
            self._unexpected("=")
        return self._placed(exp.EQ(this=self._placed(column, token), expression=self._condition()), token)

    def _delete(self) -> st.Statement:
        self._expect("FROM")
        table = self._relation_name("a table")
        where = exp.Where(this=self._condition()) if self._word("WHERE") else None
        tree = exp.Delete(this=table, where=where)
        return st.DeleteFrom(table.name, self._canonical(tree), tree, self.sql)

    # The rest

    def _invoke(self) -> st.Statement:
        return st.Invoke(self._relation_name("the name of a query").name)

    def _explain(self) -> st.Statement:
        form, analyze = "TEXT", False
        if self._curr.token_type == TokenType.L_PAREN and self._next.text.upper() in ("FORMAT", "ANALYZE"):
            self._advance()
            form, analyze = self._explain_options()
        elif self._curr.text.upper() == "ANALYZE" and self._next and self._next.token_type in _BEGINS_TARGET:
            self._advance()
            analyze = True
        if self._at_name():
            return st.Explain(self._relation_name("a query").name, form, analyze)  # type: ignore[arg-type]  # one of the two
        if analyze:
            self._unexpected("the name of a registered query, whose steps were measured")
        return st.Explain(self._select_query(), form)  # type: ignore[arg-type]  # one of the two

    def _explain_options(self) -> tuple[str, bool]:
        form, analyze = "TEXT", False
        while True:
            if self._word("ANALYZE"):
                analyze = True
            elif self._word("FORMAT"):
                form = self._curr.text.upper()
                if form not in ("TEXT", "JSON"):
                    self._unexpected("TEXT or JSON")
                self._advance()
            else:
                self._unexpected("FORMAT or ANALYZE")
            if self._match(TokenType.R_PAREN):
                return form, analyze
            if not self._match(TokenType.COMMA):
                self._unexpected(", or )")

    def _show(self) -> st.Statement:
        for kind in ("QUERIES", "STREAMS", "TABLES", "SETTINGS"):
            if self._word(kind):
                return st.Show(kind)
        return self._unexpected("QUERIES, STREAMS, TABLES or SETTINGS")

    def _drop(self) -> st.Statement:
        for kind in ("QUERY", "STREAM", "TABLE"):
            if self._word(kind):
                if_exists = self._word("IF", "EXISTS")
                return st.Drop(kind, self._relation_name("a name").name, if_exists)
        return self._unexpected("QUERY, STREAM or TABLE")

    def _alter(self) -> st.Statement:
        self._expect("QUERY")
        name = self._name("the name of a query").name
        if self._word("RESUME"):
            return st.AlterQuery(name, "RESUME")
        if not self._word("SET"):
            self._unexpected("RESUME or SET")
        token = self._curr
        setting = self._name("a setting").name
        if not same(setting, "shards"):
            self._fail(
                f"{setting!r} cannot be changed while a query is registered",
                token,
                "only shards can; drop the query and register it again",
            )
        if not self._match(TokenType.EQ) and not self._word("TO"):
            self._unexpected("=")
        return st.SetShards(name, self._option_value())

    def _set(self) -> st.Statement:
        token = self._curr
        name = self._name("a setting").name
        if not self._match(TokenType.EQ) and not self._word("TO"):
            self._unexpected("=")
        return st.SetSetting(
            name.lower() if token.token_type == TokenType.VAR else name, self._option_value()
        )


_STATEMENTS: dict[str, Callable[[StatementParser], st.Statement]] = {
    "CREATE": StatementParser._create,
    "INSERT": StatementParser._insert,
    "UPDATE": StatementParser._update,
    "DELETE": StatementParser._delete,
    "INVOKE": StatementParser._invoke,
    "EXPLAIN": StatementParser._explain,
    "SHOW": StatementParser._show,
    "DROP": StatementParser._drop,
    "ALTER": StatementParser._alter,
    "SET": StatementParser._set,
}
