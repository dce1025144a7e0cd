"""Text to statements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NoReturn

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from panes.errors import SqlError
from panes.language.guarded import guarded
from panes.language.parser.dialect import Panes
from panes.language.parser.parameters import Parameters, with_parameters
from panes.language.positions import refuse
from panes.language.statements import Statement

LONGEST = 1_000_000
"""Characters in one text: more than any program of statements, less than what makes a parser hang."""

_NO_TEXT = re.compile("[\ud800-\udfff]")
_QUOTED = re.compile(
    r"""--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|(?P<open>['"`]|/\*)|.""",
    re.DOTALL,
)


def parse(text: str, parameters: Parameters | None = None) -> list[Statement]:
    """The statements of a text, separated by semicolons, with the values of its parameters.

    Raises SqlError when one of them is not understood.
    """
    if len(text) > LONGEST:
        hint = f"at most {LONGEST} are read; COPY and db.load bring many rows into a table"
        raise SqlError(f"a text of {len(text)} characters is too long", hint=hint)
    found = _NO_TEXT.search(text)
    if found:
        shown = text.encode(errors="replace").decode()
        refuse("this is a character that is no text: half of a surrogate pair", shown, found.start())
    with guarded(text):
        return [tree.this for tree in _trees(text, parameters) if isinstance(tree, exp.Expression)]


def _trees(text: str, parameters: Parameters | None) -> Sequence[object]:
    dialect = Panes()
    try:
        tokens = with_parameters(dialect.tokenize(text), text, parameters)
        return dialect.parser().parse(tokens, text)
    except TokenError:
        _refuse_unclosed(text)
    except ParseError as error:
        # The dialect raises SqlError itself; what sqlglot still finds is placed by sqlglot.
        where = error.errors[0] if error.errors else {}
        raise SqlError(
            str(where.get("description") or error), sql=text, line=where.get("line") or 1
        ) from error


def _refuse_unclosed(text: str) -> NoReturn:
    """The tokenizer fails only where a quote or comment does not end: point at where it begins."""
    for token in _QUOTED.finditer(text):
        if token.group("open"):
            refuse(f"this {token.group('open')} is never closed", text, token.start())
    refuse("a quote or comment is never closed", text, len(text.rstrip()))
