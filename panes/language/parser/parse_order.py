"""`ORDER BY a, b DESC NULLS FIRST`: of a query, of OVER, and inside an aggregate; LIMIT, OFFSET and FETCH."""

from __future__ import annotations

from sqlglot import TokenType, exp

from panes.language.binder.constants import whole
from panes.language.parser.parse_spoken_calls import SpokenCallParser
from panes.language.parser.syntax import Sorted

MOST_PLACES = 1_000_000_000
"""The greatest number after LIMIT and OFFSET."""


class OrderParser(SpokenCallParser):
    def _arguments(self) -> list[exp.Expression]:
        """What stands in the parentheses of a call; ORDER BY is the last of it."""
        arguments = super()._arguments()
        token = self._curr
        if self._at("ORDER", "BY"):
            arguments.append(self._placed(exp.Order(expressions=self._order_by()), token))
        return arguments

    def _order_by(self) -> list[exp.Expression]:
        """What stands after ORDER BY, which is next; each is an `exp.Ordered` with `desc` and `nulls_first`."""
        self._expect("ORDER", "BY")
        return self._list(self._sort_key)

    def _sort_key(self) -> exp.Expression:
        token = self._curr
        is_all = self._word("ALL")
        this = self._placed(exp.Var(this="ALL"), token) if is_all else self._condition()
        descending = self._word("DESC")
        if not descending:
            self._word("ASC")
        nulls_first = self._word("NULLS", "FIRST")
        if not nulls_first:
            self._word("NULLS", "LAST")
        return self._placed(exp.Ordered(this=this, desc=descending, nulls_first=nulls_first), token)

    def _sorted(self, query: exp.Expression) -> exp.Expression:
        """The query with the order that it is read in and the places of it that are wanted, if these follow."""
        token = self._curr
        order = self._order_by() if self._at("ORDER") else None
        found: dict[str, exp.Expression | None] = {}
        while True:
            clause = self._curr
            if self._at("LIMIT"):
                word, number = "limit", self._limit()
            elif self._at("FETCH"):
                word, number = "limit", self._fetch()
            elif self._word("OFFSET"):
                word, number = "offset", self._number_of_rows()
                _ = self._word("ROWS") or self._word("ROW")
            else:
                break
            if word in found:
                self._fail(f"there are two {word.upper()} clauses", clause)
            found[word] = number
        if self._at("ORDER"):
            self._fail("ORDER BY stands before LIMIT and OFFSET, and once")
        if order is None and not any(found.values()):
            return query
        for word in ("UNION", "INTERSECT", "EXCEPT"):
            if self._at(word):
                self._fail(
                    f"what is sorted or limited before {word} stands in parentheses",
                    hint=f"(SELECT … ORDER BY … LIMIT …) {word} SELECT …",
                )
        return self._placed(Sorted(this=query, order=order, **found), token)

    def _limit(self) -> exp.Expression | None:
        """`LIMIT n`; None for LIMIT ALL."""
        self._expect("LIMIT")
        if self._word("ALL"):
            return None
        number = self._number_of_rows()
        if self._curr.token_type == TokenType.COMMA:
            self._fail(
                "LIMIT takes one number", hint="what is left out stands after OFFSET: LIMIT 10 OFFSET 20"
            )
        if self._curr.token_type == TokenType.MOD or self._at("PERCENT"):
            self._fail("LIMIT takes a number of rows, not a share of them")
        return number

    def _fetch(self) -> exp.Expression:
        """`FETCH FIRST n ROWS ONLY`."""
        self._expect("FETCH")
        if not self._word("FIRST") and not self._word("NEXT"):
            self._unexpected("FIRST or NEXT")
        is_number = self._curr.token_type == TokenType.NUMBER
        number = self._number_of_rows() if is_number else exp.Literal.number(1)
        if not self._word("ROWS") and not self._word("ROW"):
            self._unexpected("ROWS")
        if self._at("WITH", "TIES"):
            self._fail(
                "WITH TIES is not supported: rows that agree on the keys are told apart by all other columns",
                hint="ONLY, or rank() OVER (ORDER BY …) in a derived table",
            )
        self._expect("ONLY")
        return number

    def _number_of_rows(self) -> exp.Expression:
        token = self._curr
        if token.token_type != TokenType.NUMBER:
            self._unexpected("a number of rows")
        number = whole(token.text)
        if number is None or number > MOST_PLACES:
            self._fail(f"a number of rows is a whole number up to {MOST_PLACES}")
        self._advance()
        return self._placed(exp.Literal.number(number), token)
