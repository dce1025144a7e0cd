"""`WITH name AS (query), … query`: a query stands where its name is read, as if it had been written there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import Token, TokenType, exp

from panes.language.names import same
from panes.language.parser.parse_windows import WindowParser
from panes.language.parser.parse_words import DEEPEST
from panes.language.parser.syntax import Nested

MOST_INLINED = 100_000
"""Characters that the queries of WITH may come to where they are read: each one may read the one before twice."""


@dataclass(frozen=True)
class _CommonTable:
    """A query of WITH: its tree, and how deep and how long it is with those that it reads."""

    name: str
    query: exp.Expression
    columns: list[exp.Identifier]
    """The names that its columns are given, from the first one on."""
    depth: int
    length: int


class WithParser(WindowParser):
    _common_tables: tuple[_CommonTable, ...] = ()
    """Those that can be read here; of two with the same name the last one is meant."""
    _inlined = 0
    """How many characters of such queries this statement has read."""

    def _begin_statement(self) -> None:
        self._common_tables = ()
        self._inlined = self._depth = self._reached = 0

    def _with(self, parse: Callable[[], exp.Expression]) -> exp.Expression:
        """The query after WITH, with those that it names inside."""
        outer = self._common_tables
        self._expect("WITH")
        if self._at("RECURSIVE") and self._next.text.upper() != "AS":
            self._fail(
                "WITH RECURSIVE is not supported: a query cannot read its own answer",
                hint="write one join for each step, with UNION ALL",
            )
        self._list(lambda: self._common_table(len(outer)))
        query = parse()
        self._common_tables = outer
        return query

    def _common_table(self, first: int) -> None:
        token = self._curr
        name = self._relation_name("a name for the query").name
        if any(same(name, other.name) for other in self._common_tables[first:]):
            self._fail(f"two queries of this WITH are named {name!r}", token)
        columns = self._column_names() if self._curr.token_type == TokenType.L_PAREN else []
        self._expect("AS")
        reached, before, start = self._reached, self._inlined, self._curr.start
        self._reached = self._depth
        query = self._in_parentheses(self._query)
        depth = self._reached - self._depth
        self._reached = reached
        length = self._prev.end - start + self._inlined - before
        self._common_tables += (_CommonTable(name, query, columns, depth, length),)

    def _column_names(self) -> list[exp.Identifier]:
        return self._in_parentheses(lambda: self._list(lambda: self._name("a name for a column")))

    def _common_query(self, name: str, token: Token) -> tuple[Nested, list[exp.Identifier]] | None:
        """The query of WITH that a name in FROM means, with the names of its columns, or None."""
        found = next((t for t in reversed(self._common_tables) if same(t.name, name)), None)
        if found is None:
            return None
        self._reached = max(self._reached, self._depth + found.depth)
        if self._reached > DEEPEST:
            self._fail(
                f"with the queries of WITH inside, this is nested more than {DEEPEST} levels deep", token
            )
        self._inlined += found.length
        if self._inlined > MOST_INLINED:
            self._fail(
                f"with the queries of WITH inside, this is longer than {MOST_INLINED} characters", token,
                "CREATE STREAM name AS SELECT … for what is read many times",
            )  # fmt: skip
        return Nested(this=found.query.copy()), [column.copy() for column in found.columns]
