"""Names of types: `INT`, `DECIMAL(10, 2)`, `STRING[]`, `STRUCT<a INT, b ARRAY<STRING>>`."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from sqlglot import Token, TokenType

from panes.language.names import same
from panes.language.parser.parse_words import DEEPEST, Item, WordParser
from panes.language.parser.syntax import TypeName
from panes.plan.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    COLUMN_TYPES,
    DECIMAL,
    DOUBLE,
    FLOAT,
    INT,
    MOST_DIGITS,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    Type,
    decimal,
    list_of,
    struct_of,
)

TYPES = {str(type_): type_ for type_ in COLUMN_TYPES} | {
    "INTEGER": INT, "LONG": BIGINT, "SHORT": SMALLINT, "BYTE": TINYINT, "REAL": FLOAT, "NUMERIC": DECIMAL,
    "VARCHAR": STRING, "TEXT": STRING, "BOOL": BOOLEAN, "BLOB": BINARY, "BYTEA": BINARY, "VARBINARY": BINARY,
    "TIMESTAMPTZ": TIMESTAMP,
}  # fmt: skip
_NEAREST = {
    "CHAR": STRING, "DATETIME": TIMESTAMP, "FLOAT4": FLOAT, "FLOAT8": DOUBLE,
    "INT2": SMALLINT, "INT4": INT, "INT8": BIGINT, "HUGEINT": DECIMAL,
}  # fmt: skip
_PLAIN_DECIMAL = decimal(18, 3)


def nearest_type(word: str) -> str:
    """A hint for a type that there is not.

    >>> nearest_type("FLOAT8")
    'use DOUBLE'
    """
    nearest = _NEAREST.get(word)
    return f"use {nearest}" if nearest else f"types are {', '.join(map(str, COLUMN_TYPES))}"


class TypeParser(WordParser):
    def _type_name(self) -> TypeName:
        token = self._curr
        return self._placed(TypeName(this=self._type()), token)

    def _type(self) -> Type:
        type_ = self._nested(self._simple_type)
        depth = 0
        while self._curr.token_type == TokenType.L_BRACKET and self._next.token_type == TokenType.R_BRACKET:
            depth += 1
            if depth > DEEPEST:
                self._fail(f"this is nested more than {DEEPEST} levels deep", self._curr)
            self._advance(2)
            type_ = list_of(type_)
        return type_

    def _simple_type(self) -> Type:
        if self._at("ARRAY") and self._next.token_type == TokenType.LT:
            self._advance()
            return list_of(self._in_angles(self._type))
        if self._at("STRUCT"):
            return self._struct()
        token = self._curr
        if not self._at_name():
            self._unexpected("a type", f"types are {', '.join(map(str, COLUMN_TYPES))}")
        self._advance()
        word = token.text.upper()
        if word != "TIMESTAMP" or not self._word("WITH", "TIME", "ZONE"):  # an instant, as TIMESTAMP is
            self._refuse_time_zone(token)
        if word not in TYPES:
            self._fail(f"there is no type {word}", token, nearest_type(word))
        type_ = TYPES[word]
        if type_ == DECIMAL:
            return self._decimal(token)
        if self._curr.token_type == TokenType.L_PAREN:
            self._fail(f"{word} takes no length", hint=f"write {type_}")
        return type_

    def _struct(self) -> Type:
        self._advance()
        if self._curr.token_type not in (TokenType.LT, TokenType.L_PAREN):
            self._unexpected("<", "write STRUCT<a INT, b STRING>")
        inside = self._in_angles if self._curr.token_type == TokenType.LT else self._in_parentheses
        fields: list[tuple[Token, str, Type]] = inside(lambda: self._list(self._field))
        for place, (token, name, _) in enumerate(fields):
            if any(same(name, earlier) for _, earlier, _ in fields[:place]):
                self._fail(f"two fields are named {name!r}", token)
        return struct_of((name, type_) for _, name, type_ in fields)

    def _field(self) -> tuple[Token, str, Type]:
        token = self._curr
        if token.token_type not in (TokenType.VAR, TokenType.IDENTIFIER):
            self._unexpected("the name of a field")
        self._advance()
        self._match(TokenType.COLON)  # as Spark writes it
        return token, token.text, self._type()

    def _in_angles(self, parse: Callable[[], Item]) -> Item:
        self._advance()
        inside = parse()
        if not self._match(TokenType.GT):
            self._unexpected(">")
        return inside

    def _decimal(self, token: Token) -> Type:
        """What follows the name: all digits and those after the point, the latter 0 without a number."""
        if self._curr.token_type != TokenType.L_PAREN:
            return _PLAIN_DECIMAL
        numbers = self._in_parentheses(lambda: self._list(self._digits))
        precision, scale = (*numbers, 0)[:2]
        if len(numbers) > 2 or not 1 <= precision <= MOST_DIGITS or scale > precision:
            self._refuse_decimal(token)
        return decimal(precision, scale)

    def _digits(self) -> int:
        token = self._curr
        if token.token_type != TokenType.NUMBER or not token.text.isdecimal() or len(token.text) > 2:
            self._refuse_decimal(token)
        self._advance()
        return int(token.text)

    def _refuse_decimal(self, token: Token) -> NoReturn:
        self._fail(
            f"a DECIMAL has 1 to {MOST_DIGITS} digits, of which some stand after the point", token,
            "write DECIMAL(10, 2) for ten digits, two of them after the point",
        )  # fmt: skip

    def _refuse_time_zone(self, token: Token) -> None:
        """After the name of a type."""
        for word in ("WITH", "WITHOUT"):
            if self._at(word, "TIME", "ZONE"):
                self._fail(
                    f"there is no type {token.text.upper()} {word} TIME ZONE", token,
                    "use TIMESTAMP: an instant in UTC; text with an offset is read as the instant it means",
                )  # fmt: skip
