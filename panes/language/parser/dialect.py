"""The dialect of Panes for sqlglot: CQL, the SQL of streams."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import TokenType, tokens
from sqlglot.dialects.dialect import Dialect

from panes.language.parser.generate import PanesGenerator
from panes.language.parser.parse_statements import StatementParser


class Panes(Dialect):
    """Few words are keywords: the others have a meaning in their places, and are names elsewhere."""

    class Tokenizer(tokens.Tokenizer):
        IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ['"', "`"]
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            "AND": TokenType.AND,
            "OR": TokenType.OR,
            "NOT": TokenType.NOT,
            "IN": TokenType.IN,
            "IS": TokenType.IS,
            "LIKE": TokenType.LIKE,
            "ILIKE": TokenType.ILIKE,
            "BETWEEN": TokenType.BETWEEN,
            "NULL": TokenType.NULL,
            "TRUE": TokenType.TRUE,
            "FALSE": TokenType.FALSE,
            "||": TokenType.DPIPE,
            "::": TokenType.DCOLON,
            "<=>": TokenType.NULLSAFE_EQ,
            "->": TokenType.ARROW,
            "->>": TokenType.DARROW,
            "<=": TokenType.LTE,
            ">=": TokenType.GTE,
            "<>": TokenType.NEQ,
            "!=": TokenType.NEQ,
        }
        SINGLE_TOKENS: ClassVar[dict[str, TokenType]] = {
            **tokens.Tokenizer.SINGLE_TOKENS,
            "!": TokenType.EXCLAMATION,
        }
        COMMANDS: ClassVar[set[TokenType]] = set()

    Parser = StatementParser
    Generator = PanesGenerator
