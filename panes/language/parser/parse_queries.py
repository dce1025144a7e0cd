"""Queries: SELECT blocks, FROM with windows and joins, set operations and output operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import Token, TokenType, exp

from panes.language.parser.foreign_forms import unnest_of_view
from panes.language.parser.parse_with import WithParser
from panes.language.parser.syntax import (
    OUTPUTS,
    FromItem,
    Grouping,
    Nested,
    Output,
    SelectBlock,
    SetOperation,
    ValuesBlock,
)

CLAUSES = (
    "WHERE", "GROUP", "HAVING", "QUALIFY", "JOIN", "INNER", "LEFT", "RIGHT", "FULL", "UNION", "INTERSECT",
    "EXCEPT", "BEGIN",
)  # fmt: skip
"""The words with which something may go on after FROM."""


class QueryParser(WithParser):
    def _parse_select(self, *_: Any, **__: Any) -> exp.Expr | None:
        return self._with(self._set_operations) if self._at("WITH") else self._set_operations()

    def _set_operations(self) -> exp.Expression:
        """INTERSECT binds tighter than UNION and EXCEPT, which go from left to right."""
        this = self._intersections()
        while self._at("UNION") or self._at("EXCEPT"):
            this = self._set_operation(this, self._intersections)
        return self._sorted(this)

    def _intersections(self) -> exp.Expression:
        this = self._query_operand()
        while self._at("INTERSECT"):
            this = self._set_operation(this, self._query_operand)
        return this

    def _set_operation(
        self, left: exp.Expression, parse_right: Callable[[], exp.Expression]
    ) -> exp.Expression:
        token = self._curr
        self._advance()
        keep_all = self._word("ALL")
        if not keep_all:
            self._word("DISTINCT")
        kind = token.text.upper()
        by = self._columns_of_except(kind, keep_all=keep_all)
        operation = SetOperation(this=left, expression=parse_right(), kind=kind, all=keep_all, by=by)
        return self._placed(operation, token)

    def _columns_of_except(self, kind: str, *, keep_all: bool) -> list[exp.Identifier]:
        """The columns of EXCEPT ALL BY (…); none where there is no BY."""
        if not self._at("BY"):
            return []
        if self._next is None or self._next.token_type != TokenType.L_PAREN:
            self._fail("BY NAME is not supported", hint="put the columns in the same order on both sides")
        if kind != "EXCEPT" or not keep_all:
            self._fail("only EXCEPT ALL can be by some columns", hint="write EXCEPT ALL BY (column, …)")
        self._advance()
        return self._column_names()

    def _query_operand(self) -> exp.Expression:
        token = self._curr
        if self._match(TokenType.L_PAREN, advance=False):
            return self._placed(Nested(this=self._in_parentheses(self._query)), token)
        if self._at_output():
            return self._output_around_query()
        if self._at("WITH"):
            self._fail("WITH stands before the whole query", hint="or put this part in parentheses: (WITH …)")
        if self._word("VALUES"):
            rows = self._list(self._row_of_values)
            return self._placed(ValuesBlock(expressions=rows), token)
        return self._select_block()

    def _row_of_values(self) -> exp.Expression:
        token = self._curr
        return self._placed(
            exp.Tuple(expressions=self._in_parentheses(lambda: self._list(self._condition))), token
        )

    # Output operators.

    def _output_around_query(self) -> exp.Expression:
        """`Istream(SELECT …)`."""
        token, kind, restore = self._output_head()
        query = self._in_parentheses(self._query)
        return self._output(token, kind, restore, query)

    def _output_head(self) -> tuple[Token, str, bool]:
        token = self._curr
        kind = OUTPUTS[token.text.upper()]
        self._advance()
        restore = self._curr
        if self._word("RESTORE") or (self._match(TokenType.DASH) and self._expect("RESTORE")):
            if kind not in ("Istream", "Rstream"):
                self._fail(
                    f"{kind} RESTORE does not exist",
                    restore,
                    "only Istream and Rstream can RESTORE what was missed",
                )
            return token, kind, True
        return token, kind, False

    def _output(self, token: Token, kind: str, restore: bool, query: exp.Expression) -> exp.Expression:
        window = self._bracketed_window() if kind == "Wstream" else None
        return self._placed(Output(this=query, kind=kind, restore=restore, window=window), token)

    def _select_block(self) -> exp.Expression:
        start = self._expect("SELECT")
        head = None
        if self._at_output():
            head = self._output_head()
            distinct, projections = self._in_parentheses(self._projections)
            window = self._bracketed_window() if head[1] == "Wstream" else None
            if self._curr.token_type == TokenType.COMMA:
                self._fail(f"{head[1]} stands around the whole SELECT list", head[0])
        else:
            distinct, projections = self._projections()
            window = None
        block = self._placed(self._clauses(distinct, projections), start)
        if head is None:
            return block
        token, kind, restore = head
        return self._placed(Output(this=block, kind=kind, restore=restore, window=window), token)

    # SELECT and its clauses.

    def _projections(self) -> tuple[bool | list[exp.Expression], list[exp.Expression]]:
        """DISTINCT, or what stands after DISTINCT ON, and the SELECT list."""
        distinct: bool | list[exp.Expression] = self._word("DISTINCT")
        if not distinct:
            self._word("ALL")
        elif self._word("ON"):
            distinct = self._in_parentheses(lambda: self._list(self._condition))
        if self._at("TOP") and self._next.token_type == TokenType.NUMBER:
            self._fail("TOP is not supported", hint="nearest: LIMIT at the end of the query")
        return distinct, self._list(self._projection)

    def _projection(self) -> exp.Expression:
        expression = self._condition()
        if expression.is_star:
            return self._changed_star(expression)
        if self._word("AS") or self._at_name():
            token = self._curr
            alias = self._name("a name for the column")
            return self._placed(exp.Alias(this=expression, alias=alias), token)
        return expression

    def _changed_star(self, item: exp.Expression) -> exp.Expression:
        """`*` or `t.*` with `EXCEPT (a, b)` (or EXCLUDE) and `REPLACE (x AS a)`, if these follow."""
        star = item if isinstance(item, exp.Star) else item.this
        if (self._at("EXCEPT") or self._at("EXCLUDE")) and self._next.token_type == TokenType.L_PAREN:
            self._advance()
            star.set("except_", self._in_parentheses(lambda: self._list(lambda: self._name("a column"))))
        if self._at("REPLACE") and self._next.token_type == TokenType.L_PAREN:
            self._advance()
            star.set("replace", self._in_parentheses(lambda: self._list(self._replacement)))
        return item

    def _replacement(self) -> exp.Expression:
        token, value = self._curr, self._condition()
        self._expect("AS")
        return self._placed(exp.Alias(this=value, alias=self._name("a column")), token)

    def _clauses(
        self, distinct: bool | list[exp.Expression], projections: list[exp.Expression]
    ) -> SelectBlock:
        items = self._from_items() if self._word("FROM") else []
        if not items and not self._may_end_without_from():
            self._unexpected_instead_of("FROM", "FROM")
        where = self._condition() if self._word("WHERE") else None
        begin = self._curr
        window = self._begin_end(begin) if self._word("BEGIN") else None
        group = self._group_by() if self._at("GROUP") else None
        having = self._condition() if self._word("HAVING") else None
        windows = self._named_windows() if self._word("WINDOW") else None
        qualify = self._condition() if self._word("QUALIFY") else None
        if windows is None and self._word("WINDOW"):
            windows = self._named_windows()
        late = self._curr
        if self._word("BEGIN"):
            if window is not None:
                self._fail("there are two BEGIN … END clauses", late)
            window = self._begin_end(late)
        return SelectBlock(
            distinct=distinct is True, distinct_on=distinct if isinstance(distinct, list) else None,
            expressions=projections, from_=items, where=where, window=window, group=group, having=having,
            windows=windows, qualify=qualify,
        )  # fmt: skip

    def _may_end_without_from(self) -> bool:
        """Whether a SELECT list may be all that a query reads."""
        at_end = not self._curr or self._curr.token_type in (TokenType.R_PAREN, TokenType.SEMICOLON)
        following = ("WHERE", "QUALIFY", "UNION", "INTERSECT", "EXCEPT", "ORDER", "LIMIT", "OFFSET", "FETCH")
        return at_end or any(map(self._at, following))

    def _group_by(self) -> list[exp.Expression]:
        self._expect("GROUP", "BY")
        token = self._curr
        if self._word("ALL"):
            if self._curr.token_type == TokenType.COMMA:
                self._unexpected(
                    "the end of GROUP BY", "ALL stands alone: it means all columns without an aggregate"
                )
            return [self._placed(Grouping(kind="ALL", expressions=[]), token)]
        return self._list(self._grouping_item)

    def _grouping_item(self) -> exp.Expression:
        """A key, or GROUPING SETS, ROLLUP or CUBE of keys and tuples of keys."""
        token = self._curr
        kind = next((word for word in ("ROLLUP", "CUBE") if self._at(word)), "")
        if kind and self._next.token_type == TokenType.L_PAREN:
            self._advance()
            return self._grouping(kind, self._grouping_keys, token)
        if self._word("GROUPING", "SETS"):
            return self._grouping("SETS", self._grouping_set, token)
        return self._condition()

    def _grouping(self, kind: str, parse: Callable[[], exp.Expression], token: Token) -> exp.Expression:
        parts = self._in_parentheses(lambda: self._list(parse))
        return self._placed(Grouping(kind=kind, expressions=parts), token)

    def _grouping_set(self) -> exp.Expression:
        is_nested = self._at("ROLLUP") or self._at("CUBE") or self._at("GROUPING", "SETS")
        return self._grouping_item() if is_nested else self._grouping_keys()

    def _grouping_keys(self) -> exp.Expression:
        """A key, or some in parentheses."""
        token, start = self._curr, self._index
        if token.token_type == TokenType.L_PAREN:
            keys = self._in_parentheses(self._keys_in_parentheses)
            if self._curr.token_type in (TokenType.COMMA, TokenType.R_PAREN):
                return self._placed(exp.Tuple(expressions=keys), token)
            self._retreat(start)
        return self._condition()

    def _keys_in_parentheses(self) -> list[exp.Expression]:
        return [] if self._curr.token_type == TokenType.R_PAREN else self._list(self._condition)

    # FROM.

    def _from_items(self) -> list[FromItem]:
        items = [self._from_item("")]
        while True:
            if self._match(TokenType.COMMA):
                items.append(self._from_item(","))
            elif self._at_join():
                items.append(self._join())
            else:
                return items

    def _at_join(self) -> bool:
        words = ("JOIN", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "NATURAL", "SEMI", "ANTI", "LATERAL")
        return self._curr.token_type == TokenType.VAR and self._curr.text.upper() in words

    def _join(self) -> FromItem:
        self._refuse_lateral()
        if self._word("CROSS"):
            self._expect("JOIN")
            return self._from_item("CROSS JOIN")
        natural = self._word("NATURAL")
        kind = self._kind_of_join()
        item = self._from_item(kind)
        if natural:
            item.set("natural", True)
        elif self._word("ON"):
            item.set("on", self._condition())
        elif self._word("USING"):
            item.set("using", self._in_parentheses(lambda: self._list(lambda: self._name("a column"))))
        else:
            all_pairs = "for all pairs, write a comma instead of JOIN"
            self._unexpected("ON or USING", all_pairs if kind == "JOIN" else "for all pairs, write ON TRUE")
        return item

    def _kind_of_join(self) -> str:
        """The words up to JOIN: those of Spark for semi- and anti-joins, too."""
        side = next((word for word in ("INNER", "LEFT", "RIGHT", "FULL") if self._word(word)), "")
        what = next((word for word in ("SEMI", "ANTI") if side in ("", "LEFT") and self._word(word)), "")
        if side in ("RIGHT", "FULL") and (self._at("SEMI") or self._at("ANTI")):
            word = self._curr.text.upper()
            self._fail(f"there is no {side} {word} JOIN", hint=f"{word} JOIN keeps rows of its left side")
        if side not in ("", "INNER") and not what:
            self._word("OUTER")
        self._expect("JOIN")
        return f"{what or ('' if side == 'INNER' else side)} JOIN".strip()

    def _refuse_lateral(self) -> None:
        """LATERAL says before unnest what is so anyway, and is nothing elsewhere."""
        if self._at("LATERAL", "UNNEST"):
            self._advance()
        elif self._at("LATERAL", "VIEW"):
            self._fail(
                "LATERAL VIEW is not supported", hint=f"write {unnest_of_view(self._tokens, self._index)}"
            )
        elif self._at("LATERAL"):
            self._fail(
                "LATERAL is not supported: a query in FROM cannot read the items beside it",
                hint="join it with ON, or write a scalar subquery",
            )

    def _from_item(self, kind: str) -> FromItem:
        self._refuse_lateral()
        token = self._curr
        name, columns = None, list[exp.Identifier]()
        if self._match(TokenType.L_PAREN, advance=False):
            this: exp.Expression = Nested(this=self._in_parentheses(self._query))
        elif self._at_output():
            this = self._output_around_query()
        elif self._at("UNNEST") and self._next.token_type == TokenType.L_PAREN:
            this = self._call()
            if self._at("WITH", "ORDINALITY"):
                self._fail("WITH ORDINALITY is not supported", hint="unnest(…) gives the items alone")
        else:
            self._refuse_foreign_window(in_from=True)
            name = self._relation_name("a stream, a table or a query in parentheses")
            if self._curr.token_type == TokenType.DOT:
                self._fail("names of streams and tables have one part", token)
            this, columns = self._common_query(name.name, token) or (name, [])
        window = self._optional_window()
        self._refuse_bare_window()
        written = self._alias()
        alias = written or (name if name is not this else None)
        if written and self._curr.token_type == TokenType.L_PAREN:
            given = self._column_names()
            columns = [*given, *columns[len(given) :]]
        self._refuse_bare_window()
        second = self._curr
        other = self._optional_window()
        if window and other:
            self._fail("a stream has one window, and this is the second", second, "keep one of the two")
        window = window or other
        item = FromItem(this=this, window=window, alias=alias, columns=columns or None, kind=kind)
        return self._placed(item, token)

    def _optional_window(self) -> exp.Expression | None:
        return self._bracketed_window() if self._curr.token_type == TokenType.L_BRACKET else None

    def _refuse_bare_window(self) -> None:
        """RANGE, ROWS, SESSION and PARTITION can be aliases, but not before what follows them in a window."""
        word, following = self._curr.text.upper(), self._next
        is_range = word in ("RANGE", "SESSION") and following.text.upper() in ("UNBOUNDED", "INTERVAL")
        is_length = word in ("RANGE", "ROWS", "SESSION") and following.token_type == TokenType.NUMBER
        if is_range or is_length or (word == "PARTITION" and following.text.upper() == "BY"):
            self._fail("a window stands in brackets", hint=f"write [{word} …]")

    def _alias(self) -> exp.Identifier | None:
        if self._word("AS") or self._at_name():
            return self._relation_name("an alias")
        return None
