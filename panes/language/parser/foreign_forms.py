"""Clauses of Spark SQL and Flink SQL that are written in another way here, and what to write instead."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import Token, TokenType

from panes.language.names import quoted
from panes.language.parser.foreign_windows import in_parentheses, length_at
from panes.plan.durations import duration_text


def unnest_of_view(tokens: Sequence[Token], at: int) -> str:
    """What `LATERAL VIEW explode(items) t AS item`, which begins at this token, is here."""
    at += 2
    if _word(tokens, at) == "OUTER":
        at += 1
    inside = in_parentheses(tokens, at + 1) if _word(tokens, at) in ("EXPLODE", "EXPLODE_OUTER") else []
    if not inside:
        return "CROSS JOIN UNNEST(items) AS t(item)"
    at += len(inside) + 3
    names = [token.text for token in tokens[at : at + 3] if token.token_type == TokenType.VAR]
    names = [name for name in names if name.upper() not in ("AS", "WHERE", "GROUP", "LATERAL", "ORDER")]
    alias = names[0] if len(names) > 1 else "t"
    column = names[-1] if names else "item"
    items = "".join(token.text for token in inside)
    return f"CROSS JOIN UNNEST({items}) AS {quoted(alias)}({quoted(column)})"


def slack_of_watermark(tokens: Sequence[Token], at: int) -> str:
    """The clauses that say what `WATERMARK FOR c AS c - INTERVAL …`, which begins at this token, says."""
    column = tokens[at + 2].text if at + 2 < len(tokens) else "column"
    lengths = (length_at(tokens, place) for place in range(at, len(tokens)))
    slack = next((length for length in lengths if length is not None), None)
    return f"TIMESTAMP BY {quoted(column)}" + (
        "" if slack is None else f" SLACK INTERVAL {duration_text(slack)}"
    )


def _word(tokens: Sequence[Token], at: int) -> str:
    return tokens[at].text.upper() if at < len(tokens) else ""
