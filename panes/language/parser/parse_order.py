"""`ORDER BY a, b DESC NULLS FIRST`: of a query, of OVER, and inside an aggregate."""

from __future__ import annotations

from sqlglot import exp

from panes.language.parser.parse_spoken_calls import SpokenCallParser


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
        this = self._condition()
        descending = self._word("DESC")
        if not descending:
            self._word("ASC")
        nulls_first = self._word("NULLS", "FIRST")
        if not nulls_first:
            self._word("NULLS", "LAST")
        return self._placed(exp.Ordered(this=this, desc=descending, nulls_first=nulls_first), token)
