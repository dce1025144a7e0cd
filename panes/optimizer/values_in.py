"""How many different values some rows have."""

from __future__ import annotations

from math import exp, log1p


def values_in(domain: float, rows: float) -> float:
    """The different values of rows each of which has any of a domain (Cardenas' formula).

    >>> round(values_in(1000, 100)), round(values_in(10, 1000))
    (95, 10)
    """
    if domain <= 1 or rows <= 1:
        return min(max(rows, 0.0), 1.0)
    return domain * (1 - exp(rows * log1p(-1 / domain)))
