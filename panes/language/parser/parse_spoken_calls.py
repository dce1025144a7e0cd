"""Calls with words between their arguments: `trim(LEADING 'x' FROM a)`, `substring(a FROM 2 FOR 3)`,
`position('x' IN a)`. They become calls with commas."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import TokenType, exp

from panes.language.parser.parse_expressions import ExpressionParser

_SIDES = {"LEADING": "ltrim", "TRAILING": "rtrim", "BOTH": "trim"}


class SpokenCallParser(ExpressionParser):
    def _call(self) -> exp.Expression:
        token = self._curr
        inside = self._spoken().get(token.text.upper())
        if inside is None or token.token_type != TokenType.VAR:
            return super()._call()
        self._advance()
        name, arguments = self._in_parentheses(inside)
        return self._placed(exp.Anonymous(this=name, expressions=arguments), token)

    def _spoken(self) -> dict[str, Callable[[], tuple[str, list[exp.Expression]]]]:
        return {"TRIM": self._trim, "SUBSTRING": self._substring, "POSITION": self._position}

    def _trim(self) -> tuple[str, list[exp.Expression]]:
        side = next((side for side in _SIDES if self._word(side)), None)
        if side is not None and self._word("FROM"):
            return _SIDES[side], [self._condition()]
        first = self._condition()
        if self._word("FROM"):
            return _SIDES[side or "BOTH"], [self._condition(), first]
        if side is not None:
            self._unexpected("FROM")
        return "trim", [first, *self._rest()]

    def _substring(self) -> tuple[str, list[exp.Expression]]:
        text = self._condition()
        if self._word("FROM"):
            place = self._condition()
            return "substring", [text, place, *([self._condition()] if self._word("FOR") else [])]
        return "substring", [text, *self._rest()]

    def _position(self) -> tuple[str, list[exp.Expression]]:
        part = self._parse_bitwise()
        assert isinstance(part, exp.Expression)
        self._expect("IN")
        return "strpos", [self._condition(), part]

    def _rest(self) -> list[exp.Expression]:
        """The arguments after the first."""
        return self._list(self._condition) if self._match(TokenType.COMMA) else []
