"""Names for columns that a plan adds."""

from __future__ import annotations

from collections.abc import Collection


def unused(name: str, taken: Collection[str]) -> str:
    """The name, with marks behind it if another column has it. DuckDB compares names without their case.

    >>> unused("c.a + 1", ["c.A + 1"])
    "c.a + 1'"
    """
    known = {other.casefold() for other in taken}
    while name.casefold() in known:
        name += "'"
    return name
