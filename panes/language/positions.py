"""Where in the text something stands, and the errors that say so."""

from __future__ import annotations

from difflib import get_close_matches
from typing import NoReturn

from sqlglot import exp

from panes.errors import SqlError
from panes.plan.types import Type


def refuse(problem: str, text: str, offset: int, hint: str | None = None) -> NoReturn:
    """Raises a SqlError that points at the character at `offset`."""
    offset = min(max(offset, 0), len(text))
    before = text[:offset].splitlines(keepends=True) or [""]
    if before[-1].endswith(("\n", "\r")):
        before.append("")
    raise SqlError(problem, sql=text, line=len(before), column=len(before[-1]) + 1, hint=hint)


def offset_of(node: exp.Expression) -> int:
    """The offset of the first character of a node: its own, or the smallest below it."""
    if "start" in node.meta:
        return int(node.meta["start"])
    offsets = [n.meta["start"] for n in node.walk() if "start" in n.meta]
    return min(offsets, default=0)


def did_you_mean(name: str, candidates: list[str]) -> str | None:
    """A hint that names the most similar candidate, or lists a few when none is similar.

    >>> did_you_mean("scr", ["src", "dst"])
    "did you mean 'src'?"
    """
    by_lower = {candidate.lower(): candidate for candidate in candidates}
    close = get_close_matches(name.lower(), by_lower, n=1)
    if close:
        return f"did you mean {by_lower[close[0]]!r}?"
    if not candidates:
        return None
    listed = ", ".join(candidates[:8]) + (", …" if len(candidates) > 8 else "")
    return f"there are {listed}" if len(candidates) > 1 else f"there is only {listed}"


def misspelled(written: str, words: list[str]) -> str | None:
    """A hint that names the word that a name is likely to be, or None.

    >>> misspelled("form", ["FROM", "WHERE"])
    "did you mean FROM instead of 'form'?"
    """
    close = get_close_matches(written.upper(), words, n=1, cutoff=0.7)
    return (
        f"did you mean {close[0]} instead of {written!r}?" if close and written.upper() != close[0] else None
    )


def with_article(type_: Type) -> str:
    """A type as a sentence names it.

    >>> from panes.plan.types import BIGINT, INT
    >>> with_article(INT), with_article(BIGINT)
    ('an INT', 'a BIGINT')
    """
    return f"{'an' if str(type_)[0] == 'I' else 'a'} {type_}"
