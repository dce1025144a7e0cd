"""Names: which words are taken, when a name needs quotes, and how names are compared.

Names keep the case they were written in and are compared without it, quoted or not.
"""

from __future__ import annotations

import re

_RESERVED = """
    ALL AND ANTI AS BEGIN BETWEEN BY CASE CAST CREATE CROSS DELETE DISTINCT DROP DSTREAM ELSE END EXCEPT
    EXISTS EXPLAIN FALSE FETCH FROM FULL GROUP HAVING IN INNER INSERT INTERSECT INTERVAL INTO INVOKE IS
    ISTREAM JOIN LATERAL LEFT LIKE LIMIT NATURAL NOT NULL OFFSET ON OR ORDER OUTER OVER QUALIFY RESTORE
    RIGHT RSTREAM SELECT SEMI SET SHOW THEN TRUE UNION UPDATE USING VALUES WHEN WHERE WINDOW WITH
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


def same(left: str, right: str) -> bool:
    """Whether two names mean the same thing."""
    return left.casefold() == right.casefold()
