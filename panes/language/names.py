"""Names: what can be one, which words are taken, when a name needs quotes, and how names are compared.

Names keep the case they were written in and are compared without it, quoted or not.
"""

from __future__ import annotations

import re
import unicodedata

_RESERVED = """
    ALL AND ANTI AS BEGIN BETWEEN BY CASE CAST CREATE CROSS DELETE DISTINCT DROP DSTREAM ELSE END EXCEPT
    EXISTS EXPLAIN FALSE FETCH FROM FULL GROUP HAVING ILIKE IN INNER INSERT INTERSECT INTERVAL INTO INVOKE
    IS ISTREAM JOIN LATERAL LEFT LIKE LIMIT NATURAL NOT NULL OFFSET ON OR ORDER OUTER OVER QUALIFY RESTORE
    RIGHT RSTREAM SELECT SEMI SET SHOW SYMMETRIC THEN TRUE UNION UPDATE USING VALUES WHEN WHERE WINDOW WITH
    WSTREAM
"""
RESERVED = frozenset(_RESERVED.split())
"""Words that are never names unless they stand in double quotes."""

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def quoted(name: str) -> str:
    """The name as it must be written.

    >>> quoted("src"), quoted("order"), quoted("two words")
    ('src', '"order"', '"two words"')
    """
    if _PLAIN.match(name) and name.upper() not in RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


LONGEST = 1000
"""Characters in a name."""


def why_no_name(name: str) -> str | None:
    """Why a text cannot be the name of a stream, table or query, or an alias; None when it can.

    >>> why_no_name("team.daily"), why_no_name("")
    (None, 'it is empty')
    """
    if not name:
        return "it is empty"
    if len(name) > LONGEST:
        return f"it has {len(name)} characters, and {LONGEST} are the most"
    for character in name:
        kind = unicodedata.category(character)
        if kind == "Cs" or (kind == "Cc" and character not in "\n\t"):
            return "it has a control character" if kind == "Cc" else "it has a character that is no text"
    return None


def why_no_column(name: str) -> str | None:
    """Why a text cannot be the name of a column; None when it can.

    Inside a plan a column is called `alias.column`, and what operators add to rows begins with an underscore:
    nothing that users name can be taken for either.
    """
    if "." in name:
        return "column names have no dots"
    return why_no_name(name)


def same(left: str, right: str) -> bool:
    """Whether two names mean the same thing."""
    return left.casefold() == right.casefold()
