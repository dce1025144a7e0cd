"""Cutting text into statements, so that each can be run, and blamed, on its own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

# What may hide a semicolon comes first: strings, quoted names and comments, closed or cut short by the end.
_TOKEN = re.compile(
    r"""(?P<hidden>'(?:[^']|'')*(?:'|$) | "(?:[^"]|"")*(?:"|$) | `(?:[^`]|``)*(?:`|$))
      | (?P<comment>--[^\n]* | /\*.*?(?:\*/|$))
      | (?P<end>;)
      | (?P<space>\s+)""",
    re.DOTALL | re.VERBOSE,
)
_WORD = re.compile(r"[A-Za-z]+")
_CHANGES = ("INSERT", "UPDATE", "DELETE", "TRUNCATE", "COPY")


@dataclass(frozen=True)
class Split:
    """The complete statements of a text, and what is left after the last semicolon."""

    statements: tuple[str, ...]
    rest: str


def split(text: str) -> Split:
    r"""Cuts at the semicolons that end statements.

    Every piece keeps its place: what stands before it becomes blank, so that the line and column of an
    error are those of the whole text.

    >>> split("INVOKE a; SELECT ';' -- ;\n; SEL")
    Split(statements=('INVOKE a', "          SELECT ';' -- ;\n"), rest='                         \n  SEL')
    """
    statements = []
    start = position = 0
    has_words = False
    while position < len(text):
        token = _TOKEN.match(text, position)
        kind = token.lastgroup if token else None
        if kind == "end":
            if has_words:
                statements.append(_blank(text[:start]) + text[start:position])
            start, has_words = position + 1, False
        elif kind not in ("comment", "space"):
            has_words = True
        position = token.end() if token else position + 1
    rest = _blank(text[:start]) + text[start:] if has_words else ""
    return Split(tuple(statements), rest)


def in_transactions(statements: Iterable[str]) -> list[str]:
    r"""The statements of a split text; those that change tables and stand together are one text: a transaction.

    >>> in_transactions(split("SHOW TABLES; DELETE FROM a; INSERT INTO a VALUES (1);").statements)
    ['SHOW TABLES', '             DELETE FROM a; INSERT INTO a VALUES (1)']
    """
    texts: list[str] = []
    was_change = False
    for statement in statements:
        is_change = _first_word(statement) in _CHANGES
        if is_change and was_change:
            # Each piece has blanks where the text before it stands, and one for the semicolon.
            texts[-1] += ";" + statement[len(texts[-1]) + 1 :]
        else:
            texts.append(statement)
        was_change = is_change
    return texts


def _first_word(statement: str) -> str:
    position = 0
    while (token := _TOKEN.match(statement, position)) and token.lastgroup in ("comment", "space"):
        position = token.end()
    word = _WORD.match(statement, position)
    return word[0].upper() if word else ""


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
