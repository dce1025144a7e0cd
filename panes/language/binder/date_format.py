"""`date_format(x, 'yyyy-MM-dd')`: patterns of Spark and Java, written in functions of the language."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlglot import exp

from panes.plan.expressions import Cast, Expression, Literal
from panes.plan.types import BIGINT, STRING

if TYPE_CHECKING:
    from panes.language.binder.bind_expressions import ExpressionBinder

_FORMATS = {
    "yyyy": "%Y", "yy": "%y", "MM": "%m", "MMM": "%b", "MMMM": "%B", "dd": "%d", "HH": "%H", "hh": "%I",
    "mm": "%M", "ss": "%S", "a": "%p", "E": "%a", "EE": "%a", "EEE": "%a", "EEEE": "%A", "DDD": "%j",
}  # fmt: skip
"""Patterns that strftime knows under another name."""

_FIELDS = {
    "y": "year", "M": "month", "d": "day", "H": "hour", "m": "minute", "s": "second", "D": "dayofyear",
    "Q": "quarter", "q": "quarter",
}  # fmt: skip
"""Patterns that are a number without zeros in front."""

_MOST_DIGITS = 6
_PARTS = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+|'")


def date_format(
    binder: ExpressionBinder, instant: Expression, pattern: str, node: exp.Expression
) -> Expression:
    """An instant as text; the pattern is refused when it has a letter that is not known."""

    def call(name: str, *args: Expression) -> Expression:
        return binder.call(name, args, node)

    pieces: list[Expression] = []
    form = ""
    for match in _PARTS.finditer(pattern):
        part, quoted, letter = match[0], match[1], match[2]
        if part in _FORMATS:
            form += _FORMATS[part]
        elif letter is None and part != "'":
            text = part if quoted is None else (quoted.replace("''", "'") or "'")
            form += text.replace("%", "%%")
        else:
            piece = _piece(call, part, instant)
            if piece is None:
                binder.refuse(
                    f"date_format does not know {part} in a pattern", node,
                    "it knows yyyy yy y MMMM MMM MM M dd d DDD D HH H hh h mm m ss s S a EEEE E Q and 'text'",
                )  # fmt: skip
            if form:
                pieces.append(call("strftime", instant, Literal(STRING, form)))
            pieces.append(piece)
            form = ""
    if form or not pieces:
        pieces.append(call("strftime", instant, Literal(STRING, form)))
    return pieces[0] if len(pieces) == 1 else call("concat", *pieces)


def _piece(call: Callable[..., Expression], part: str, instant: Expression) -> Expression | None:
    """What strftime cannot write: numbers without zeros in front, and fractions of a second."""
    if part in _FIELDS:
        return Cast(STRING, call(_FIELDS[part], instant))
    if part == "h":
        hour = call("modulo", call("add", call("hour", instant), Literal(BIGINT, 11)), Literal(BIGINT, 12))
        return Cast(STRING, call("add", hour, Literal(BIGINT, 1)))
    if part.startswith("S") and len(part) <= _MOST_DIGITS:
        second = call("date_trunc", Literal(STRING, "second"), instant)
        since = call("subtract", call("epoch_us", instant), call("epoch_us", second))
        digits = call("div", since, Literal(BIGINT, 10 ** (_MOST_DIGITS - len(part))))
        return call("lpad", Cast(STRING, digits), Literal(BIGINT, len(part)), Literal(STRING, "0"))
    return None
