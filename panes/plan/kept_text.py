"""What a drop box keeps, in words."""

from __future__ import annotations


def kept_text(stream: str, share: float) -> str:
    """A share of a stream, as EXPLAIN, SHOW QUERIES and `panes status` show it.

    >>> kept_text("packets", 0.3141), kept_text("packets", 1.0)
    ('31.4 % of packets', 'all of packets')
    """
    return f"{f'{100 * share:.3g} %' if share < 1 else 'all'} of {stream}"
