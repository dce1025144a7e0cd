"""Statements that the catalog keeps as texts, parsed."""

from __future__ import annotations

import functools

from panes.language import parse
from panes.language.statements import Statement


@functools.lru_cache(maxsize=1024)
def parsed_once(sql: str) -> Statement:
    """The one statement of a text. Definitions are looked up with every query, and parsing one takes longer than
    answering many."""
    (statement,) = parse(sql)
    return statement
