"""What every part of the parser needs: errors that point, words, names and lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from sqlglot import Token, TokenType, exp
from sqlglot.parser import Parser

from panes.language.names import RESERVED, why_no_column, why_no_name
from panes.language.positions import misspelled, refuse

DEEPEST = 40
"""How deep parentheses, calls and subqueries may nest: more than people write, less than the stack."""

Node = TypeVar("Node", bound=exp.Expression)
Item = TypeVar("Item")


class WordParser(Parser):
    _depth = 0
    _reached = 0
    """The greatest depth so far."""

    def _fail(self, problem: str, token: Token | None = None, hint: str | None = None) -> NoReturn:
        token = token or self._curr
        offset = token.start if token else self._prev.end + 1
        refuse(problem, self.sql, offset, hint)

    def _unexpected(self, expected: str, hint: str | None = None) -> NoReturn:
        found = f"{self._curr.text!r}" if self._curr else "the end of the statement"
        self._fail(f"expected {expected}, but found {found}", hint=hint)

    def _unexpected_instead_of(self, expected: str, *words: str) -> NoReturn:
        """Fails, with a hint when a name here, or the one before that was taken for an alias, is nearly a word."""
        names = [token for token in (self._prev, self._curr) if token and token.token_type == TokenType.VAR]
        hints = (misspelled(token.text, list(words)) for token in names)
        self._unexpected(expected, next((hint for hint in hints if hint), None))

    def _at(self, *words: str) -> bool:
        """Whether these words come next."""
        return self._match_text_seq(*words, advance=False)

    def _word(self, *words: str) -> bool:
        """Takes these words if they come next."""
        return self._match_text_seq(*words)

    def _expect(self, *words: str) -> Token:
        token = self._curr
        if not self._match_text_seq(*words):
            self._unexpected(" ".join(words))
        return token

    def _at_name(self) -> bool:
        if self._curr.token_type == TokenType.IDENTIFIER:
            return True
        return self._curr.token_type == TokenType.VAR and self._curr.text.upper() not in RESERVED

    def _name(self, what: str) -> exp.Identifier:
        """The name of a column, a function, an option."""
        return self._identifier(what, why_no_column)

    def _relation_name(self, what: str) -> exp.Identifier:
        """The name of a stream, a table or a query, or an alias of one: it may have dots."""
        return self._identifier(what, why_no_name)

    def _identifier(self, what: str, why_not: Callable[[str], str | None]) -> exp.Identifier:
        if not self._at_name():
            reserved = self._curr and self._curr.text.upper() in RESERVED
            hint = f'"{self._curr.text}" in double quotes is a name' if reserved else None
            self._unexpected(what, hint)
        token = self._curr
        problem = why_not(token.text)
        if problem is not None:
            self._fail(f"this cannot be a name: {problem}")
        self._advance()
        return self._placed(exp.Identifier(this=token.text, quoted=False), token)

    def _list(self, parse: Callable[[], Item]) -> list[Item]:
        items = [parse()]
        while self._match(TokenType.COMMA):
            items.append(parse())
        return items

    def _in_parentheses(self, parse: Callable[[], Item]) -> Item:
        if not self._match(TokenType.L_PAREN):
            self._unexpected("(")
        inside = self._nested(parse)
        if not self._match(TokenType.R_PAREN):
            self._unexpected(")")
        return inside

    def _nested(self, parse: Callable[[], Item]) -> Item:
        self._depth += 1
        self._reached = max(self._reached, self._depth)
        if self._depth > DEEPEST:
            self._fail(f"this is nested more than {DEEPEST} levels deep")
        inside = parse()
        self._depth -= 1
        return inside

    def _placed(self, node: Node, token: Token) -> Node:
        return node.update_positions(token)
