"""Tables: their definitions, and the statements that change their rows."""

from __future__ import annotations

from sqlglot import Token, TokenType, exp

from panes.language import statements as st
from panes.language.binder.constants import instant_us
from panes.language.names import quoted, same
from panes.language.parser.parse_definitions import DefinitionParser
from panes.language.parser.syntax import AtInstant, Default, OnConflict
from panes.language.positions import did_you_mean
from panes.plan.schema import Schema
from panes.plan.types import Type


class TableParser(DefinitionParser):
    def _create_table(self) -> st.CreateTable:
        name = self._relation_name("a name for the table").name
        keys: list[tuple[Token, str]] = []
        columns: list[tuple[Token, str, Type]] = []
        not_null: list[str] = []
        defaults: dict[str, st.ColumnDefault] = {}

        def part() -> None:
            token = self._curr
            if self._word("PRIMARY", "KEY"):
                if keys:
                    self._fail("there are two primary keys", token)
                keys.extend(self._in_parentheses(lambda: self._list(self._key_column)))
                return
            columns.append(self._column_definition())
            column = columns[-1][1]
            while True:
                if self._word("PRIMARY", "KEY"):
                    if keys:
                        self._fail("there are two primary keys", token, "write PRIMARY KEY (a, b)")
                    keys.append((token, column))
                elif self._word("NOT", "NULL"):
                    not_null.append(column)
                elif self._word("DEFAULT"):
                    if column in defaults:
                        self._fail(f"{column} has two defaults", token)
                    defaults[column] = self._default(column)
                else:
                    break

        self._in_parentheses(lambda: self._list(part))
        if not columns:
            self._fail("a table needs at least one column")
        schema = self._schema(columns)
        retroactive = not self._word("NON", "RETROACTIVE")
        if retroactive:
            self._word("RETROACTIVE")
        if self._at("USING") or self._at("STORED") or self._at("LOCATION"):
            self._fail(
                f"a table is kept by the database: it has no {self._curr.text.upper()}",
                hint=f"leave it out; COPY {quoted(name)} FROM 'file', or db.load, brings the rows",
            )
        primary_key = self._primary_key(keys, schema)
        also_not_null = tuple(f.name for f in schema if f.name in not_null and f.name not in primary_key)
        return st.CreateTable(
            name, schema, primary_key, retroactive, also_not_null, tuple(defaults.values()), text=self.sql
        )

    def _default(self, column: str) -> st.ColumnDefault:
        # An operand of a comparison: `DEFAULT 5 NOT NULL` goes on with the next constraint.
        tree = self._parse_bitwise()
        assert isinstance(tree, exp.Expression)
        return st.ColumnDefault(column, self._canonical(tree), tree)

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
        table = self._relation_name("a table or a stream")
        columns = None
        if self._curr.token_type == TokenType.L_PAREN and not self._at_query_in_parentheses():
            columns = self._in_parentheses(lambda: self._list(lambda: self._name("a column")))
        source = self._inserted()
        tree = exp.Insert(
            this=exp.Schema(this=table, expressions=columns) if columns else table,
            expression=source,
            conflict=self._on_conflict(),
        )
        if self._at("RETURNING"):
            self._fail("RETURNING is not supported", hint="db.sql gives the number of rows")
        if isinstance(source, exp.Values):
            self._check_end(tree, "a comma, ON CONFLICT, AT TIMESTAMP or the end of the statement")
        elif self._at("AT"):
            hint = "leave it out: the rows are those of now"
            self._fail("AT TIMESTAMP is for VALUES", hint=hint)
        return self._change(st.InsertInto, table, tree)

    def _inserted(self) -> exp.Expression:
        """VALUES, or a query."""
        if self._word("VALUES"):
            rows = self._list(lambda: exp.Tuple(expressions=self._in_parentheses(self._values)))
            return exp.Values(expressions=rows)
        if self._at("SELECT") or self._at("WITH") or self._at_query_in_parentheses() or self._at_output():
            return self._query()
        return self._unexpected("VALUES or a query")

    def _values(self) -> list[exp.Expression]:
        return self._list(self._inserted_value)

    def _inserted_value(self) -> exp.Expression:
        token = self._curr
        if self._next.token_type in (TokenType.COMMA, TokenType.R_PAREN) and self._word("DEFAULT"):
            return self._placed(Default(), token)
        return self._condition()

    def _on_conflict(self) -> OnConflict | None:
        token = self._curr
        if not self._word("ON"):
            return None
        self._expect("CONFLICT")
        keys = None
        if self._curr.token_type == TokenType.L_PAREN:
            keys = self._in_parentheses(lambda: self._list(lambda: self._name("a column")))
        self._expect("DO")
        if self._word("NOTHING"):
            return self._placed(OnConflict(keys=keys), token)
        if not self._word("UPDATE"):
            self._unexpected("NOTHING or UPDATE SET")
        self._expect("SET")
        assignments = self._list(self._assignment)
        return self._placed(OnConflict(keys=keys, expressions=assignments, where=self._where()), token)

    def _update(self) -> st.Statement:
        table = self._relation_name("a table")
        self._expect("SET")
        tree = exp.Update(this=table, expressions=self._list(self._assignment), where=self._where())
        self._check_end(tree, "a comma, WHERE, AT TIMESTAMP or the end of the statement")
        return self._change(st.UpdateTable, table, tree)

    def _assignment(self) -> exp.Expression:
        token = self._curr
        column = exp.Column(this=self._name("a column"))
        if not self._match(TokenType.EQ):
            self._unexpected("=")
        return self._placed(exp.EQ(this=self._placed(column, token), expression=self._condition()), token)

    def _delete(self) -> st.Statement:
        self._expect("FROM")
        return self._delete_from()

    def _delete_from(self) -> st.Statement:
        table = self._relation_name("a table")
        tree = exp.Delete(this=table, where=self._where())
        self._check_end(tree, "WHERE, AT TIMESTAMP or the end of the statement")
        return self._change(st.DeleteFrom, table, tree)

    def _truncate(self) -> st.Statement:
        """`TRUNCATE [TABLE] t`, short for `DELETE FROM t`."""
        self._word("TABLE")
        return self._delete_from()

    def _where(self) -> exp.Where | None:
        return exp.Where(this=self._condition()) if self._word("WHERE") else None

    def _check_end(self, tree: exp.Expression, expected: str) -> None:
        """Refuses what follows the clauses that a statement has, and says which it may have."""
        if self._curr and not self._at("AT"):
            has_where = isinstance(tree, (exp.Update, exp.Delete)) and tree.args.get("where")
            self._unexpected("AT TIMESTAMP or the end of the statement" if has_where else expected)

    def _change(
        self, kind: type[st.TableStatement], table: exp.Identifier, tree: exp.Expression
    ) -> st.TableStatement:
        """The statement, with the instant at which it takes effect, if one is given."""
        at = None
        token = self._curr
        if self._word("AT"):
            self._expect("TIMESTAMP")
            written = self._curr
            at = instant_us(written.text) if written and written.token_type == TokenType.STRING else None
            if at is None:
                self._fail("expected an instant such as '2026-01-31 12:00:00'")
            self._advance()
            tree.set("at", self._placed(AtInstant(this=exp.Literal.string(written.text)), token))
        return kind(table.name, self._canonical(tree), tree, self.sql, at)

    def _copy(self) -> st.Statement:
        table = self._relation_name("a table")
        if not self._word("FROM"):
            self._unexpected("FROM", "COPY brings the rows of a file into a table: COPY t FROM 'file'")
        file = self._curr
        if file.token_type != TokenType.STRING:
            self._unexpected("the path of a file in quotes")
        self._advance()
        options = tuple(self._options().items())
        tree = exp.Copy(this=table, files=[self._placed(exp.Literal.string(file.text), file)])
        return st.CopyFrom(table.name, file.text, options, tree, self.sql)
